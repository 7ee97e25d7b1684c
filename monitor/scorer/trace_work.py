"""The work of traces: a record of spans ends with the last of the traces that it has a part in.

Each trace is judged as a part of the work of its root's record; the works of all other records with
spans of it wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from monitor.ingest.formats.gathered import TraceRecord
from monitor.ingest.formats.otlp import Span
from monitor.ingest.formats.otlp_format import SpanFormat
from monitor.ingest.formats.traces import by_trace
from monitor.ingest.reading import place_of, spans_in
from monitor.ingest.work import Work, Works, WorkState
from monitor.kafka.record import KafkaRecord
from monitor.records import Outcome
from monitor.sampling.blocks import BlockSpan
from monitor.scorer.intake import Intake
from monitor.scorer.ledger import Ledger
from monitor.scorer.traces import OpenTrace, TraceAssembler, TraceKey, WholeTrace

#: Brings a trace to its end, and counts that: the trace, its root, the block of its first record.
SettleTrace = Callable[[TraceRecord, Span, BlockSpan, Work], Awaitable[None]]


class TraceWorker:
    """Records of spans, as the scorer knows them; ``settle`` brings a whole trace to its end."""

    def __init__(
        self,
        traces: TraceAssembler,
        works: Works,
        ledger: Ledger,
        intake: Intake,
        settle: SettleTrace,
    ) -> None:
        self._traces, self._works = traces, works
        self._ledger, self._intake, self._settle = ledger, intake, settle

    @property
    def has_room(self) -> bool:
        """Whether more may be read."""
        return not self._traces.is_full

    def behind(self, seconds: float) -> None:
        """How old the oldest record is that was not begun."""
        self._traces.lag_s = seconds

    def turn(self) -> None:
        """Time passes: what is whole begins."""
        for whole in self._traces.due():
            self._begin_trace(whole)

    def begin(self, record: KafkaRecord, log_format: SpanFormat, block: BlockSpan) -> Work | None:
        """Take the spans of a record in; None where all of their traces have ended.

        Raises ``MessageRejected`` where they cannot be read.
        """
        _, is_redriven = place_of(record)
        if not is_redriven and self._is_left_out(record, log_format, block):
            return None
        spans = spans_in(record, log_format)
        held: list[OpenTrace] = []
        for trace_id, its in by_trace(spans).items():
            key = TraceKey(record.topic, trace_id)
            if is_redriven:
                self._traces.forget(key)
            trace = self._traces.get(key)
            if trace is None and not self._traces.has_ended(key, record, its):
                trace = self._opened(key, record, log_format, block)
            if trace is not None:
                self._traces.add(trace, record, its)
                held.append(trace)
        if not held:
            return None
        work = Work(record, partial(self._wait, record, held), self._works)
        for trace in held:
            trace.hold(record, work)
        return work

    def _is_left_out(self, record: KafkaRecord, log_format: SpanFormat, block: BlockSpan) -> bool:
        """Whether the hash takes no trace in it: each is counted then, and nobody reads it."""
        if not self._intake.leaves_most_out:
            return False
        ids = log_format.trace_ids(record.value or b"")
        keys = [TraceKey(record.topic, each) for each in sorted(ids or ())]
        new = [key for key in keys if not self._traces.was_left_out(key)]
        if not keys or any(map(self._traces.is_known, new)):
            return False
        reasons = [self._intake.left_out(record, key.trace_id, block) for key in new]
        if None in reasons:
            return False
        for key, reason in zip(new, reasons, strict=True):
            self._ledger.consume()
            self._ledger.settle(Outcome.NOT_SAMPLED, reason)
            self._traces.leave_out(key)
        return True

    def _opened(
        self, key: TraceKey, record: KafkaRecord, log_format: SpanFormat, block: BlockSpan
    ) -> OpenTrace | None:
        """A new trace; None where it is not sampled, which is its outcome."""
        self._ledger.consume()
        if not self._intake.may_take(record, key.trace_id, block):
            self._traces.leave_out(key)
            return None
        return self._traces.open(key, block, log_format, record)

    async def _wait(self, record: KafkaRecord, held: Sequence[OpenTrace], work: Work) -> None:
        try:
            with work.at(WorkState.PARKED):
                for trace in held:
                    await trace.done.wait()
        except asyncio.CancelledError:
            for trace in held:
                if self._traces.leave(trace, record):
                    self._ledger.settle(Outcome.HANDED_OVER, work.handover_reason)
                    self._traces.end(trace, is_left=True)
            await work.parts_ended()
            raise
        for trace in held:
            if trace.failure is not None:
                raise trace.failure

    def _begin_trace(self, whole: WholeTrace) -> None:
        """Nothing more of a trace is waited for: it is judged, or counted with its reason."""
        trace, root = whole.trace, whole.root
        if root is None:
            self._ledger.settle(Outcome.UNSCORABLE, whole.reason)
            self._traces.end(trace)
            return
        record, leader = trace.leader(root)
        part = leader.part(record, partial(self._scored_trace, trace, record, root))
        for work in trace.works.values():
            if work is not leader:
                work.waits_for(part)
        part.start().add_done_callback(lambda _: self._left_before_it_began(trace, part))

    def _left_before_it_began(self, trace: OpenTrace, part: Work) -> None:
        """A task that is cancelled before its first step runs no clean-up of its own."""
        if not trace.done.is_set():
            self._ledger.settle(Outcome.HANDED_OVER, part.handover_reason)
            self._traces.end(trace, is_left=True)

    async def _scored_trace(
        self, trace: OpenTrace, record: TraceRecord, root: Span, work: Work
    ) -> None:
        is_left = False
        try:
            await self._settle(record, root, trace.block, work)
        except asyncio.CancelledError:
            is_left = True
            raise
        except Exception as error:  # noqa: BLE001 - told by the work of every record that holds it
            trace.failure = error
        finally:
            self._traces.end(trace, is_left=is_left)
