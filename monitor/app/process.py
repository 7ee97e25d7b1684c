"""The composition root: builds adapters from settings, and runs roles."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import ClassVar, Literal

from monitor import __version__
from monitor.app.caches import Caches
from monitor.app.connections import connection, output_connection
from monitor.app.policies import (
    ConfiguredJudge,
    build_budget,
    build_judges,
    build_redactor,
    require_prices,
    slots,
    traffic,
    unused_floors,
    unused_limits,
    with_rechecks,
)
from monitor.app.scores import aggregators, burst_allowance, promises, segment_names
from monitor.app.topics import keep_seconds, topic_specs
from monitor.config import Settings, seconds
from monitor.control.bursts import Bursts
from monitor.control.calibrations import Calibrations
from monitor.control.follower import FollowedTopic, StateFollower
from monitor.control.pause_log import pauses_logged
from monitor.control.pauses import Pauses
from monitor.errors import DependencyRefused, RecordSkipped
from monitor.exporter.exporter import Exporter, Followed, watch_group
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.front_page import BudgetStatus, Front, by_label, over_budget, states
from monitor.exporter.serve.http import HttpServer
from monitor.exporter.serve.pages import Pages
from monitor.ingest.consumer.loop import ConsumingLoop
from monitor.ingest.consumer.worker import LoopLimits
from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.ingest.offload import LONGEST_S
from monitor.ingest.redaction.redactor import Redactor
from monitor.judge.limits.budget import Budget
from monitor.judge.observers import REPLIES
from monitor.judge.pipeline.complaints import in_words
from monitor.kafka.availability import watched
from monitor.kafka.clock_watch import ClockWatch
from monitor.kafka.connection import Connection
from monitor.kafka.group import GroupConsumer
from monitor.kafka.metadata import wait_for_topics
from monitor.kafka.producer import Producer
from monitor.kafka.record import KafkaRecord
from monitor.kafka.topics import create_missing
from monitor.records.alarm import AlarmRecord
from monitor.runtime.health import Health
from monitor.runtime.logs import logger
from monitor.runtime.shutdown import ended, stop_on_signals, until
from monitor.runtime.supervision import meanwhile
from monitor.runtime.threads import Threads
from monitor.scorer.intake import Policies
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.scorer.slots import Slots
from monitor.scorer.spending import Spending
from monitor.telemetry import (
    BudgetTelemetry,
    BurstTelemetry,
    ExporterTelemetry,
    KafkaTelemetry,
    PausedTelemetry,
    ProcessTelemetry,
    ScorerTelemetry,
    new_registry,
)

Role = Literal["score", "export"]
#: What each role calls itself in ``Health`` once it runs.
PARTS: dict[Role, str] = {"score": "consumer", "export": "exporter"}
#: On top of the drain: the last commit, leaving the group, closing connections.
STOP_SLACK_S = 30.0
#: A scorer that cannot read what is paused judges after so long.
PAUSES_KNOWN_S = 5.0


class Monitor:
    """One process: its registry, health, HTTP server and roles. ``clock`` gives epoch seconds."""

    #: Who reads for the scorers' group.
    member: ClassVar[type[GroupConsumer]] = GroupConsumer
    exporter: ClassVar[type[Exporter]] = Exporter

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        machine: Callable[[], float] = time.time,
    ) -> None:
        self.settings, self.clock = settings, clock
        self.registry = new_registry()
        self.health = Health(time.monotonic)
        self.connection = connection(settings)
        #: Of the topics that the monitor writes; the same one unless ``kafka_output`` is set.
        self.output = output_connection(settings, self.connection)
        self.clusters = list({id(each): each for each in (self.connection, self.output)}.values())
        self.aggregators = aggregators(settings)
        self.aggregator = self.aggregators.scores
        self.port = 0
        self._exporter: Exporter | None = None
        self._roles: Sequence[Role] = ()
        self._judges: Callable[[], dict[str, str]] | None = None
        self._refused: Callable[[], str | None] | None = None
        self._consumer: GroupConsumer | None = None
        self._budget: Budget | None = None
        self._pauses_read = asyncio.Event()
        self._share = 1.0
        self._calibrations, self._pauses = Calibrations(), Pauses()
        self._bursts = Bursts()
        longest_s = min(LONGEST_S, settings.ingest.stuck_after_s)
        self._threads = Threads("redaction", limit_s=longest_s)
        PausedTelemetry(self.registry, lambda: self._pauses.since(self.clock()))
        self._process = ProcessTelemetry(self.registry, __version__)
        self._kafka = kafka = KafkaTelemetry(self.registry)
        for cluster in self.clusters:
            cluster.clock.own = machine
            cluster.troubles.shown_by(kafka.watch)
            cluster.losses.counted_by(kafka.lost, kafka.went_back)

    @property
    def alarms(self) -> Mapping[str, AlarmRecord]:
        """The latest record of each alarm, open or closed; none without the exporter's role."""
        return {} if self._exporter is None else self._exporter.alarms

    async def run(self, roles: list[Role], stop: asyncio.Event) -> None:
        """Serve HTTP and run the roles until ``stop`` is set, or one of them fails."""
        self._roles = roles
        # Not ready before the roles have said what they wait for.
        for role in roles:
            self.health.waits(PARTS[role], "start")
        # Bound first: a taken port is said before anything is consumed.
        http = self.settings.http
        server = HttpServer(
            self.registry,
            self.health,
            self._process,
            self._front,
            allowed_hosts=http.allowed_hosts,
        )
        self.port = await server.start(http.host, http.port)
        try:
            if self.settings.kafka.create_topics:
                await until(stop, self._create_topics())
            async with (
                watched(self._used(roles), self.health),
                pauses_logged(self._pauses, self.clock),
                self._clocks_watched(),
                asyncio.TaskGroup() as group,
            ):
                if "score" in roles and not stop.is_set():
                    group.create_task(self._score(stop))
                if "export" in roles and not stop.is_set():
                    group.create_task(self._export(stop, server.pages))
        finally:
            await server.stop()

    @asynccontextmanager
    async def _clocks_watched(self) -> AsyncIterator[None]:
        """This machine's clock is held against that of every cluster meanwhile."""
        limit_s, works = seconds(self.settings.alerts.clock), []
        for cluster in self.clusters:
            show = partial(self._kafka.show_offset, cluster.section)
            watch = ClockWatch(cluster, self.health, limit_s, show)
            works.append((f"the clock of {cluster.section}", watch.run()))
        async with meanwhile(*works):
            yield

    def _front(self) -> Front:
        """What the page at ``/`` says."""
        paused = None if self._pauses.are_unknown else self._pauses.records(self.clock())
        found = None if self._exporter is None else self.alarms.values()
        alarms = None if found is None else [one for one in found if one.state == "open"]
        judges = None if self._judges is None else self._judges()
        read = self._pauses_read.is_set()
        if self._exporter is not None:
            read = read or self._exporter.is_ready
        refused = None if self._refused is None else self._refused()
        return Front(__version__, self._roles, paused, judges, alarms, self._money(), read, refused)

    def _money(self) -> BudgetStatus | None:
        budget, zone = self._budget, self.settings.budget.timezone
        if budget is None:
            return None
        return BudgetStatus(budget.left(self.clock()), budget.usd_per_day, zone)

    def _states(self, telemetry: ScorerTelemetry) -> dict[str, str]:
        """Of models: where today's money is spent, none is asked, whatever its provider does."""
        found = states(telemetry.judge_state.collect())
        if self._budget is None or not self._budget.is_spent(self.clock()):
            return found
        return {model: over_budget(state) for model, state in found.items()}

    def _used(self, roles: Sequence[Role]) -> dict[str, tuple[Connection, set[str]]]:
        """Section → its cluster, and the topics on it that these roles cannot go on without."""
        topics = self.settings.kafka.topics
        used = {cluster.section: (cluster, set[str]()) for cluster in self.clusters}
        used[self.output.section][1].add(topics.scores)
        if "score" in roles:
            used[self.output.section][1].add(topics.dead_letters)
            used[self.connection.section][1].update(topics.interactions)
        return used

    async def _score(self, stop: asyncio.Event) -> None:
        telemetry = ScorerTelemetry(self.registry)
        telemetry.show_sampling(self.settings.sampling.rate)
        # Before anything is waited for: a pattern that cannot be read is said at once.
        redactor = build_redactor(self.settings, telemetry)
        caches = Caches(telemetry.judge_cache)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(caches.aclose)
            judges = build_judges(
                self.settings, telemetry, caches, paused=self._judge_paused, share=self._last_share
            )
            offline = {
                each.judge.identity.label: "judging"
                for each in judges
                if each.section.kind == "offline"
            }
            self._judges = lambda: offline | self._states(telemetry)
            self._refused = partial(_refused, telemetry)
            for unused in unused_limits(self.settings, judges):
                logger().warning("limits_unused", model=unused, what="no judge asks this model")
            if why := unused_floors(self.settings):
                logger().warning("floors_unused", what=why)
            budget = build_budget(self.settings)
            spend, affords = self._spend(budget), self._affords(budget)
            configured_judges = with_rechecks(judges, telemetry.recheck, spend, affords)
            for configured in configured_judges:
                identity = configured.judge.identity
                logger().info("scorer_starting", judge=identity.label, model=identity.model)
                stack.push_async_callback(configured.provider_gates.aclose)
                stack.push_async_callback(configured.judge.aclose)
                if configured.recheck is not None:
                    stack.push_async_callback(configured.recheck.aclose)
            if budget is not None:
                await self._priced(configured_judges, budget)
            await stack.enter_async_context(self._controlled(telemetry))
            loop: list[ConsumingLoop] = []
            # Told to stop while it waits for a broker, it stops at once: nothing is under way.
            if await until(
                stop, self._prepare(stack, configured_judges, redactor, telemetry, loop, budget)
            ):
                topics = self.settings.kafka.topics.interactions
                grace_s = self.settings.ingest.drain_s + STOP_SLACK_S
                await until(stop, loop[0].run(topics, stop), grace_s=grace_s)

    def _last_share(self) -> float:
        """The part of the group's partitions that is ours, as last seen."""
        found = None if self._consumer is None else self._consumer.share()
        self._share = self._share if found is None else found
        return self._share

    @asynccontextmanager
    async def _controlled(self, telemetry: ScorerTelemetry) -> AsyncIterator[None]:
        """Keep up with pauses, bursts, and what is known of the screen where picks go by it.

        Only the last must be known before anything is judged for the process to be ready.
        """
        sampling, topic = self.settings.sampling, self.settings.kafka.topics.control
        directs, known = sampling.block != 1 and sampling.directed, self._pauses_read

        def take(record: KafkaRecord) -> RecordSkipped | None:
            key, value = record.key, record.value
            skipped = self._heard(record) or self._bursts.apply(key, value)
            return skipped or self._calibrations.apply(key, value)

        follower = StateFollower(
            self.output,
            FollowedTopic(topic, "calibrations", "what is known of the screen would be forgotten"),
            take,
            lambda result: telemetry.calibration_records.labels(result).inc(),
            self.health if directs else Health(time.monotonic),
            known.set,
        )
        following = _followed(follower, topic, self._pauses, needed=directs)
        async with meanwhile(("reading control records", following)):
            with suppress(TimeoutError):  # what was paused before, if the topic is there
                await asyncio.wait_for(known.wait(), PAUSES_KNOWN_S)
            yield

    def _heard(self, record: KafkaRecord) -> RecordSkipped | None:
        """Let a pause hold, or end."""
        at = record.timestamp / 1000
        return self._pauses.apply(record.key, record.value, at, record.headers)

    def _spend(self, budget: Budget | None) -> Callable[[float], None]:
        return lambda usd: None if budget is None else budget.spend(self.clock(), usd)

    def _affords(self, budget: Budget | None) -> Callable[[], bool]:
        return lambda: budget is None or budget.left(self.clock()) > 0

    async def _priced(self, configured_judges: Sequence[ConfiguredJudge], budget: Budget) -> None:
        """Before anything is waited for: a budget for what has no price holds nothing back."""
        for configured in configured_judges:
            await configured.judge.prepare()
        require_prices(configured_judges)
        per_day = budget.usd_per_day
        BudgetTelemetry(self.registry, per_day, lambda: budget.spent(self.clock()))

    def _judge_paused(self, judge: str, why: str | None) -> None:
        """Not ready is not stuck: nothing ends while judging pauses."""
        if why is None:
            self.health.ready(f"judge {judge}")
        else:
            self.health.waits(f"judge {judge}", why)

    async def _prepare(
        self,
        stack: AsyncExitStack,
        configured_judges: Sequence[ConfiguredJudge],
        redactor: Redactor,
        telemetry: ScorerTelemetry,
        loop: list[ConsumingLoop],
        budget: Budget | None,
    ) -> None:
        """Connect everything that the consuming loop needs, and append the loop."""
        settings = self.settings
        await self._topics_exist()
        follower = None if budget is None else await self._know_spending(stack, budget)
        for configured in configured_judges:
            await configured.judge.prepare()
        producer = await Producer.start(
            self.output,
            self.health,
            retried=lambda topic: telemetry.publish_retries.labels(topic).inc(),
        )
        stack.push_async_callback(producer.stop)
        consumer = await self.member.start(
            self.connection,
            settings.kafka.group_id,
            self.health,
            drain_s=settings.ingest.drain_s,
        )
        stack.push_async_callback(consumer.stop)
        self._consumer = consumer
        chosen = traffic(settings, configured_judges, budget)
        blocks = slots(
            settings,
            redactor,
            self._calibrations,
            configured_judges,
            budget,
            self._last_share,
            lambda: self._bursts.times(self.clock()),
            wall=self.clock,
            threads=self._threads,
        )
        scorer = self._scorer(chosen, blocks, redactor, producer, telemetry)
        limits = self._loop_limits()
        loop.append(ConsumingLoop(consumer, scorer, limits, telemetry, self.health, self.clock))
        if follower is not None:
            follower.add_done_callback(loop[0].fails_with)

    async def _topics_exist(self) -> None:
        topics = self.settings.kafka.topics
        read, written = list(topics.interactions), [topics.scores, topics.dead_letters]
        if self.output is self.connection:  # so that all that are missing are named at once
            read, written = read + written, []
        await wait_for_topics(self.connection, read, self.health, "scorer")
        if written:
            await wait_for_topics(self.output, written, self.health, "scorer_output")

    async def _know_spending(self, stack: AsyncExitStack, budget: Budget) -> asyncio.Task[None]:
        """What was spent today is known before anything is judged, and followed from then on."""
        topic = self.settings.kafka.topics.scores
        spending = Spending(self.output, topic, budget, self.health, self.clock)
        follower = asyncio.create_task(spending.run())
        stack.push_async_callback(ended, follower)
        known = asyncio.create_task(spending.is_known.wait())
        stack.push_async_callback(ended, known)
        await asyncio.wait({follower, known}, return_when="FIRST_COMPLETED")
        if not known.done():
            await follower
        self._budget = budget  # before, nobody knows what is left of it
        return follower

    def _scorer(
        self,
        chosen: Policies,
        blocks: Slots | None,
        redactor: Redactor,
        producer: Producer,
        telemetry: ScorerTelemetry,
    ) -> Scorer:
        settings, topics = self.settings, self.settings.kafka.topics
        return Scorer(
            ScorerSettings(
                topics.scores,
                settings.kafka.max_record_bytes,
                waits_for_money=settings.ingest.when_behind == "completeness",
            ),
            chosen,
            producer,
            DeadLetters(
                producer,
                topics.dead_letters,
                self._gate(telemetry),
                group=settings.kafka.group_id,
                version=__version__,
                redactor=redactor,
                threads=self._threads,
            ),
            telemetry,
            self.clock,
            redactor,
            blocks,
            self._pauses,
            self._threads,
            # How plausible a time is, is for the brokers to say.
            broker_time=lambda: self.clock() + (self.connection.clock.offset_s or 0.0),
        )

    def _gate(self, telemetry: ScorerTelemetry) -> DeadLetterGate:
        limits = CircuitLimits(**self.settings.ingest.circuit.model_dump())
        return DeadLetterGate(limits, telemetry, self.health, time.monotonic)

    def _loop_limits(self) -> LoopLimits:
        ingest = self.settings.ingest
        return LoopLimits(
            ingest.max_in_flight,
            ingest.commit_interval_s,
            ingest.drain_s,
            stuck_after_s=ingest.stuck_after_s,
            most_bytes=self.settings.kafka.max_read_bytes,
        )

    async def _export(self, stop: asyncio.Event, pages: Pages) -> None:
        kafka, telemetry = self.settings.kafka, ExporterTelemetry(self.registry)
        exporter = self.exporter(
            self.output,
            Followed(
                kafka.topics.scores,
                keep_seconds(self.settings),
                kafka.topics.control,
                kafka.topics.alarms,
            ),
            self.aggregator,
            self.aggregators.baselines,
            telemetry,
            self.health,
            self.clock,
            segment_of=segment_names(self.settings),
            allowed=burst_allowance(self.settings),
            # In one process the scorer hears all of it, too: one replay is enough.
            heard=(lambda _record: None) if "score" in self._roles else self._heard,
            writer=secrets.token_hex(8),
        )
        self._exporter = exporter
        self._show_bursts(exporter.bursts)
        promised = promises(self.settings)
        collector = QualityCollector(
            self.aggregator,
            exporter.clock,
            lambda: exporter.is_ready,
            promised,
            lambda: exporter.alarms,
        )
        pages.with_part(collector, exporter.still)
        watch = watch_group(
            self.connection, kafka.group_id, kafka.topics.interactions, telemetry, self.health
        )
        async with meanwhile(("the watch of the scorers' group", watch)):
            await until(stop, exporter.run())

    def _show_bursts(self, bursts: Bursts) -> None:
        allowed, clock = burst_allowance(self.settings), self.clock
        if allowed is not None:
            zone = allowed.zone
            BurstTelemetry(
                self.registry, allowed.per_day_s, lambda: bursts.granted_s(clock(), zone)
            )

    async def _create_topics(self) -> None:
        read = set(self.settings.kafka.topics.interactions)
        specs = topic_specs(self.settings)
        inputs = [spec for spec in specs if spec.name in read]
        await create_missing(self.connection, inputs, self.health)
        await create_missing(self.output, [s for s in specs if s not in inputs], self.health)


def _refused(telemetry: ScorerTelemetry) -> str | None:
    """How many replies were refused, and mostly why."""
    refused = by_label(telemetry.judge_complaints.collect(), "complaint")
    calls = by_label(telemetry.judge_calls.collect(), "result")
    return in_words(refused, sum(calls[result] for result in calls if result in REPLIES))


async def _followed(follower: StateFollower, topic: str, pauses: Pauses, *, needed: bool) -> None:
    try:
        await follower.run()
    except DependencyRefused as error:
        if needed:
            raise
        pauses.are_unknown = True
        logger().error("pauses_unknown", topic=topic, error=str(error))


async def serve(settings: Settings, roles: list[Role]) -> None:
    """Run roles until a signal ends them."""
    stop = asyncio.Event()
    stop_on_signals(stop)
    await Monitor(settings).run(roles, stop)
    logger().info("stopped")
