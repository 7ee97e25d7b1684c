"""``evaluate``: a file of interactions judged as live traffic is, one score record a row."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

from monitor.app.caches import Caches
from monitor.app.judges import build_judges, unpriced
from monitor.app.policies import build_policies
from monitor.config import Settings
from monitor.errors import MessageRejected
from monitor.evaluate.checkpoint import RowHash
from monitor.evaluate.reading import ReadRow, RowDecoder
from monitor.evaluate.rows import InputRow
from monitor.evaluate.summary import Summary
from monitor.records import RunMark, ScoreRecord
from monitor.scorer import score_records
from monitor.scorer.intake import Policies
from monitor.scorer.judging import JudgeRun, JudgingInput, all_redacted
from monitor.scorer.score_records import JudgingResult
from monitor.telemetry import ScorerTelemetry

#: How often it is looked who has come to wait, once told to stop.
_LOOK_EVERY_S = 0.2


class Resumes(Protocol):
    """Where records go, and which are there already."""

    @property
    def after(self) -> int:
        """The number of the last row that has a record, 0 without one."""

    def require(self, rows: str, name: str) -> None:
        """Raises ``ConfigurationError`` where the rows up to there have another fingerprint."""

    def write(self, line: bytes) -> None:
        """Write one line; ``BrokenPipeError``: nobody wants more, that is the end, too."""


@dataclass(frozen=True)
class EvaluationJob:
    """What is to be judged, and where records and complaints go.

    ``judge`` is the mark of the configured judges, None where the records go to no file.
    ``summary`` counts; those that are there already have been added.
    """

    decoder: RowDecoder
    rows: Iterable[InputRow]
    out: Resumes
    rejected: Callable[[str], object]
    summary: Summary
    judge: str | None = None


async def evaluate(
    settings: Settings,
    telemetry: ScorerTelemetry,
    job: EvaluationJob,
    stop: asyncio.Event,
    clock: Callable[[], float] = time.time,
) -> None:
    """Judge every row that has no record, and write the records in the order of the rows.

    From ``stop`` on no further row is begun, and those under way have ``ingest.drain_s`` seconds,
    unless they only wait: for a place, or for a limit.

    A row that is no interaction is told to ``rejected`` and left out. Times stand as they were
    logged; a missing one is the begin of the run. Every interaction is judged: sampling and rules
    do not apply. Judgements of a model are kept in ``judge.cache``, so that evaluating the same
    content again costs nothing.
    """
    caches = Caches(telemetry.judge_cache)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(caches.aclose)
        configured_judges = build_judges(settings, telemetry, caches, whole=True)
        for configured in configured_judges:
            stack.push_async_callback(configured.judge.aclose)
            await configured.judge.prepare()
        job.summary.has_price = not unpriced(configured_judges)
        begun = _BegunRuns(build_policies(settings, configured_judges), clock, job.summary)
        # Some more than are judged at a time: the oldest may take longest.
        ahead = 4 * sum(configured.section.concurrency for configured in configured_judges)
        rows_in_order = _InOrder(begun, job, ahead)
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as limit:
                drained = _drained(stop, limit, settings.ingest.drain_s, rows_in_order.leave)
                waiting = asyncio.create_task(drained)
                try:
                    await rows_in_order.run(_RowReader(job), stop)
                finally:
                    waiting.cancel()


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
class _RowUnderWay:
    """A row that is being judged; ``run`` is None where nobody need be asked."""

    number: int
    run: JudgeRun | None
    task: asyncio.Task[ScoreRecord]


@dataclass(slots=True)
class _InOrder:
    """Judges up to ``ahead`` interactions at a time, and writes them in the order they came in."""

    begun: _BegunRuns
    job: EvaluationJob
    ahead: int
    under_way: deque[_RowUnderWay] = field(default_factory=deque)

    async def run(self, reader: _RowReader, stop: asyncio.Event) -> None:
        summary = self.job.summary
        try:
            async with asyncio.TaskGroup() as group:
                for number, row, mark in reader.interactions():
                    if stop.is_set():
                        summary.stopped_before = number
                        break
                    run, record = self.begun.record(row, mark)
                    task = group.create_task(record)
                    self.under_way.append(_RowUnderWay(number, run, task))
                    while len(self.under_way) >= self.ahead or self._oldest_is_done():
                        await self._write_oldest()
                while self.under_way:
                    await self._write_oldest()
        except* (BrokenPipeError, _LeftError):
            pass  # what is under way has been cancelled: it would cost, and nobody reads it
        finally:
            if self.under_way:
                summary.stopped_before = self.under_way[0].number

    def leave(self, within_s: float) -> None:
        """Give up those that only wait, and cannot go on in so many seconds."""
        for row in self.under_way:
            may_be_left = row.run is None or row.run.may_be_left(within_s)
            if may_be_left and not row.task.cancelling():
                row.task.cancel()

    def _oldest_is_done(self) -> bool:
        return bool(self.under_way) and self.under_way[0].task.done()

    async def _write_oldest(self) -> None:
        task = self.under_way[0].task
        await asyncio.wait({task})
        if task.cancelled():
            raise _LeftError
        record = task.result()
        self.job.out.write(record.to_json() + b"\n")
        self.under_way.popleft()
        self.job.summary.add(record)


class _BegunRuns:
    """Where a row becomes a record."""

    def __init__(self, chosen: Policies, clock: Callable[[], float], summary: Summary) -> None:
        self._policies, self._clock, self._summary = chosen, clock, summary

    def record(
        self, row: ReadRow, mark: RunMark | None
    ) -> tuple[JudgeRun | None, Coroutine[Any, Any, ScoreRecord]]:
        """The run of its judgement, and its record to be."""
        interaction = row.interaction
        policy = self._policies.policy(interaction)
        if row.labels_win:
            policy = replace(policy, labels_win=True)
        elif not policy.labels_win:
            labels = (each.relevant is not None for each in interaction.retrieved_contexts)
            self._summary.unused_labels += any(labels)
        made = partial(
            score_records.build,
            interaction,
            rate=1.0,
            segment_by=policy.segment_by,
            metrics=policy.metrics,
        )

        def finished(result: JudgingResult) -> ScoreRecord:
            self._summary.ended(result)
            now = datetime.fromtimestamp(self._clock(), UTC)
            return made(result, now=now).model_copy(update={"run": mark})

        async def without_asking(result: JudgingResult) -> ScoreRecord:
            return finished(result)

        async def judged(run: JudgeRun) -> ScoreRecord:
            return finished(await run.result())

        judging_input = JudgingInput(interaction)
        if (redacted := all_redacted(judging_input, policy)) is not None:
            return None, without_asking(redacted)
        run = JudgeRun(judging_input, policy, self._clock)
        return run, judged(run)


@dataclass(slots=True)
class _RowReader:
    """Rows in, interactions out."""

    job: EvaluationJob

    def interactions(self) -> Iterator[tuple[int, ReadRow, RunMark | None]]:
        """Those without a record, each with the number of its row, from 1, and its mark."""
        job, so_far, name = self.job, RowHash(), self.job.decoder.name
        seen = 0
        for row in job.rows:
            if seen < job.out.after < row.number:  # the row of the last record is not there
                job.out.require(so_far.value, name)
            so_far.add(row.value)
            seen = row.number
            if row.number == job.out.after:
                job.out.require(so_far.value, name)
            found = self._read(row)
            if found is not None and row.number > job.out.after:
                mark = None
                if job.judge is not None:
                    mark = RunMark(judge=job.judge, rows=so_far.value)
                yield row.number, found, mark
        if seen < job.out.after:
            job.out.require(so_far.value, name)

    def _read(self, row: InputRow) -> ReadRow | None:
        """None for a row that is none, which is told."""
        summary = self.job.summary
        try:
            found = self.job.decoder.read(row)
        except MessageRejected as error:
            summary.rejected += 1
            self.job.rejected(str(error))
            return None
        if found.timestamp_replaced is not None:
            summary.replaced[found.timestamp_replaced] += 1
        summary.one_texts += found.is_one_text
        if row.is_short:
            summary.short_rows.append(row.number)
        return found
