"""A scorer as a worker of the consuming loop, with a judge that hangs."""

from __future__ import annotations

import asyncio

from prometheus_client import CollectorRegistry

from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.ingest.work import Work
from monitor.judge.limits.limits import Limits
from monitor.judge.protocol import CostMeter
from monitor.kafka.record import KafkaRecord
from monitor.records import Interaction, JudgeIdentity, Judgement
from monitor.runtime.health import Health
from monitor.sampling.hashing import Sampler
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.telemetry import ScorerTelemetry
from tests.stages.producers import Memory
from tests.stages.records import JUDGE


class Hanging:
    """A judge that never answers; ``deaf``: not even when it is cancelled."""

    def __init__(self, *, deaf: bool = False, itself: bool = False) -> None:
        self._deaf, self._itself = deaf, itself
        self.asked = 0

    @property
    def identity(self) -> JudgeIdentity:
        return JUDGE

    async def prepare(self) -> None:
        return

    async def judge(
        self, interaction: Interaction, cost_meter: CostMeter | None = None
    ) -> Judgement:
        self.asked += 1
        if self._itself:
            raise asyncio.CancelledError("a connection of its own")
        until_s = asyncio.get_running_loop().time() + 5
        while asyncio.get_running_loop().time() < until_s:
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                if not self._deaf:
                    raise
        raise AssertionError("nobody waits for it any more")

    async def aclose(self) -> None:
        return


class Bench:
    """A scorer without Kafka."""

    def __init__(self, judge: Hanging, rate: float = 1.0, key: str = "interaction_id") -> None:
        self.registry, self.written, self.judge = CollectorRegistry(), Memory(), judge
        self.telemetry = ScorerTelemetry(self.registry)
        gate = DeadLetterGate(CircuitLimits(), self.telemetry, Health(lambda: 0.0), lambda: 0.0)
        self.scorer = Scorer(
            ScorerSettings("scores", 1_000_000),
            Policies(ScoringPolicy(Sampler(rate, key), judge, Limits(1, 60.0))),
            self.written,
            DeadLetters(self.written, "dead", gate, group="g", version="1"),
            self.telemetry,
            lambda: 1_795_176_000.0,
        )

    def begin(self, record: KafkaRecord) -> Work:
        """The work on a record, which has started."""
        work = self.scorer.begin(record)
        assert work is not None
        work.start()
        return work

    def count(self, name: str, **labels: str) -> float:
        """One sample; 0 when there is none."""
        return self.registry.get_sample_value(f"rag_monitor_{name}", labels) or 0.0

    def ended(self, outcome: str, reason: str) -> float:
        """Interactions with this outcome."""
        return self.count("interactions_total", outcome=outcome, reason=reason)

    def is_balanced(self) -> bool:
        """Whether consumed is outcomes and in flight."""
        outcomes = sum(
            sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == "rag_monitor_interactions_total"
        )
        in_flight = self.count("interactions_in_flight")
        return self.count("interactions_consumed_total") == outcomes + in_flight
