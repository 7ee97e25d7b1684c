"""``evaluate``: a file of interactions judged as live traffic is, one score record a line."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from monitor.app.caches import Caches
from monitor.app.policies import build_judges, build_redactor, traffic
from monitor.config import Settings
from monitor.errors import MessageRejected
from monitor.ingest.formats import native
from monitor.ingest.redaction.redactor import Redactor
from monitor.judge.limits.deadline import Deadline
from monitor.kafka.record import weight
from monitor.records import Interaction, Outcome, Reason, ScoreRecord, Source, Usage
from monitor.scorer import score_records
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy, all_redacted, judged
from monitor.scorer.score_records import JudgingResult
from monitor.telemetry import ScorerTelemetry

#: How often it is looked who has come to wait, once told to stop.
_LOOK_EVERY_S = 0.2
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Summary:
    """What became of a file; the number of the line, from 1, before which it was told to stop."""

    records: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    rejected: int = 0
    answered: int = 0
    stopped_before: int | None = None
    failed: Counter[str] = field(default_factory=Counter)

    def add(self, record: ScoreRecord) -> None:
        """One more record has been written."""
        self.records += 1
        self.outcomes[f"{record.outcome}{f' ({record.reason})' if record.reason else ''}"] += 1
        self.usage += record.usage
        if record.outcome is Outcome.JUDGE_FAILED:
            self.failed[record.reason or ""] += 1
        elif record.outcome is Outcome.SCORED or record.usage.calls:
            self.answered += 1

    @property
    def refused(self) -> str | None:
        """Why the judge has failed at all that it was asked; None where it answered anything."""
        if self.answered or not self.failed:
            return None
        reason, times = self.failed.most_common(1)[0]
        return f"the judge answers nothing: {times} of {self.failed.total()} times {reason}"


async def evaluate(
    settings: Settings,
    telemetry: ScorerTelemetry,
    name: str,
    lines: Iterable[bytes],
    write: Callable[[bytes], object],
    rejected: Callable[[str], object],
    stop: asyncio.Event,
    clock: Callable[[], float] = time.time,
) -> Summary:
    """Judge every line, and write the records in the order of the lines.

    From ``stop`` on no further line is begun, and those under way have ``ingest.drain_s`` seconds,
    unless they only wait: for a place, or for a limit.
    When ``write`` raises ``BrokenPipeError``, nobody wants more: that is the end, too.

    ``name`` stands for the topic and the line's number, from 0, for the offset. A line that is no
    interaction is told to ``rejected`` and left out; blank ones are passed over. Every interaction
    is judged: sampling and rules do not apply. Judgements of a model are kept in ``judge.cache``,
    so that evaluating the same content again costs nothing.
    """
    caches = Caches(telemetry.judge_cache)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(caches.aclose)
        configured_judges = build_judges(settings, telemetry, caches, whole=True)
        for configured in configured_judges:
            stack.push_async_callback(configured.judge.aclose)
            await configured.judge.prepare()
        judging, summary = _Judging(traffic(settings, configured_judges), clock), Summary()
        reader = _LineReader(
            name,
            build_redactor(settings, telemetry),
            rejected,
            summary,
            clock,
            settings.ingest.max_record_bytes,
        )
        # Some more than are judged at a time: the oldest may take longest.
        ahead = 4 * sum(configured.section.concurrency for configured in configured_judges)
        lines_in_order = _InOrder(judging, summary, write, ahead)
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as limit:
                drained = _drained(stop, limit, settings.ingest.drain_s, lines_in_order.leave)
                waiting = asyncio.create_task(drained)
                try:
                    await lines_in_order.run(reader, lines, stop)
                finally:
                    waiting.cancel()
    return summary


async def _drained(
    stop: asyncio.Event,
    limit: asyncio.Timeout,
    drain_s: float,
    leave: Callable[[float], None],
) -> None:
    """From ``stop`` on leave what waits, also what comes to; leave all when the time is over."""
    await stop.wait()
    loop = asyncio.get_running_loop()
    end = loop.time() + drain_s
    limit.reschedule(end)
    while True:
        leave(end - loop.time())
        await asyncio.sleep(_LOOK_EVERY_S)


class _LeftError(Exception):
    """The oldest was left: no record after it can be written."""


@dataclass(slots=True)
class _Line:
    """The line of a file that is under way, with the deadline of its judgement while it has one."""

    number: int
    deadline: Deadline | None = None
    task: asyncio.Task[ScoreRecord] = field(init=False)

    def may_be_left(self, within_s: float) -> bool:
        """Whether it waits for a place; or for limits, as ``Deadline`` says."""
        return self.deadline is None or self.deadline.may_be_left(within_s)


@dataclass(slots=True)
class _InOrder:
    """Judges up to ``ahead`` interactions at a time, and writes them in the order they came in."""

    judging: _Judging
    summary: Summary
    write: Callable[[bytes], object]
    ahead: int
    under_way: deque[_Line] = field(default_factory=deque)

    async def run(self, reader: _LineReader, lines: Iterable[bytes], stop: asyncio.Event) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for line, interaction in reader.interactions(lines):
                    if stop.is_set():
                        self.summary.stopped_before = line
                        break
                    begun = _Line(line)
                    begun.task = group.create_task(self.judging.record(begun, interaction))
                    self.under_way.append(begun)
                    while len(self.under_way) >= self.ahead or self._oldest_is_done():
                        await self._write_oldest()
                while self.under_way:
                    await self._write_oldest()
        except* (BrokenPipeError, _LeftError):
            pass  # what is under way has been cancelled: it would cost, and nobody reads it
        finally:
            if self.under_way:
                self.summary.stopped_before = self.under_way[0].number

    def leave(self, within_s: float) -> None:
        """Give up those that only wait, and cannot go on in so many seconds."""
        for begun in self.under_way:
            if begun.may_be_left(within_s) and not begun.task.cancelling():
                begun.task.cancel()

    def _oldest_is_done(self) -> bool:
        return bool(self.under_way) and self.under_way[0].task.done()

    async def _write_oldest(self) -> None:
        task = self.under_way[0].task
        await asyncio.wait({task})
        if task.cancelled():
            raise _LeftError
        record = task.result()
        self.write(record.to_json() + b"\n")
        self.under_way.popleft()
        self.summary.add(record)


class _Judging:
    """Where a line becomes a record."""

    def __init__(self, chosen: Policies, clock: Callable[[], float]) -> None:
        self._traffic, self._clock = chosen, clock

    async def record(self, line: _Line, interaction: Interaction) -> ScoreRecord:
        policy = self._traffic.policy(interaction)
        ending = all_redacted(interaction, policy) or await self._judged(line, interaction, policy)
        return score_records.build(
            interaction,
            ending,
            rate=1.0,
            segment_by=policy.segment_by,
            metrics=policy.metrics,
            now=datetime.fromtimestamp(self._clock(), UTC),
        )

    async def _judged(
        self, line: _Line, interaction: Interaction, policy: ScoringPolicy
    ) -> JudgingResult:
        waiting_since = self._clock()
        async with policy.limits.admitted():
            admitted = self._clock()
            line.deadline = policy.limits.deadline()
            try:
                ending = await judged(interaction, policy, line.deadline)
            finally:
                line.deadline = None
        timings = {"wait_s": admitted - waiting_since, "judge_s": self._clock() - admitted}
        return ending._replace(timings=timings)


@dataclass(slots=True)
class _LineReader:
    """Lines in, interactions out, as redacted as live traffic is."""

    name: str
    redactor: Redactor
    rejected: Callable[[str], object]
    summary: Summary
    clock: Callable[[], float]
    most_bytes: int

    def interactions(self, lines: Iterable[bytes]) -> Iterator[tuple[int, Interaction]]:
        """Each with the number of its line, from 1."""
        for number, line in enumerate(lines):
            if number == 0:  # some editors write one
                line = line.removeprefix(_BYTE_ORDER_MARK)
            if not line.strip():
                continue
            source = Source(topic=self.name, partition=0, offset=number)
            try:
                if weight(line) > self.most_bytes:
                    raise _too_long(weight(line), self.most_bytes)
                found = native.decode(line, source, int(self.clock() * 1000)).interaction
                found = self.redactor.interaction(found)
            except MessageRejected as error:
                self.summary.rejected += 1
                self.rejected(f"line {number + 1}: {self.redactor.message(error)}")
            else:
                yield number + 1, found


def _too_long(size: int, most: int) -> MessageRejected:
    return MessageRejected(
        f"{size} bytes, with 24 for each comma, more than ingest.max_record_bytes ({most})",
        stage="decode",
        cause=Reason.UNREADABLE,
    )
