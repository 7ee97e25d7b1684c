"""``score --dry-run``: the scorer itself, with nobody to ask and nothing to write.

From where the scorers' group has committed to where the topics end now. The group is not joined.
Time passes as it did between the records, from now on: so limits, the rest of the day's money and
blocks hold as they would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from monitor.app.connections import connection, output_connection
from monitor.app.formats import topic_formats
from monitor.app.judges import (
    ConfiguredJudge,
    build_judges,
    require_prices,
    unpriced,
    with_dry_run_judges,
)
from monitor.app.policies import build_budget, has_budget
from monitor.app.redaction import build_redactor
from monitor.app.scoring import build_scorer
from monitor.app.slots import build_slots, meters
from monitor.app.start import start_rule
from monitor.config import Settings
from monitor.control.calibrations import Calibrations
from monitor.control.pauses import Pauses
from monitor.control.scanned import scan_control
from monitor.control.state import ControlState
from monitor.ingest.work import Work, WorkState
from monitor.kafka import one_shot
from monitor.kafka.connection import Connection
from monitor.kafka.producer import Outgoing, Producer
from monitor.kafka.replay import TopicScan
from monitor.kafka.start_offsets import StartRule
from monitor.plan.passing import Passing
from monitor.records import Outcome, Usage, read_score_record
from monitor.records.control import CALIBRATION, PAUSE
from monitor.runtime.health import Health
from monitor.scorer.spending import SLACK_S, add
from monitor.telemetry import ScorerTelemetry, new_registry

#: Taken in at once: so many records of a partition, so much time of all.
_CHUNK: Final = 50
_SLICE_MS: Final = 1_000
#: The reasons of ``handed_over`` where a block is not full yet, and where a trace has not ended.
_OPEN_BLOCK: Final = "open_block"
_OPEN_TRACE: Final = "open_trace"
#: What ends by itself, and soon.
_BUSY: Final = (WorkState.QUEUED, WorkState.REDACTING, WorkState.WAITING, WorkState.JUDGING)
_LOOK_EVERY_S: Final = 0.001
_JUDGED: Final = ("scored", "judge_failed")


class Counting(Producer):
    """Takes everything, writes nothing, and adds up what the score records say they cost."""

    def __init__(self, connection: Connection, health: Health, scores_topic: str) -> None:
        super().__init__(connection, None, health, lambda _topic: None)
        self._scores_topic = scores_topic
        self.usage = Usage()
        self.judged = 0

    async def deliver(self, record: Outgoing) -> None:
        """Nothing goes out."""
        if record.topic == self._scores_topic and record.value is not None:
            found = read_score_record(record.value)
            self.usage += found.usage
            self.judged += found.outcome != Outcome.OVER_BUDGET


async def dry_run(
    settings: Settings,
    now: float,
    health: Health,
    limit_s: float = 60.0,
    minutes: float | None = None,
) -> dict[str, Any]:
    """What would be judged and spent from ``now`` on (epoch seconds).

    Of what the group has not read; or of the last ``minutes``, whatever it has read, with the whole
    money of a day.

    A broker that is away is waited for, for ``limit_s`` seconds.

    Raises ``DependencyRefused``, and ``ConfigurationError`` for a budget without a price.
    """
    cluster = connection(settings)
    stage = await _Stage.built(settings, now, cluster, health)
    stage.minutes = minutes
    try:
        await stage.know(output_connection(settings, cluster), limit_s)
        # A client of its own: one that knows a group does not bear being assigned anew.
        group = settings.kafka.group_id
        scan = await one_shot.scan(cluster, health, limit_s, group_id=group)
        try:
            await stage.work_through(scan)
        finally:
            await scan.stop()
    finally:
        await stage.aclose()
    return _report(stage)


class _Stage:
    """A scorer with all that it goes by, but a clock of its own, and nobody to ask or tell."""

    def __init__(
        self,
        settings: Settings,
        configured_judges: Sequence[ConfiguredJudge],
        counting: Counting,
        telemetry: ScorerTelemetry,
        health: Health,
        now: float,
    ) -> None:
        self.settings, self.health, self._configured_judges = settings, health, configured_judges
        self.counting, self.telemetry = counting, telemetry
        self.unpriced: list[str] = []
        #: Look back so far, whatever the group has read; None: from what it has not read.
        self.minutes: float | None = None
        self.budget = build_budget(settings, self._clock)
        self.calibrations, self.pauses = Calibrations(), Pauses()
        self.passing = Passing(
            now,
            [meter for meter in meters(settings, configured_judges) if meter.is_shared],
            lambda: counting.judged,
            self._passes,
            most=settings.ingest.max_in_flight,
        )
        redactor = build_redactor(settings, telemetry)
        self._formats = topic_formats(settings, health)
        self.slots = build_slots(
            settings,
            redactor,
            self.calibrations,
            configured_judges,
            self.budget,
            wall=self._clock,
            monotonic=self._clock,
        )
        self.scorer = build_scorer(
            settings,
            configured_judges,
            self.slots,
            counting,
            telemetry,
            health,
            self._clock,
            formats=self._formats,
            redactor=redactor,
            pauses=self.pauses,
            budget=self.budget,
            monotonic=self._clock,
        )

    @classmethod
    async def built(
        cls, settings: Settings, now: float, cluster: Connection, health: Health
    ) -> _Stage:
        telemetry = ScorerTelemetry(new_registry())
        configured_judges = build_judges(settings, telemetry)
        for configured in configured_judges:
            await configured.judge.prepare()
        if has_budget(settings):
            require_prices(configured_judges)
        counting = Counting(cluster, health, settings.kafka.topics.scores)
        dry = with_dry_run_judges(settings, configured_judges)
        stage = cls(settings, dry, counting, telemetry, health, now)
        stage.unpriced = unpriced(configured_judges)
        return stage

    def _clock(self) -> float:
        return self.passing.now

    def _passes(self, lag_s: float) -> None:
        self.scorer.behind(lag_s)
        self.scorer.turn()

    async def know(self, output: Connection, limit_s: float) -> None:
        """What was spent today, what is paused, and what is known of the risk signal."""
        scan = await one_shot.scan(output, self.health, limit_s)
        try:
            await self._learn(scan)
        finally:
            await scan.stop()

    async def _learn(self, scan: TopicScan) -> None:
        topics = self.settings.kafka.topics
        readers = {PAUSE: self.pauses.apply, CALIBRATION: self.calibrations.apply}
        if topics.control in scan.partitions:
            await scan_control(scan, topics.control, ControlState(readers))
        if self.minutes is not None:
            return  # what was spent on these very interactions is no reason to leave them out
        if self.budget is not None and topics.scores in scan.partitions:
            since_ms = int((self.budget.day_start() - SLACK_S) * 1000)
            async for record in scan.records(topics.scores, start_ms=since_ms, strictly=True):
                if record.value is not None:
                    add(self.budget, record.value)

    async def work_through(self, scan: TopicScan) -> None:
        """Take all in, in the order of their times."""
        #: Why each is left, if nothing ends it before.
        works: dict[Work, str] = {}
        topics = self.settings.kafka.topics.interactions
        start, looks_back = start_rule(self.settings, self._clock), self.minutes is not None
        if self.minutes is not None:
            since_ms = int((self.passing.now - 60 * self.minutes) * 1000)
            start = StartRule("minutes", lambda: since_ms, strictly=True)
        async for batch in scan.in_time(
            topics, _SLICE_MS, _CHUNK, start, from_committed=not looks_back
        ):
            await self._formats.prepare(batch)
            self.passing.comes(min(batch[0].timestamp / 1000, self.passing.started))
            for record in self.scorer.prefilter(batch):
                work = self.scorer.begin(record)
                if work is not None:
                    work.start()
                    has_spans = self._formats.spans_of(record.topic) is not None
                    works[work] = _OPEN_TRACE if has_spans else _OPEN_BLOCK
            works = await self._settled(works)
        if _OPEN_TRACE in works.values():  # what is quiet at the end is whole a little later
            self.passing.ends(self.settings.ingest.trace_quiet_s)
            works = await self._settled(works)
        for work, reason in works.items():
            work.end(reason)
        for ended in await asyncio.gather(*(work.task for work in works), return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended

    async def _settled(self, works: dict[Work, str]) -> dict[Work, str]:
        """Time has passed: those that wait for others; all else has ended. Raises what they raise.

        A trace is judged as a part of a work that waits for it.
        """
        self.scorer.turn()
        await _some_turns()
        while self.scorer.works.count(*_BUSY):  # noqa: ASYNC110 - nobody says when all are idle
            await asyncio.sleep(_LOOK_EVERY_S)
        await _some_turns()
        for work in works:
            if work.task.done():
                work.task.result()
        return {work: reason for work, reason in works.items() if not work.task.done()}

    async def aclose(self) -> None:
        """Give back what limits keep open."""
        for configured in self._configured_judges:
            await configured.provider_gates.aclose()


def _report(stage: _Stage) -> dict[str, Any]:
    usage = stage.counting.usage
    outcomes = {
        "/".join(filter(None, (outcome.value, reason))): count
        for (outcome, reason), count in stage.scorer.ledger.ended.items()
    }
    judged = sum(n for name, n in outcomes.items() if name.partition("/")[0] in _JUDGED)
    return {
        "consumed": int(sum(outcomes.values())),
        "judged": int(judged),
        "outcomes": {name: int(n) for name, n in sorted(outcomes.items())},
        # Summed in whatever order judgements end.
        "usage": {**usage.model_dump(), "usd": round(usage.usd, 9)},
        "unpriced": stage.unpriced,
        "block": 1 if stage.slots is None else stage.slots.pace.plan.length,
        "seconds": round(stage.passing.now - stage.passing.started, 3),
    }


async def _some_turns() -> None:
    """Of the event loop: what was started takes its first step, and what has ended wakes others.

    A part that ends wakes its trace, which wakes the works of all its records.
    """
    for _ in range(5):
        await asyncio.sleep(0)
