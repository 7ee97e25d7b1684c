"""The day's money over Kafka and HTTP: spent, gone, not reset by a restart, and there again."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from random import Random

import pytest

from monitor.records import ScoreRecord, read_score_record
from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce, read_all
from tests.stages.budget import BUDGET, PRICES, clocked_by
from tests.stages.clocked import set_to
from tests.stages.labelled import Case, all_labels, as_logged, case
from tests.stages.process import MonitorProcess, Samples, asking, outcomes, total, until
from tests.stages.topics import MakeTopics


async def ended(scorer: MonitorProcess, count: int) -> Samples:
    async def all_done() -> Samples | None:
        samples = await scorer.metrics()
        return samples if sum(outcomes(samples).values()) == count else None

    samples: Samples = await until(all_done, f"{count} ended")
    return samples


async def records(broker: str, topic: str) -> dict[str, ScoreRecord]:
    read = [read_score_record(record.value or b"") for record in await read_all(broker, topic)]
    return {record.interaction_id: record for record in read}


async def test_the_days_money(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Judging stops at the budget, stays so after a restart, and goes on the next day."""
    rng, broker, topics = Random(3), kafka_broker.bootstrap, await make_topics(partitions=2)
    cases = [case(f"b{i:03d}", rng, time.time() - 60) for i in range(50)]
    # Whatever went by another clock would begin another day, with all of its money.
    clock, now = tmp_path / "clock", time.time() - 2 * 86_400
    set_to(clock, now)
    inputs, scores = topics["kafka__topics__interactions"], topics["kafka__topics__scores"]

    pages: dict[str, str] = {}

    async def scored(judge: JudgeServer, name: str, sent: list[Case]) -> Samples:
        settings = asking(judge, limits__usd_per_day=BUDGET, **PRICES, **topics)
        scorer = MonitorProcess(
            "score", broker, tmp_path, name, module="tests.stages.clocked", **settings
        )
        try:
            await scorer.ready()
            await produce(broker, inputs, as_logged(sent))
            samples = await ended(scorer, len(sent))
            pages[name] = (await scorer.get("/"))[1]
            return samples
        finally:
            await scorer.end()

    with clocked_by(clock):
        async with JudgeServer(all_labels(cases)) as judge:
            first = await scored(judge, "first", cases[:30])
            asked = len(judge.log)
            again = await scored(judge, "again", cases[30:40])
            assert len(judge.log) == asked, "nobody is asked when the money is gone"
            set_to(clock, now + 86_400)
            tomorrow = await scored(judge, "tomorrow", cases[40:44])
    assert {name for name in pages if "over_budget" in pages[name]} == {"first", "again"}
    assert outcomes(again) == {"over_budget": 10}
    assert total(again, "rag_monitor_interactions_total", reason="usd_per_day") == 10
    assert outcomes(tomorrow).get("over_budget", 0) == 0
    assert outcomes(first)["over_budget"] > 5
    found = await records(broker, scores)
    _spent_what_the_gauges_say(found, first, again)


def _spent_what_the_gauges_say(
    found: dict[str, ScoreRecord], first: Samples, again: Samples
) -> None:
    today = [record for name, record in found.items() if name < "b040"]
    costs = [record.usage.usd for record in today if record.usage.usd]
    spent = sum(costs)
    # Eight at a time, each reckoned with at the mean of those before.
    assert 0.8 * BUDGET <= spent <= BUDGET + 8 * (max(costs) - min(costs))
    for samples in (first, again):
        assert total(samples, "rag_monitor_budget_usd_per_day") == BUDGET
        assert total(samples, "rag_monitor_budget_usd_spent") == pytest.approx(spent)
        left = max(0.0, BUDGET - spent)
        assert total(samples, "rag_monitor_budget_usd_left") == pytest.approx(left)
    without = [record for record in today if record.outcome == "over_budget"]
    assert all((r.scores, r.usage.usd, r.reason) == ({}, 0.0, "usd_per_day") for r in without)


async def test_a_budget_without_a_price_is_a_configuration_error(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Exit code 2 and one line that names the settings; not a budget that holds nothing back."""
    async with JudgeServer(all_labels([])) as judge:
        settings = asking(judge, limits__usd_per_day=1, **await make_topics(partitions=1))
        scorer = MonitorProcess("score", kafka_broker.bootstrap, tmp_path, "scorer", **settings)
        await until(lambda: not scorer.alive(), "its end")
        await scorer.end()
    assert scorer.exit_code() == 2
    said = scorer.log.read_text("utf-8").splitlines()[-1]
    assert "limits.usd_per_day" in said
    assert "judge.price.input_usd_per_million" in said


async def test_a_restart_knows_what_second_judgements_have_cost(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """It stands on the records that came after them: all but what followed the last one."""
    rng, broker, topics = Random(5), kafka_broker.bootstrap, await make_topics(partitions=1)
    cases = [case(f"r{i}", rng, time.time() - 60, together=True) for i in range(5)]
    inputs, spent = topics["kafka__topics__interactions"], "rag_monitor_budget_usd_spent"
    async with JudgeServer(all_labels(cases)) as judge:
        settings = asking(judge, limits__usd_per_day=1e9, **PRICES, **topics)
        settings["judge__recheck_rate"] = 1
        scorer = MonitorProcess("score", broker, tmp_path, "scorer", **settings)

        async def judged_twice(count: int) -> Samples | None:
            samples = await scorer.metrics()
            done = total(samples, "rag_monitor_judge_rechecks_total", result="done")
            return samples if done == count else None

        try:
            await scorer.ready()
            for number, one in enumerate(cases, 1):
                await produce(broker, inputs, as_logged([one]))
                before = await until(partial(judged_twice, number), f"{number} judged twice")
        finally:
            await scorer.end()
        again = MonitorProcess("score", broker, tmp_path, "again", **settings)
        try:
            await again.ready()
            after = await again.metrics()
        finally:
            await again.end()
    found = (await records(broker, topics["kafka__topics__scores"])).values()
    beside = [record.rechecks_usd for record in found]
    assert sum(usd > 0 for usd in beside) == 4
    on_record = sum(record.usage.usd for record in found) + sum(beside)
    assert total(after, spent) == pytest.approx(on_record)
    last = total(before, spent) - on_record
    assert 0 < last < 2 * max(beside)


async def test_a_model_that_never_answers_spends_the_day_as_well(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Each call that is cut off has its prompt on a record, and a restart reads it there."""
    rng, broker, topics = Random(6), kafka_broker.bootstrap, await make_topics(partitions=1)
    cases = [case(f"n{i:02d}", rng, time.time() - 60) for i in range(12)]
    inputs, spent = topics["kafka__topics__interactions"], "rag_monitor_budget_usd_spent"
    plan = FaultPlan(rules=(FaultRule(fault=Fault.TIMEOUT, times=None),))
    async with JudgeServer(all_labels(cases), plan) as judge:
        settings = asking(judge, limits__usd_per_day=8_000, **PRICES, **topics)
        settings |= {"judge__deadline_s": 3, "judge__attempt_timeout_s": 2}
        pages: list[Samples] = []
        for name, sent in (("scorer", cases[:2]), ("again", cases[2:])):
            scorer = MonitorProcess("score", broker, tmp_path, name, **settings)
            try:
                await scorer.ready()
                if name == "again":
                    pages.append(await scorer.metrics())
                await produce(broker, inputs, as_logged(sent))
                pages.append(await ended(scorer, len(sent)))
            finally:
                await scorer.end()
        asked = len(judge.log)
    first, at_start, last = pages
    found = (await records(broker, topics["kafka__topics__scores"])).values()
    assert total(at_start, spent) == pytest.approx(total(first, spent))
    on_record = sum(record.usage.usd for record in found)
    assert total(last, spent) == pytest.approx(on_record)
    assert on_record >= 4_000
    assert sum(record.usage.calls for record in found) >= asked > 0
    assert outcomes(first) == {"judge_failed": 2}
    assert outcomes(last)["over_budget"] >= 4
