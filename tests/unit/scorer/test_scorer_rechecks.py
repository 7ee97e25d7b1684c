"""The scorer and live rechecks: the record comes first, and waits for nothing."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC

from monitor.judge.limits.budget import Budget
from monitor.records import REDACTED_TEXT, read_score_record
from monitor.scorer.spending import add
from tests.stages.process import until
from tests.stages.rechecks import NOON, Bench
from tests.stages.scoring import TEXTS, Record


async def test_a_record_does_not_wait_for_the_second_judgement() -> None:
    """It is written, and the interaction has ended, while the second judge still hangs."""
    bench = Bench()
    await bench.score(TEXTS)
    ((topic, line),) = bench.written.values
    assert topic == "scores"
    assert read_score_record(line or b"").outcome == "scored"
    assert bench.count("interactions_in_flight") == 0
    await until(lambda: bench.second.asked == 1, "the recheck", every_s=0.002)
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
    assert isinstance((await asyncio.gather(work.start(), return_exceptions=True))[0], RuntimeError)
    for _ in range(20):
        await asyncio.sleep(0)
    assert bench.second.asked == 0


async def test_the_second_judge_sees_what_the_first_one_saw() -> None:
    """No placeholder of a hidden text: the same passages, or their verdicts cannot be compared."""
    bench = Bench()
    hidden = {"retrieved_contexts": ["The warranty lasts 24 months.", REDACTED_TEXT]}
    await bench.score({**TEXTS, "reference": TEXTS["response"], **hidden})
    await until(lambda: bench.second.asked == 1, "the recheck", every_s=0.002)
    assert bench.second.interactions[0].retrieved_contexts == ()
    await bench.rechecks.aclose()


async def test_the_next_record_says_what_second_judgements_have_cost() -> None:
    """So that a restart forgets nothing; once, and only where there was something."""
    budget = Budget(1.0, UTC, lambda: NOON)
    bench = Bench(budget=budget)
    for number, spent in enumerate((0.0, 0.25, 0.0)):
        budget.spend(spent)
        await bench.score({**TEXTS, "interaction_id": f"n{number}"})
    lines = [line or b"" for _, line in bench.written.values]
    assert [read_score_record(line).rechecks_usd for line in lines] == [0.0, 0.25, 0.0]
    assert [b"rechecks_usd" in line for line in lines] == [False, True, False]
    restarted = Budget(1.0, UTC, lambda: NOON)
    for line in lines:
        add(restarted, line)
    assert restarted.spent() == budget.spent() == 0.25
    await bench.rechecks.aclose()
