"""The scorer and the live self-check: the record comes first, and waits for nothing."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC
from typing import Any

from prometheus_client import CollectorRegistry

from monitor.health import Health
from monitor.ingest.circuit import CircuitLimits
from monitor.ingest.dead_letters import DeadLetters
from monitor.ingest.gate import Gate
from monitor.ingest.sampling import Sampler
from monitor.ingest.spending import add
from monitor.intake import Traffic
from monitor.judge.budget import Budget
from monitor.judge.limits import Limits
from monitor.judge.offline import OfflineJudge
from monitor.judging import Treatment
from monitor.metrics.hidden import HIDDEN
from monitor.rechecking import AgreementBook, Rechecks
from monitor.records import read_score_record
from monitor.scorer import Scorer, ScorerSettings
from monitor.telemetry import ScorerTelemetry
from tests.e2e.process import until
from tests.unit.ingest.producers import Memory
from tests.unit.ingest.test_scorer_log import TEXTS, Record
from tests.unit.judge.test_rechecking import Waiting

NOON = 1_795_176_000.0


class Bench:
    """A scorer without Kafka, whose judgements are all made twice."""

    def __init__(self, judge: OfflineJudge | None = None, budget: Budget | None = None) -> None:
        self.registry, self.written, self.second = CollectorRegistry(), Memory(), Waiting()
        telemetry = ScorerTelemetry(self.registry)
        gate = Gate(CircuitLimits(), telemetry, Health(lambda: 0.0), lambda: 0.0)
        limits, book = Limits(8, 60.0), AgreementBook(telemetry.recheck)
        self.rechecks = Rechecks(1.0, self.second, limits, book, telemetry.recheck)
        treatment = Treatment(
            Sampler(1.0, "interaction_id"),
            judge or OfflineJudge(),
            limits,
            recheck=self.rechecks,
            budget=budget,
        )
        self.scorer = Scorer(
            ScorerSettings("scores", 1_000_000),
            Traffic(treatment),
            self.written,
            DeadLetters(self.written, "dead", gate, group="g", version="1"),
            telemetry,
            lambda: NOON,
        )

    async def score(self, texts: dict[str, Any]) -> None:
        """Consume one record to its end."""
        work = self.scorer.begin(Record(json.dumps(texts).encode()))
        assert work is not None
        await work

    def count(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"rag_monitor_{name}", labels) or 0.0


async def test_a_record_does_not_wait_for_the_second_judgement() -> None:
    """It is written, and the interaction has ended, while the second judge still hangs."""
    bench = Bench()
    await bench.score(TEXTS)
    assert bench.second.asked == 0
    ((topic, line),) = bench.written.values
    assert topic == "scores"
    assert read_score_record(line or b"").outcome == "scored"
    assert bench.count("interactions_in_flight") == 0
    await until(lambda: bench.second.asked == 1, "the second judgement", every_s=0.002)
    await bench.rechecks.aclose()
    assert bench.count("judge_rechecks_total", result="dropped") == 1
    assert len(bench.written.values) == 1


async def test_what_was_not_judged_is_not_judged_again() -> None:
    """Nothing to claim, and nothing that could not be written."""
    bench = Bench()
    await bench.score({**TEXTS, "response": "!"})
    bench.written.refuse = lambda _sent: RuntimeError("no broker")
    work = bench.scorer.begin(Record(json.dumps(TEXTS).encode()))
    assert work is not None
    assert isinstance((await asyncio.gather(work, return_exceptions=True))[0], RuntimeError)
    for _ in range(20):
        await asyncio.sleep(0)
    assert bench.second.asked == 0


async def test_the_second_judge_sees_what_the_first_one_saw() -> None:
    """No placeholder of a hidden text: the same passages, or their verdicts cannot be compared."""
    bench = Bench()
    hidden = {"retrieved_contexts": ["The warranty lasts 24 months.", HIDDEN]}
    await bench.score({**TEXTS, "reference": TEXTS["response"], **hidden})
    await until(lambda: bench.second.asked == 1, "the second judgement", every_s=0.002)
    assert bench.second.interactions[0].retrieved_contexts == ()
    await bench.rechecks.aclose()


async def test_the_next_record_says_what_second_judgements_have_cost() -> None:
    """So that a restart forgets nothing; once, and only where there was something."""
    budget = Budget(1.0, UTC)
    bench = Bench(budget=budget)
    for number, spent in enumerate((0.0, 0.25, 0.0)):
        budget.spend(NOON, spent)
        await bench.score({**TEXTS, "interaction_id": f"n{number}"})
    lines = [line or b"" for _, line in bench.written.values]
    assert [read_score_record(line).rechecks_usd for line in lines] == [0.0, 0.25, 0.0]
    assert [b"rechecks_usd" in line for line in lines] == [False, True, False]
    restarted = Budget(1.0, UTC)
    for line in lines:
        add(restarted, line, NOON)
    assert restarted.spent(NOON) == budget.spent(NOON) == 0.25
    await bench.rechecks.aclose()
