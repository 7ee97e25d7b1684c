"""What a redrive does with the letters of traces, whose spans stand in several records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry

from monitor.app.accesses import dead_letter_access
from monitor.config import load
from monitor.errors import MessageRejected
from monitor.ingest.dead_letter_headers import FailureOrigin
from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.redrive import Redriven, Redriver, RedriveResult, RedriveSelection
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.ingest.formats.by_topic import TopicFormats
from monitor.ingest.formats.gathered import TraceRecord, gathered
from monitor.ingest.formats.otlp import json_spans
from monitor.ingest.formats.otlp_format import SPAN_FORMATS
from monitor.ingest.redaction.redactor import RedactionRules, Redactor
from monitor.ingest.work import Work, Works
from monitor.kafka.producer import Outgoing
from monitor.kafka.record import KafkaRecord
from monitor.runtime.health import Health
from monitor.telemetry import ScorerTelemetry
from tests.stages.dead_letters import Record
from tests.stages.otlp_spans import Json, as_json, made, rag_trace
from tests.stages.producers import Memory

TOPIC = "traces"
SPANS = TopicFormats(SPAN_FORMATS["otlp_json"])
NOW = datetime(2026, 11, 20, tzinfo=UTC)
OF_TRACE = "it is of a trace, whose spans may stand in several records"
AGAIN = "to have it judged, have the scorers read those again (docs/dead-letters.md)"


def records(*contents: Sequence[Json]) -> list[Record]:
    """Records of these spans, at offsets 0, 1, …"""
    return [
        Record(TOPIC, 0, n, 1_000, b"k", as_json(made(*spans)), ())
        for n, spans in enumerate(contents)
    ]


def with_address(trace: int) -> list[Json]:
    """Spans with an address of somebody, which is redacted."""
    text = json.dumps(rag_trace(trace, 1, 10**18)).replace("warranty", "eva@example.org")
    found: list[Json] = json.loads(text)
    return found


async def buried(trace: TraceRecord, stage: str) -> Record:
    """The dead letter that a scorer writes of a trace."""
    telemetry, health = ScorerTelemetry(CollectorRegistry()), Health(lambda: 0.0)
    gate, written = DeadLetterGate(CircuitLimits(), telemetry, health, lambda: 0.0), Memory()
    redactor = Redactor(RedactionRules(kinds=("email",)))
    writer = DeadLetters(written, "dead", gate, group="g", version="1", redactor=redactor)

    async def nothing(_work: Work) -> None:
        return

    error = MessageRejected("spans: found nothing", stage=stage, cause="wrong")
    await writer.bury(trace, error, NOW, Work(trace, nothing, Works()))
    (sent,) = written.sent
    return Record("dead", 0, 0, 1_000, sent.key, sent.value, tuple(sent.headers))


async def redriven(logged: Sequence[KafkaRecord], stage: str) -> tuple[Redriven, list[Outgoing]]:
    """What is said of the letter of the first trace in these records, and what is sent."""
    whole, _ = gathered(logged, SPANS)
    assert isinstance(whole[0], TraceRecord)
    there = {record.offset: record for record in logged}
    told: list[Redriven] = []
    producer = Memory()

    async def fetch(origin: FailureOrigin) -> KafkaRecord | None:
        return there.get(origin.offset)

    selection = RedriveSelection({TOPIC: [0]}, span_topics=frozenset({TOPIC}))
    redriver = Redriver(selection, fetch, producer, told.append)
    await redriver.take([await buried(whole[0], stage)])
    return told[0], producer.sent


@pytest.mark.parametrize("is_alone", [True, False])
async def test_a_trace_without_a_value_is_not_said_to_be_gone(is_alone: bool) -> None:
    """Its spans are on its topic, in two records or beside another trace; how to go on is said."""
    one, two = with_address(1), with_address(2)
    logged = records(one[:2], one[2:]) if is_alone else records([*one, *two])
    told, sent = await redriven(logged, "redact")
    assert (told.answer, told.why) == (RedriveResult.VALUE_OMITTED, f"and {OF_TRACE}; {AGAIN}")
    assert sent == []


async def test_a_redacted_trace_goes_out_and_is_said_to_be_redacted() -> None:
    """All of its spans and no others, since its topic has no record of them alone."""
    one, two = with_address(1), with_address(2)
    told, sent = await redriven(records([*one[:2], *two], one[2:]), "validate")
    assert told.answer == RedriveResult.REDRIVEN
    assert told.why == f"attempt 2, after wrong; redacted, since {OF_TRACE}"
    spans = json_spans(sent[0].value or b"")
    assert [span.trace_id for span in spans] == [f"{1:032x}"] * 3
    assert b"eva@" not in (sent[0].value or b"")


@pytest.mark.parametrize("stage", ["redact", "validate"])
async def test_a_record_that_holds_a_trace_and_nothing_else_goes_out_as_it_was(stage: str) -> None:
    """Where it was encoded as ours are: its size says so."""
    (logged,) = records(with_address(1))
    told, sent = await redriven([logged], stage)
    assert (told.answer, told.why) == (RedriveResult.REDRIVEN, "attempt 2, after wrong")
    assert sent[0].value == logged.value


def test_a_redrive_knows_the_topics_of_spans() -> None:
    """From the settings: those of sources, and the others where that is their format."""
    sources = json.dumps([{"topic": "chat", "format": "native"}])
    found = load(
        {
            "RAG_MONITOR_INGEST__FORMAT": "otlp_proto",
            "RAG_MONITOR_INGEST__SOURCES": sources,
            "RAG_MONITOR_KAFKA__TOPICS__INTERACTIONS": json.dumps(["traces", "chat"]),
        }
    )
    assert dead_letter_access(found, 1.0).span_topics == {"traces"}
