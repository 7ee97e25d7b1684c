"""The day's money is gone: interactions end as over budget, or wait for the next day."""

from __future__ import annotations

import asyncio
from datetime import UTC

import pytest
from prometheus_client import CollectorRegistry

from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import DeadLetters
from monitor.ingest.formats import native
from monitor.judge.limits.budget import Budget
from monitor.judge.limits.limits import Limits
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.protocol import CostMeter
from monitor.kafka.record import Partition
from monitor.records import Claims, Interaction, Judgement, Source, Usage
from monitor.runtime.health import Health
from monitor.sampling.hashing import Sampler
from monitor.scorer.intake import Policies
from monitor.scorer.judging import JudgingInput, ScoringPolicy, paid_for
from monitor.scorer.scorer import Scorer, ScorerSettings
from monitor.telemetry import ScorerTelemetry
from tests.stages.loop import Record
from tests.stages.plain import encoded, interaction
from tests.stages.process import until
from tests.stages.producers import Memory

A = Partition("t", 0)
DAY_S = 86_400


@pytest.mark.parametrize("waits", [False, True])
async def test_completeness_waits_for_the_next_day(waits: bool) -> None:
    """Nothing more is read meanwhile, and the work may be handed over; else it ends at once."""
    now, registry, written = [DAY_S * 20_000.5], CollectorRegistry(), Memory()
    telemetry, budget = ScorerTelemetry(registry), Budget(1.0, UTC, lambda: now[0])
    budget.spend(1.0)
    gate = DeadLetterGate(CircuitLimits(), telemetry, Health(lambda: 0.0), lambda: 0.0)
    scorer = Scorer(
        ScorerSettings("s", 1_000_000, waits_for_budget=waits),
        Policies(ScoringPolicy(Sampler(1.0), OfflineJudge(), Limits(1, 60.0), budget=budget)),
        written,
        DeadLetters(written, "dead", gate, group="g", version="1"),
        telemetry,
        lambda: now[0],
    )

    def ended(outcome: str, reason: str = "") -> float:
        labels = {"outcome": outcome, "reason": reason}
        return registry.get_sample_value("rag_monitor_interactions_total", labels) or 0.0

    work = scorer.begin(Record(1, value=encoded(interaction("i1"))))
    assert work is not None
    task = work.start()
    if not waits:
        await task
        assert ended("over_budget", "usd_per_day") == 1
        assert registry.get_sample_value("rag_monitor_judgement_seconds_count") == 0
        return
    await until(lambda: scorer.works.parked == 1, "the end of the money", every_s=0.002)
    assert scorer.room(A) == 0
    assert registry.get_sample_value("rag_monitor_interactions_waiting_for_money") == 1
    assert work.may_be_left(60.0)
    assert not work.is_busy
    now[0] += DAY_S
    await task
    assert ended("scored") == 1
    # It was asked for again and again; the judge was asked once.
    assert registry.get_sample_value("rag_monitor_judgement_seconds_count") == 1
    assert registry.get_sample_value("rag_monitor_interactions_waiting_for_money") == 0
    assert scorer.room(A) is None
    assert scorer.works.parked == 0


class Abandoned(OfflineJudge):
    """Costs a dollar, and is left before it has a judgement."""

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        """Raises ``CancelledError``, as when a partition is revoked."""
        assert cost_meter is not None
        cost_meter.add(Usage(calls=1, usd=1.0))
        raise asyncio.CancelledError


async def test_half_a_judgement_has_cost_something() -> None:
    """It stands on no record; as long as the process lives it is not forgotten."""
    budget = Budget(10.0, UTC, lambda: DAY_S * 20_000.5)
    policy = ScoringPolicy(Sampler(1.0), Abandoned(), Limits(1, 60.0), budget=budget)
    source = Source(topic="t", partition=0, offset=1)
    found = native.decode(encoded(interaction("i1")), source, 0).interaction
    with pytest.raises(asyncio.CancelledError):
        await paid_for(JudgingInput(found), policy)
    assert budget.spent() == 1.0
