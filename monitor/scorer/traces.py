"""Traces whose spans come over many records: gathered until each is whole, and bounded.

A trace is whole when its root has ended and nothing of it has come for a while; it is not waited
for longer than a bound. All records that hold spans of it wait for its outcome, so that a crash at
any moment reads all of them again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from monitor.ingest.formats.gathered import TraceRecord
from monitor.ingest.formats.otlp import Span
from monitor.ingest.formats.otlp_format import SpanFormat
from monitor.ingest.formats.traces import root_of
from monitor.ingest.work import Work
from monitor.kafka.record import KafkaRecord
from monitor.records import Reason
from monitor.sampling.blocks import BlockSpan
from monitor.telemetry import ScorerTelemetry

#: Traces that have ended and are remembered, so that what comes late is none of a new one.
MOST_ENDED: Final = 200_000
_LOOK_EVERY_S: Final = 0.25
#: In place of a partition.
_LEFT_OUT: Final = -1


class TraceBounds(NamedTuple):
    """A trace of more ``spans`` or bytes (``size``) is judged by nobody.

    With so many ``open`` ones, or so much in all of them, nothing more is read until some have
    ended. So many ``late`` spans are remembered: one that comes again is not counted again.
    """

    spans: int = 10_000
    size: int = 16_777_216
    open: int = 20_000
    open_spans: int = 200_000
    open_size: int = 67_108_864
    late: int = 50_000


DEFAULT_BOUNDS: Final = TraceBounds()


class TraceKey(NamedTuple):
    """Topics may hold the same trace for different readers."""

    topic: str
    trace_id: str


class _RecordPlace(NamedTuple):
    partition: int
    offset: int


@dataclass(eq=False)
class OpenTrace:
    """A trace of which more may come; times in monotonic seconds.

    ``first_ms`` and ``last_ms`` are times of its records, in epoch milliseconds. ``works`` are
    those of the records that hold spans of it. ``late`` are spans that came when it had begun.
    ``done``: it has its outcome, or has been left to somebody else; ``failure`` is what its outcome
    has failed with.
    """

    key: TraceKey
    block: BlockSpan
    log_format: SpanFormat
    opened_at: float
    touched_at: float
    first_ms: int
    last_ms: int
    has_root: bool = False
    spans: dict[str, tuple[Span, _RecordPlace]] = field(default_factory=dict)
    records: dict[_RecordPlace, KafkaRecord] = field(default_factory=dict)
    works: dict[_RecordPlace, Work] = field(default_factory=dict)
    size: int = 0
    is_too_large: bool = False
    has_begun: bool = False
    late: set[str] = field(default_factory=set)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    failure: BaseException | None = None

    def add(self, record: KafkaRecord, spans: Iterable[Span], bounds: TraceBounds) -> None:
        """More of it; a span that came before counts once, and ended rather than not."""
        place = _RecordPlace(record.partition, record.offset)
        self.records[place] = record
        for span in spans:
            before = self.spans.get(span.span_id)
            if before is not None and (before[0].ended_ns or not span.ended_ns):
                continue
            if self.is_too_large:
                return
            self.size += span.size - (before[0].size if before else 0)
            self.spans[span.span_id] = span, place
            self.has_root = self.has_root or (span.parent_id is None and span.ended_ns > 0)
            if len(self.spans) > bounds.spans or self.size > bounds.size:
                self.is_too_large, self.size = True, 0
                self.spans.clear()

    def add_late(self, spans: Iterable[Span], most: int) -> None:
        """At most ``most`` that come when it has begun; of what it has already nothing is lost."""
        for span in spans:
            if span.span_id not in self.spans and len(self.late) < most:
                self.late.add(span.span_id)

    def root(self, *, or_remote: bool = False) -> Span | None:
        """Its root, if that has come and ended."""
        return root_of([span for span, _ in self.spans.values()], or_remote=or_remote)

    def hold(self, record: KafkaRecord, work: Work) -> None:
        """The work of a record that waits for its outcome."""
        self.works[_RecordPlace(record.partition, record.offset)] = work

    def leader(self, root: Span) -> tuple[TraceRecord, Work]:
        """The trace as a record, and the work that it is a part of: that of its root's record."""
        place = self.spans[root.span_id][1]
        spans = [span for span, _ in self.spans.values()]
        return TraceRecord(self.records[place], spans, self.log_format), self.works[place]


class WholeTrace(NamedTuple):
    """A trace that is to be judged, ``root`` being its own; or ``reason``: why it is not."""

    trace: OpenTrace
    root: Span | None
    reason: Reason | None = None


class TraceAssembler:
    """All open traces of one scorer; ``monotonic`` gives seconds.

    ``quiet_s``: a trace whose root has ended waits so long for more of it. ``wait_s``: and at most
    so long for its root. ``clock`` gives epoch seconds.

    Who is behind waits by the times of the records as well: what comes seconds later on the topic
    may be read minutes later.
    """

    def __init__(
        self,
        quiet_s: float,
        wait_s: float,
        monotonic: Callable[[], float],
        clock: Callable[[], float],
        telemetry: ScorerTelemetry,
        bounds: TraceBounds = DEFAULT_BOUNDS,
    ) -> None:
        self._bounds = bounds
        self._quiet_s, self._wait_s = quiet_s, wait_s
        self._monotonic, self._clock, self._telemetry = monotonic, clock, telemetry
        #: How old the oldest record is that was not begun, in seconds; 0.0: there is none.
        self.lag_s = 0.0
        self._looked_at = self._read_at = -math.inf
        self._open: dict[TraceKey, OpenTrace] = {}
        self._ended: dict[TraceKey, int] = {}
        self._split: set[TraceKey] = set()
        self._late: dict[tuple[TraceKey, str], None] = {}
        self._spans = self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether nothing more may be read until some have ended."""
        return (
            len(self._open) >= self._bounds.open
            or self._spans >= self._bounds.open_spans
            or self._bytes >= self._bounds.open_size
        )

    def has_ended(self, key: TraceKey, record: KafkaRecord, spans: Iterable[Span]) -> bool:
        """Whether it had its outcome before: what comes now is late, and is counted as that."""
        if key not in self._ended:
            return False
        partition = self._ended[key]
        if partition >= 0:  # of those that the hash left out nobody waits for more
            self._count_late(key, (span.span_id for span in spans))
            self._note_split(key, {partition, record.partition})
        return True

    def _count_late(self, key: TraceKey, span_ids: Iterable[str]) -> None:
        for span_id in span_ids:
            if (key, span_id) not in self._late:
                self._late[key, span_id] = None
                self._telemetry.late_spans.inc()
            if len(self._late) > self._bounds.late:
                del self._late[next(iter(self._late))]

    def was_left_out(self, key: TraceKey) -> bool:
        """Whether the hash takes no part of it, as far as is remembered."""
        return self._ended.get(key) == _LEFT_OUT

    def is_known(self, key: TraceKey) -> bool:
        """Whether it is open, or is remembered."""
        return key in self._open or key in self._ended

    def get(self, key: TraceKey) -> OpenTrace | None:
        """It, while it is open and gathers."""
        return self._open.get(key)

    def open(
        self, key: TraceKey, block: BlockSpan, log_format: SpanFormat, record: KafkaRecord
    ) -> OpenTrace:
        """A new one; ``block`` is the one that its first record lies in."""
        now, written = self._monotonic(), record.timestamp
        found = OpenTrace(key, block, log_format, now, now, written, written)
        self._open[key] = found
        self._telemetry.traces_open.set(len(self._open))
        return found

    def forget(self, key: TraceKey) -> None:
        """Whatever became of it, somebody wants it judged again."""
        self._ended.pop(key, None)

    def leave_out(self, key: TraceKey) -> None:
        """It is not sampled: no span of it that comes is looked at."""
        self._remember(key, _LEFT_OUT)

    def add(self, trace: OpenTrace, record: KafkaRecord, spans: Sequence[Span]) -> None:
        """More of an open one; once it has begun that is late, and counted when it ends."""
        self._read_at = self._monotonic()
        before = len(trace.spans), trace.size
        if trace.has_begun:
            trace.add_late(spans, self._bounds.spans)
        else:
            trace.add(record, spans, self._bounds)
        trace.touched_at = self._monotonic()
        trace.last_ms = max(trace.last_ms, record.timestamp)
        self._spans += len(trace.spans) - before[0]
        self._bytes += trace.size - before[1]
        partitions = {place.partition for place in trace.records}
        self._note_split(trace.key, partitions | {record.partition})

    def _note_split(self, key: TraceKey, partitions: set[int]) -> None:
        if len(partitions) > 1 and key not in self._split:
            self._telemetry.traces_split.inc()
            self._split.add(key)
            if len(self._split) > MOST_ENDED:
                self._split.clear()

    def due(self) -> list[WholeTrace]:
        """Those that are whole, or have been waited for long enough; each is given once."""
        now = self._monotonic()
        found: list[WholeTrace] = []
        if now - self._looked_at < _LOOK_EVERY_S:
            return found
        self._looked_at = now
        for trace in self._open.values():
            if not trace.has_begun and (whole := self._whole(trace, now)) is not None:
                trace.has_begun = True
                found.append(whole)
        return found

    def _whole(self, trace: OpenTrace, now: float) -> WholeTrace | None:
        if trace.is_too_large:
            return WholeTrace(trace, None, Reason.TRACE_TOO_LARGE)
        is_over = self._passed(self._wait_s, now - trace.opened_at, trace.first_ms)
        if not is_over:
            is_quiet = self._passed(self._quiet_s, now - trace.touched_at, trace.last_ms)
            if not (trace.has_root and is_quiet):
                return None
        root = trace.root(or_remote=is_over)
        return WholeTrace(trace, root, Reason.NO_ROOT if root is None else None)

    def _passed(self, seconds: float, elapsed_s: float, since_ms: int) -> bool:
        """Whether so much time has passed here, and in what was read of the topics.

        Where nothing is read, as when memory is full of what waits here, or for longer than any
        trace is waited for, the time here alone decides: else both would wait for each other.
        """
        if elapsed_s < seconds:
            return False
        stands_s = self._monotonic() - self._read_at
        if self.lag_s <= 0.0 or stands_s >= seconds or elapsed_s >= self._wait_s:
            return True
        return self._clock() - self.lag_s - since_ms / 1000 >= seconds

    def leave(self, trace: OpenTrace, record: KafkaRecord) -> bool:
        """A record is left to somebody else, with its spans; whether nothing of the trace stays."""
        place = _RecordPlace(record.partition, record.offset)
        trace.records.pop(place, None)
        trace.works.pop(place, None)
        if trace.has_begun or trace.key not in self._open:
            return False
        gone = [name for name, (_, at) in trace.spans.items() if at == place]
        for name in gone:
            span, _ = trace.spans.pop(name)
            self._spans -= 1
            self._bytes -= span.size
            trace.size -= span.size
        if trace.records:
            return False
        self._close(trace)
        return True

    def end(self, trace: OpenTrace, *, is_left: bool = False) -> None:
        """It has its outcome; or ``is_left``, and may come again."""
        if trace.key in self._open:
            self._close(trace)
            if not is_left:
                partition = next((place.partition for place in trace.records), 0)
                self._remember(trace.key, partition)
                # Not before: whoever reads one again that is left has them in time.
                self._count_late(trace.key, trace.late)
        trace.done.set()

    def _close(self, trace: OpenTrace) -> None:
        del self._open[trace.key]
        self._spans -= len(trace.spans)
        self._bytes -= trace.size
        self._telemetry.traces_open.set(len(self._open))

    def _remember(self, key: TraceKey, partition: int) -> None:
        self._ended.pop(key, None)
        self._ended[key] = partition
        if len(self._ended) > MOST_ENDED:
            del self._ended[next(iter(self._ended))]
