"""Traces of the records at hand, each as a record of its own, for whoever looks at a topic.

The scorer assembles traces as they come, and is bounded in time (``monitor/scorer/traces.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from monitor.errors import MessageRejected
from monitor.ingest.formats.by_topic import TopicFormats
from monitor.ingest.formats.otlp import Span
from monitor.ingest.formats.otlp_format import SpanFormat
from monitor.ingest.formats.traces import (
    answers,
    by_trace,
    links_elsewhere,
    overlooked,
    root_of,
)
from monitor.kafka.record import KafkaRecord, Unreadable
from monitor.records.base import Headers

#: Spans that are held at most: then those traces that have a root are taken as they are.
MOST_HELD = 200_000


@dataclass(frozen=True)
class TraceRecord:
    """A whole trace in the place of the record that its root came in; ``value`` is encoded anew."""

    root_record: KafkaRecord
    spans: Sequence[Span]
    log_format: SpanFormat

    @property
    def topic(self) -> str:
        """That of its root's record."""
        return self.root_record.topic

    @property
    def partition(self) -> int:
        """That of its root's record."""
        return self.root_record.partition

    @property
    def offset(self) -> int:
        """That of its root's record."""
        return self.root_record.offset

    @property
    def timestamp(self) -> int:
        """That of its root's record."""
        return self.root_record.timestamp

    @property
    def key(self) -> bytes | None:
        """That of its root's record."""
        return self.root_record.key

    @property
    def headers(self) -> Headers:
        """Those of its root's record."""
        return self.root_record.headers

    @property
    def value(self) -> bytes:
        """Its spans, and no others that came with them."""
        return self.log_format.encoded(self.spans)


class TraceCounts(NamedTuple):
    """Of so many ``traces``, those ``without_root`` and without a model (``other_work``).

    ``split``: with spans on several partitions. ``linked``: with a model, and with a link to
    another trace. They stood in so many ``records``. ``overlooked``: how often which step
    has texts in its output, where no passages were found.
    """

    traces: int = 0
    without_root: int = 0
    other_work: int = 0
    split: int = 0
    linked: int = 0
    records: int = 0
    overlooked: Mapping[str, int] = MappingProxyType({})


NO_TRACES = TraceCounts()


class _Trace(NamedTuple):
    log_format: SpanFormat
    spans: dict[str, tuple[Span, KafkaRecord]]


@dataclass
class Gathering:
    """Records of several topics become interactions, one record each."""

    formats: TopicFormats
    counts: TraceCounts = field(default_factory=TraceCounts)
    _open: dict[tuple[str, str], _Trace] = field(default_factory=dict)
    _held: int = 0

    def add(self, record: KafkaRecord) -> list[KafkaRecord]:
        """What is known to be an interaction now; one that cannot be read comes back as it is."""
        log_format = self.formats.spans_of(record.topic)
        if log_format is None or record.value is None or isinstance(record, Unreadable):
            return [record]
        try:
            spans = log_format.spans(record.value)
        except MessageRejected:
            return [record]
        self.counts = self.counts._replace(records=self.counts.records + 1)
        for trace_id, its in by_trace(spans).items():
            trace = self._open.setdefault((record.topic, trace_id), _Trace(log_format, {}))
            trace.spans.update((span.span_id, (span, record)) for span in its)
            self._held += len(its)
        return self.finish() if self._held > MOST_HELD else []

    def finish(self) -> list[KafkaRecord]:
        """All traces that a model has a part in, in the order of their first spans."""
        held, self._open, self._held = self._open, {}, 0
        found = (self._whole(trace) for trace in held.values())
        return [each for each in found if each is not None]

    def _whole(self, trace: _Trace) -> TraceRecord | None:
        spans = [span for span, _ in trace.spans.values()]
        counts, places = self.counts, {record.partition for _, record in trace.spans.values()}
        counts = counts._replace(traces=counts.traces + 1, split=counts.split + (len(places) > 1))
        root, found = root_of(spans, or_remote=True), None
        if root is None:
            counts = counts._replace(without_root=counts.without_root + 1)
        elif _holds(answers, spans, root, otherwise=True):
            linked = _holds(links_elsewhere, spans, root, otherwise=False)
            counts = counts._replace(linked=counts.linked + linked)
            if (step := _overlooked(spans, root)) is not None:
                steps = Counter(counts.overlooked)
                counts = counts._replace(overlooked=steps + Counter([step]))
            found = TraceRecord(trace.spans[root.span_id][1], spans, trace.log_format)
        else:
            counts = counts._replace(other_work=counts.other_work + 1)
        self.counts = counts
        return found


def _holds(
    asked: Callable[[Sequence[Span], Span], bool],
    spans: Sequence[Span],
    root: Span,
    *,
    otherwise: bool,
) -> bool:
    """What is asked of a trace; of one that cannot be read, whoever decodes it says why."""
    try:
        return asked(spans, root)
    except MessageRejected:
        return otherwise


def _overlooked(spans: Sequence[Span], root: Span) -> str | None:
    try:
        return overlooked(spans, root)
    except MessageRejected:
        return None


def gathered(
    records: Iterable[KafkaRecord], formats: TopicFormats
) -> tuple[list[KafkaRecord], TraceCounts]:
    """One record an interaction, and what was counted of traces."""
    gathering = Gathering(formats)
    found = [each for record in records for each in gathering.add(record)]
    return [*found, *gathering.finish()], gathering.counts
