"""What do other formats cost? Records per CPU second of the scorer, beside native ones.

The same interactions go through the scorer, one process, in turns: in the native format, as JSON of
another shape that a mapping reads, and as spans (OTLP, one trace of three spans a record), in JSON
and in protobuf. The judge answers at once. Sampled at 1 % by record key (what the hash does not
take is not decoded), at 1 % by interaction id (the id of each is read), and all of them. Ratios to
the native format of the same turn; the median of the turns.

    python -m tests.benchmarks.log_formats [--full] [--records 20000]
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from itertools import count
from statistics import median
from typing import Any, Final

from prometheus_client import CollectorRegistry

from monitor.app.formats import log_format
from monitor.config.mapping import LogMapping
from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.ingest.formats.by_topic import TopicFormats
from monitor.ingest.formats.otlp_format import SPAN_FORMATS
from monitor.ingest.formats.protocol import LogFormat
from monitor.judge.limits.limits import Limits
from monitor.runtime.health import Health
from monitor.sampling.hashing import Sampler
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.telemetry import ScorerTelemetry
from tests.benchmarks._sizes import parser
from tests.benchmarks.screening import AtOnce, consumed, records
from tests.stages import otlp_spans
from tests.stages.loop import Record
from tests.stages.producers import Memory

MAPPING: Final = {
    "interaction_id": "id",
    "application": "meta.app",
    "user_input": "request.messages",
    "response": "response.choices[0].message",
    "retrieved_contexts": {"from": "rag.documents", "text": "page_content", "id": "metadata.id"},
    "model": "request.model",
}
#: Sampling: what it is called, its rate, its key, and the part of the records that it is tried on.
SETTINGS: Final = (
    ("1 % by record key", 0.01, "record_key", 1.0),
    ("1 % by interaction id", 0.01, "interaction_id", 0.2),
    ("all", 1.0, "record_key", 0.05),
)


def reshaped(record: Record) -> Record:
    """The same interaction as a log of chat completions has it."""
    found: dict[str, Any] = json.loads(record.value or b"")
    value = {
        "id": found["interaction_id"],
        "meta": {"app": found["application"]},
        "request": {
            "model": "m",
            "messages": [{"role": "user", "content": found["user_input"]}],
        },
        "response": {"choices": [{"message": {"role": "assistant", "content": found["response"]}}]},
        "rag": {
            "documents": [
                {"page_content": text, "metadata": {"id": str(n)}}
                for n, text in enumerate(found["retrieved_contexts"])
            ]
        },
    }
    return record._replace(value=json.dumps(value).encode())


def as_trace(record: Record) -> otlp_spans.Json:
    """The same interaction as spans."""
    found: dict[str, Any] = json.loads(record.value or b"")
    kind, trace = "openinference.span.kind", record.offset + 1
    documents = {
        f"retrieval.documents.{n}.document.content": text
        for n, text in enumerate(found["retrieved_contexts"])
    }
    texts = {"input.value": found["user_input"], "output.value": found["response"]}
    return otlp_spans.made(
        otlp_spans.span(trace, 2, 1, {kind: "RETRIEVER", **documents}),
        otlp_spans.span(trace, 3, 1, {kind: "LLM", "llm.model_name": "m"}),
        otlp_spans.span(trace, 1, None, {kind: "CHAIN", **texts}),
    )


def scorer(rate: float, key: str, formats: TopicFormats) -> Scorer:
    """One that writes nowhere; time leaps, so that no trace is waited for."""
    telemetry, written = ScorerTelemetry(CollectorRegistry()), Memory()
    gate = DeadLetterGate(CircuitLimits(), telemetry, Health(lambda: 0.0), lambda: 0.0)
    return Scorer(
        ScorerSettings("scores", 1_000_000, trace_quiet_s=0.0),
        Policies(ScoringPolicy(Sampler(rate, key), AtOnce(), Limits(8, 60.0))),
        written,
        DeadLetters(written, "dead", gate, group="g", version="1"),
        telemetry,
        time.time,
        formats=formats,
        monotonic=count().__next__,
    )


def pace(worker: Scorer, fed: Sequence[Record]) -> float:
    """Records per CPU second of this process."""
    return len(fed) / asyncio.run(consumed(worker, fed))


def main() -> None:
    """Print the table."""
    line = parser(__doc__)
    line.add_argument("--records", type=int, help="default 20,000; full: 200,000")
    chosen = line.parse_args()
    number, turns = chosen.records or (200_000 if chosen.full else 20_000), 5
    native = records(number)
    mapped = [reshaped(record) for record in native]
    mapping = log_format("json", LogMapping.model_validate(MAPPING), "ingest.mapping")
    traces = [as_trace(record) for record in native]
    fed: dict[str, tuple[LogFormat, list[Record]]] = {
        "mapped": (mapping, mapped),
        "otlp_json": (SPAN_FORMATS["otlp_json"], _written(native, traces, otlp_spans.as_json)),
        "otlp_proto": (SPAN_FORMATS["otlp_proto"], _written(native, traces, otlp_spans.as_proto)),
    }
    print(f"{number:,} records; records per CPU second, median of {turns} turns")
    print(f"  {'sampled':24} {'format':10} {'native':>10} {'this':>10} {'ratio':>6}")
    for name, rate, key, part in SETTINGS:
        some = int(number * part)
        for format_name, (log_format_, records_) in fed.items():
            seen: list[tuple[float, float]] = []
            for _ in range(turns):
                one = pace(scorer(rate, key, TopicFormats()), native[:some])
                two = pace(scorer(rate, key, TopicFormats(log_format_)), records_[:some])
                seen.append((one, two))
            ratio = median(two / one for one, two in seen)
            before, after = median(one for one, _ in seen), median(two for _, two in seen)
            print(f"  {name:24} {format_name:10} {before:10,.0f} {after:10,.0f} {ratio:6.2f}")


def _written(
    native: Sequence[Record],
    traces: Sequence[otlp_spans.Json],
    write: Callable[[otlp_spans.Json], bytes],
) -> list[Record]:
    """The records with traces for values."""
    pairs = zip(native, traces, strict=True)
    return [record._replace(value=write(trace)) for record, trace in pairs]


if __name__ == "__main__":
    main()
