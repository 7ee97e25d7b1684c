"""Spans as a log format: a record holds parts of traces, and a trace is one interaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from monitor.errors import MessageRejected
from monitor.ingest.formats import otlp
from monitor.ingest.formats.protocol import Decoded
from monitor.ingest.formats.traces import answers, by_trace, interaction, root_of
from monitor.records import Source


@dataclass(frozen=True)
class SpanFormat:
    """``spans`` reads those of a record, ``encoded`` makes a record of some of them.

    ``trace_ids`` gives the traces in a record with little work, or None: then they must be read.
    """

    spans: Callable[[bytes], Sequence[otlp.Span]]
    encoded: Callable[[Sequence[otlp.Span]], bytes]
    trace_ids: Callable[[bytes], set[str] | None]

    def decode(
        self, value: bytes, source: Source, broker_ms: int, *, of_file: bool = False
    ) -> Decoded:
        """The interaction of the first whole trace in a record, for whoever looks at one record.

        The scorer assembles traces over records. Raises ``MessageRejected``.
        """
        for spans in by_trace(self.spans(value)).values():
            root = root_of(spans, or_remote=True)
            if root is not None and answers(spans, root):
                return interaction(spans, root, source, broker_ms, of_file=of_file)
        raise MessageRejected(
            "record: found no trace that is whole and has a model's answer",
            stage="validate",
            cause="missing_field",
        )

    def logged_id(self, value: bytes) -> str | None:
        """The trace of the first span; None without spans. Raises ``ValueError``."""
        try:
            spans = self.spans(value)
        except MessageRejected as error:
            raise ValueError("no spans") from error
        return spans[0].trace_id if spans else None


SpanFormatName = Literal["otlp_json", "otlp_proto"]
SPAN_FORMATS: Final[dict[SpanFormatName, SpanFormat]] = {
    "otlp_json": SpanFormat(otlp.json_spans, otlp.as_json, otlp.json_trace_ids),
    "otlp_proto": SpanFormat(otlp.proto_spans, otlp.as_proto, otlp.proto_trace_ids),
}
