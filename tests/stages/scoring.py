"""One interaction through a scorer without Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry

from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.judge.limits.limits import Limits
from monitor.judge.protocol import Judge
from monitor.runtime.health import Health
from monitor.runtime.threads import Threads
from monitor.sampling.hashing import Sampler
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.telemetry import ScorerTelemetry
from tests.stages.producers import Memory

MARKER = "kidney-stone-4711"
TEXTS = {
    "user_input": f"What about the {MARKER}?",
    "response": f"The {MARKER} weighs 5 grams.",
    "retrieved_contexts": [f"A {MARKER} weighs 5 grams."],
    "reference": f"The {MARKER} weighs 6 grams.",
}


class Record(NamedTuple):
    """A consumed record."""

    value: bytes | None
    topic: str = "rag.interactions.v1"
    partition: int = 0
    offset: int = 7
    timestamp: int = 1_795_176_000_000
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


async def run(value: bytes, judge: Judge, written: Memory, threads: Threads | None = None) -> str:
    """Bring one record to its end; the outcome."""
    registry = CollectorRegistry()
    telemetry = ScorerTelemetry(registry)
    gate = DeadLetterGate(CircuitLimits(), telemetry, Health(lambda: 0.0), lambda: 0.0)
    scorer = Scorer(
        ScorerSettings("scores", 1_000_000),
        Policies(ScoringPolicy(Sampler(1.0), judge, Limits(1, 60.0))),
        written,
        DeadLetters(written, "dead", gate, group="g", version="1"),
        telemetry,
        lambda: 1_795_176_000.0,
        threads=threads,
    )
    work = scorer.begin(Record(value))
    if work is not None:
        await work.start()
    ended = [
        sample.labels["outcome"]
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "rag_monitor_interactions_total"
    ]
    assert len(ended) == 1
    return ended[0]
