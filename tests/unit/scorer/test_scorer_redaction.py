"""A redaction that fails lets nothing out, and does not end the scorer."""

from __future__ import annotations

import json

import pytest
from prometheus_client import CollectorRegistry

from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.ingest.redaction.redactor import RedactionRules, Redactor
from monitor.judge.limits.limits import Limits
from monitor.judge.offline.judge import OfflineJudge
from monitor.runtime.health import Health
from monitor.sampling.hashing import Sampler
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.telemetry import ScorerTelemetry
from tests.stages.counters import counted
from tests.stages.dead_letters import Record
from tests.stages.producers import Memory

SECRET = "C-4711"
TEXTS = {
    "user_input": "Who is it?",
    "response": f"Customer {SECRET} weighs 5 grams.",
    "retrieved_contexts": ["It weighs 5 grams."],
}
#: Its name has no bytes, so that no token can be made: it fails where it finds something.
FAILING = RedactionRules(kinds=(), patterns={"\ud800": "C-[0-9]+"})


def made(written: Memory, registry: CollectorRegistry) -> Scorer:
    """A scorer whose own pattern fails on all that it finds."""
    telemetry, redactor = ScorerTelemetry(registry), Redactor(FAILING)
    gate = DeadLetterGate(CircuitLimits(), telemetry, Health(lambda: 0.0), lambda: 0.0)
    return Scorer(
        ScorerSettings("scores", 1_000_000),
        Policies(ScoringPolicy(Sampler(1.0), OfflineJudge(), Limits(1, 60.0))),
        written,
        DeadLetters(written, "dead", gate, group="g", version="1", redactor=redactor),
        telemetry,
        lambda: 1_795_176_000.0,
        redactor,
    )


@pytest.mark.parametrize(
    "record",
    [
        Record(value=json.dumps(TEXTS).encode()),
        Record(value=json.dumps({**TEXTS, "attributes": {SECRET: [SECRET]}}).encode()),
        Record(value=json.dumps(TEXTS).encode()[:-1]),
        Record(value=json.dumps({**TEXTS, "response": None, SECRET: 1}).encode()),
        Record(value=json.dumps({**TEXTS, "retrieved_contexts": [{SECRET: 1}]}).encode()),
        Record(value=json.dumps(TEXTS).encode("utf-16")),
        Record(value=json.dumps({**TEXTS, "more": SECRET * 50_000}).encode()),
        Record(value=b"{", key=SECRET.encode()),
        Record(value=b"{", headers=(("user", SECRET.encode()),)),
    ],
    ids=["scored", "attribute", "cut", "no_text", "passage", "utf_16", "large", "key", "header"],
)
async def test_what_cannot_be_redacted_stays_where_it_is(record: Record) -> None:
    """A dead letter without key, value and headers, named and counted; the next one is scored."""
    written, registry = Memory(), CollectorRegistry()
    scorer = made(written, registry)
    work = scorer.begin(record)
    assert work is not None
    await work.start()
    (letter,) = written.sent
    said = dict(letter.headers)
    assert (letter.topic, letter.key, letter.value) == ("dead", None, b"")
    assert (said["x-error.stage"], said["x-error.class"]) == (b"redact", b"redaction_failed")
    assert said["x-error.value_omitted"] == str(len(record.value or b"")).encode()
    assert all(name.startswith("x-error.") for name in said)
    assert SECRET not in repr(letter)
    dead = counted(registry, "rag_monitor_dead_letters_total")
    assert dead == {("redact", "redaction_failed"): 1}
    outcomes = counted(registry, "rag_monitor_interactions_total")
    assert outcomes == {("dead_lettered", "redaction_failed"): 1}
    fine = json.dumps({**TEXTS, "response": "It weighs 5 grams."}).encode()
    following = scorer.begin(Record(value=fine))
    assert following is not None
    await following.start()
    assert [sent.topic for sent in written.sent] == ["dead", "scores"]
