"""The scorer's role in a process: it opens what it needs, consumes, and closes it again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from random import Random
from typing import ClassVar

from monitor.app.backlog import backlog
from monitor.app.caches import Caches
from monitor.app.canaries import with_canaries
from monitor.app.formats import topic_formats
from monitor.app.judges import (
    ConfiguredJudge,
    build_judges,
    require_judges,
    require_prices,
    unused_limits,
    with_rechecks,
)
from monitor.app.policies import build_budget
from monitor.app.redaction import build_redactor
from monitor.app.scoring import build_scorer
from monitor.app.shared import Shared
from monitor.app.slots import build_slots, unused_floors, unused_forced
from monitor.app.start import start_rule
from monitor.control.controls import Controls
from monitor.control.follower import FollowedTopic, StateFollower
from monitor.control.state import ControlState
from monitor.errors import DependencyRefused
from monitor.ingest.consumer.loop import ConsumingLoop
from monitor.ingest.consumer.worker import LoopLimits
from monitor.ingest.redaction.redactor import Redactor
from monitor.judge.limits.budget import Budget, BudgetStatus, over_budget
from monitor.judge.limits.provider_gates import worst_states
from monitor.judge.pipeline.complaints import ReplyTally
from monitor.kafka.group import GroupConsumer
from monitor.kafka.metadata import wait_for_topics
from monitor.kafka.producer import Producer
from monitor.records.outcome import RecentOutcomes
from monitor.runtime.health import Health
from monitor.runtime.logs import logger
from monitor.runtime.shutdown import ended, until
from monitor.runtime.supervision import meanwhile
from monitor.scorer.ledger import LATELY_S, Ledger
from monitor.scorer.scorer import Scorer
from monitor.scorer.slots import Slots
from monitor.scorer.spending import Spending
from monitor.telemetry import BudgetTelemetry, ScorerTelemetry

#: On top of the drain: the last commit, leaving the group, closing connections.
STOP_SLACK_S = 30.0
#: For connecting, to look at what is unread.
BACKLOG_LIMIT_S = 30.0
#: A scorer that cannot read what is paused judges after so long.
PAUSES_KNOWN_S = 5.0


def tell_judge(configured: ConfiguredJudge) -> None:
    """Named as its series will be; before a model's first reply nobody knows its version."""
    identity, section = configured.judge.identity, configured.section
    if not section.asks_a_model or section.version_from == "configured":
        logger().info("scorer_starting", judge=identity.label, model=identity.model)
        return
    logger().info(
        "scorer_starting",
        judge=identity.name,
        model=identity.model,
        what="the version, as in judge=NAME@VERSION, is known after the first reply",
    )


def scorer_telemetry(shared: Shared) -> ScorerTelemetry:
    """Labels for as many applications as the exporter names: alerts compare the two."""
    settings = shared.settings
    return ScorerTelemetry(
        shared.registry, most=settings.export.top_k, named=settings.named_applications
    )


class ScoreRole:
    """Consumes, judges, writes score records.

    ``follows_control``: whether nobody else in the process follows the control topic. Raises
    ``ConfigurationError`` at once where a judge needs packages that are not installed.
    """

    #: Who reads for the scorers' group.
    member: ClassVar[type[GroupConsumer]] = GroupConsumer
    #: What it calls itself in ``Health`` once it runs.
    part: ClassVar[str] = "consumer"

    def __init__(self, shared: Shared, *, follows_control: bool) -> None:
        require_judges(shared.settings)
        self._shared, self._follows_control = shared, follows_control
        self._settings, self._clock, self._health = shared.settings, shared.clock, shared.health
        self._telemetry = scorer_telemetry(shared)
        self._judges: Sequence[ConfiguredJudge] = ()
        self._replies = ReplyTally()
        self._consumer: GroupConsumer | None = None
        self._topics_are_there = asyncio.Event()
        self._budget: Budget | None = None
        self._ledger: Ledger | None = None
        self._loop: ConsumingLoop | None = None
        self._share = 1.0

    def outcomes(self) -> RecentOutcomes:
        """How interactions have ended lately."""
        lately = {} if self._ledger is None else self._ledger.lately()
        ended = {(outcome.value, reason): number for (outcome, reason), number in lately.items()}
        return RecentOutcomes(round(LATELY_S / 60), ended)

    def judges(self) -> dict[str, str]:
        """The name of a judge's model, or of the offline judge, and its state.

        Where today's money is spent no model is asked, whatever its provider does.
        """
        offline = {
            each.judge.identity.label: "judging"
            for each in self._judges
            if not each.section.asks_a_model
        }
        found = worst_states(each.provider_gates for each in self._judges)
        is_spent = self._budget is not None and self._budget.is_spent()
        return offline | {m: over_budget(s) if is_spent else s for m, s in found.items()}

    def refused(self) -> str | None:
        """How many replies were refused, and mostly why; None where none was."""
        return self._replies.in_words()

    def budget_status(self) -> BudgetStatus | None:
        """What is left of today's money; None without a budget, or before it is known."""
        return None if self._budget is None else self._budget.status()

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop`` is set; raises ``MonitorError`` when it cannot go on."""
        self._telemetry.show_sampling(self._settings.only_rate)
        # Before anything is waited for: a pattern that cannot be read is said at once.
        redactor = build_redactor(self._settings, self._telemetry)
        caches = Caches(self._telemetry.judge_cache)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(caches.aclose)
            budget = build_budget(self._settings, self._clock)
            judges = self._judges_of(caches, budget)
            for each in judges:
                tell_judge(each)
                stack.push_async_callback(each.provider_gates.aclose)
                stack.push_async_callback(each.judge.aclose)
                for aside in (each.recheck, each.canaries):
                    if aside is not None:
                        stack.push_async_callback(aside.aclose)
            if budget is not None:
                await self._priced(judges, budget)
            await stack.enter_async_context(self._controlled(stop))
            # Told to stop while it waits for a broker, it stops at once: nothing is under way.
            if await until(stop, self._prepare(stack, judges, redactor, budget)):
                assert self._loop is not None, "it was just prepared"
                topics = self._settings.kafka.topics.interactions
                grace_s = self._settings.ingest.drain_s + STOP_SLACK_S
                await until(stop, self._loop.run(topics, stop), grace_s=grace_s)

    def _judges_of(self, caches: Caches, budget: Budget | None) -> list[ConfiguredJudge]:
        """All that the settings name, with rechecks; what is unused is said."""
        judges = build_judges(
            self._settings,
            self._telemetry,
            caches,
            paused=self._judge_paused,
            share=self._last_share,
            replies=self._replies,
        )
        self._judges = judges
        for unused in unused_limits(self._settings, judges):
            logger().warning("limits_unused", model=unused, what="no judge asks this model")
        if why := unused_floors(self._settings):
            logger().warning("floors_unused", what=why)
        if why := unused_forced(self._settings):
            logger().warning("forced_unused", what=why)
        return with_canaries(
            with_rechecks(judges, self._telemetry.recheck, budget),
            self._telemetry.canary,
            budget=budget,
            tell=self._does_not_judge,
            clock=self._clock,
            rng=Random(),
        )

    async def _tell_backlog(self) -> None:
        """What is unread, and what judging it costs; nothing waits for it, or fails with it."""
        await self._topics_are_there.wait()
        try:
            own = Health(time.monotonic)
            found = await backlog(
                self._settings, self._broker_time, self._shared.connection, own, BACKLOG_LIMIT_S
            )
        except DependencyRefused as error:
            logger().info("backlog_unknown", error=str(error))
            return
        numbers = {"unread": found.unread, "new_group": found.is_new, "usd": found.usd}
        logger().info("backlog", what=found.in_words(), **numbers)
        if cost := found.unbounded():
            what = f"{cost}; set limits.usd_per_day"
            logger().warning("no_budget_of_the_day", what=what, usd_per_day=found.usd_per_day)

    def _broker_time(self) -> float:
        """Epoch seconds by the clock of the brokers that interactions come from."""
        return self._clock() + (self._shared.connection.clock.offset_s or 0.0)

    def _last_share(self) -> float:
        """The part of the group's partitions that is ours, as last seen."""
        found = None if self._consumer is None else self._consumer.share()
        self._share = self._share if found is None else found
        return self._share

    @asynccontextmanager
    async def _controlled(self, stop: asyncio.Event) -> AsyncIterator[None]:
        """Keep up with pauses, bursts, and what is known of the risk signal where picks go by it.

        Only the last must be known before anything is judged for the process to be ready.
        """
        controls = self._shared.controls
        following = [("looking at the backlog", self._tell_backlog())]
        if self._follows_control:
            following.append(("reading control records", self._followed(controls)))
        async with meanwhile(*following):
            with suppress(TimeoutError):  # what was paused before, if the topic is there
                await until(stop, asyncio.wait_for(controls.are_known.wait(), PAUSES_KNOWN_S))
            yield

    async def _followed(self, controls: Controls) -> None:
        sampling, topic = self._settings.sampling, self._settings.kafka.topics.control
        directs = sampling.block != 1 and sampling.directed
        follower = StateFollower(
            self._shared.output,
            FollowedTopic(topic, "control", "pauses, bursts and calibrations would be forgotten"),
            ControlState(controls.readers).apply_record,
            self.count_control,
            self._health if directs else Health(time.monotonic),
            controls.are_known.set,
        )
        try:
            await follower.run()
        except DependencyRefused as error:
            if directs:
                raise
            controls.pauses.are_unknown = True
            logger().error("pauses_unknown", topic=topic, error=str(error))

    def count_control(self, result: str) -> None:
        """A control record was read; with what result."""
        self._telemetry.calibration_records.labels(result).inc()

    async def _priced(self, judges: Sequence[ConfiguredJudge], budget: Budget) -> None:
        """Before anything is waited for: a budget for what has no price holds nothing back."""
        for each in judges:
            await each.judge.prepare()
        require_prices(judges)
        BudgetTelemetry(self._shared.registry, budget.usd_per_day, self._spent, budget.day_end)

    def _spent(self) -> float | None:
        """None before it is known."""
        return None if self._budget is None else self._budget.spent()

    def _judge_paused(self, judge: str, why: str | None) -> None:
        """Not ready is not stuck: nothing ends while judging pauses."""
        if why is None:
            self._health.ready(f"judge {judge}")
        else:
            self._health.waits(f"judge {judge}", why)

    def _does_not_judge(self, judge: str, why: str | None) -> None:
        """A judge that guesses is not ready: gauges would be about its guesses."""
        if why is None:
            self._health.ready(f"canaries of {judge}")
        else:
            self._health.waits(f"canaries of {judge}", why)

    async def _prepare(
        self,
        stack: AsyncExitStack,
        judges: Sequence[ConfiguredJudge],
        redactor: Redactor,
        budget: Budget | None,
    ) -> None:
        """Connect everything that the consuming loop needs, and make the loop."""
        shared, settings, telemetry = self._shared, self._settings, self._telemetry
        await self._topics_exist()
        self._topics_are_there.set()
        follower = None if budget is None else await self._know_spending(stack, budget)
        for each in judges:
            await each.judge.prepare()
        producer = await Producer.start(
            shared.output,
            self._health,
            retried=lambda topic: telemetry.publish_retries.labels(topic).inc(),
        )
        stack.push_async_callback(producer.stop)
        consumer = await self.member.start(
            shared.connection,
            settings.kafka.group_id,
            self._health,
            drain_s=settings.ingest.drain_s,
            session_timeout_s=settings.kafka.session_timeout_s,
            start=start_rule(settings, self._broker_time),
        )
        stack.push_async_callback(consumer.stop)
        self._consumer = consumer
        scorer = self._scorer(judges, redactor, budget, producer)
        self._ledger, limits = scorer.ledger, _loop_limits(shared)
        self._loop = ConsumingLoop(consumer, scorer, limits, telemetry, self._health, self._clock)
        if follower is not None:
            follower.add_done_callback(self._loop.fails_with)

    def _scorer(
        self,
        judges: Sequence[ConfiguredJudge],
        redactor: Redactor,
        budget: Budget | None,
        producer: Producer,
    ) -> Scorer:
        return build_scorer(
            self._settings,
            judges,
            self._blocks(judges, redactor, budget),
            producer,
            self._telemetry,
            self._health,
            self._clock,
            formats=topic_formats(self._settings, self._health),
            redactor=redactor,
            pauses=self._shared.controls.pauses,
            budget=budget,
            threads=self._shared.threads,
            # How plausible a time is, is for the brokers to say.
            broker_time=self._broker_time,
            waits_for_budget=self._settings.ingest.when_behind == "completeness",
        )

    def _blocks(
        self, judges: Sequence[ConfiguredJudge], redactor: Redactor, budget: Budget | None
    ) -> Slots | None:
        """What picks from blocks, where there are any."""
        controls = self._shared.controls
        return build_slots(
            self._settings,
            redactor,
            controls.calibrations,
            judges,
            budget,
            self._last_share,
            lambda: controls.bursts.times(self._clock()),
            wall=self._clock,
            threads=self._shared.threads,
        )

    async def _topics_exist(self) -> None:
        topics, shared = self._settings.kafka.topics, self._shared
        read, written = list(topics.interactions), [topics.scores, topics.dead_letters]
        if shared.output is shared.connection:  # so that all that are missing are named at once
            read, written = read + written, []
        await wait_for_topics(shared.connection, read, self._health, "scorer")
        if written:
            await wait_for_topics(shared.output, written, self._health, "scorer_output")

    async def _know_spending(self, stack: AsyncExitStack, budget: Budget) -> asyncio.Task[None]:
        """What was spent today is known before anything is judged, and followed from then on."""
        topic = self._settings.kafka.topics.scores
        spending = Spending(self._shared.output, topic, budget, self._health)
        follower = asyncio.create_task(spending.run())
        stack.push_async_callback(ended, follower)
        known = asyncio.create_task(spending.is_known.wait())
        stack.push_async_callback(ended, known)
        await asyncio.wait({follower, known}, return_when="FIRST_COMPLETED")
        if not known.done():
            await follower
        self._budget = budget  # before, nobody knows what is left of it
        return follower


def _loop_limits(shared: Shared) -> LoopLimits:
    ingest = shared.settings.ingest
    return LoopLimits(
        ingest.max_in_flight,
        ingest.commit_interval_s,
        ingest.drain_s,
        stuck_after_s=ingest.stuck_after_s,
        most_bytes=shared.settings.kafka.max_read_bytes,
    )
