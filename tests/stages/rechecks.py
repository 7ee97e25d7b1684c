"""A scorer with live rechecks, and a judge that waits for a word."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from prometheus_client import CollectorRegistry

from monitor.errors import JudgeFailed
from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.judge.limits.budget import Budget
from monitor.judge.limits.limits import Limits
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, Judgement
from monitor.runtime.health import Health
from monitor.sampling.hashing import Sampler
from monitor.scorer.intake import Policies
from monitor.scorer.judging import ScoringPolicy
from monitor.scorer.recheck import AgreementTracker, Rechecks
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.telemetry import ScorerTelemetry
from tests.stages.producers import Memory
from tests.stages.scoring import Record


class Waiting:
    """A second judge that answers when it is let go, with a failure if there is one."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.go = asyncio.Event()
        self.failure = failure
        self.interactions: list[Interaction] = []
        self.at_once = self.most_at_once = 0
        self.closed = False

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        self.interactions.append(interaction)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.go.wait()
        finally:
            self.at_once -= 1
        raise self.failure or JudgeFailed("no", reason="timeout")

    @property
    def asked(self) -> int:
        """How often it was asked."""
        return len(self.interactions)

    async def aclose(self) -> None:
        self.closed = True


NOON = 1_795_176_000.0


class Bench:
    """A scorer without Kafka, whose judgements are all made twice."""

    def __init__(self, judge: OfflineJudge | None = None, budget: Budget | None = None) -> None:
        self.registry, self.written, self.second = CollectorRegistry(), Memory(), Waiting()
        telemetry = ScorerTelemetry(self.registry)
        gate = DeadLetterGate(CircuitLimits(), telemetry, Health(lambda: 0.0), lambda: 0.0)
        limits, aggregator = Limits(8, 60.0), AgreementTracker(telemetry.recheck)
        self.rechecks = Rechecks(1.0, self.second, limits, aggregator, telemetry.recheck)
        policy = ScoringPolicy(
            Sampler(1.0, "interaction_id"),
            judge or OfflineJudge(),
            limits,
            recheck=self.rechecks,
            budget=budget,
        )
        self.scorer = Scorer(
            ScorerSettings("scores", 1_000_000),
            Policies(policy),
            self.written,
            DeadLetters(self.written, "dead", gate, group="g", version="1"),
            telemetry,
            lambda: NOON,
        )

    async def score(self, texts: dict[str, Any]) -> None:
        """Consume one record to its end."""
        work = self.scorer.begin(Record(json.dumps(texts).encode()))
        assert work is not None
        await work.start()

    def count(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"rag_monitor_{name}", labels) or 0.0
