"""Two scorers on a real broker, one of them killed in mid-stream and started again."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from random import Random

import pytest

from monitor.records import read_score_record
from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce, read_all
from tests.stages.labelled import Case, all_labels, as_logged, case
from tests.stages.process import KILLED, MonitorProcess, asking, total, until
from tests.stages.topics import MakeTopics

COUNT, KILLS = 900, 3


async def test_a_killed_scorer_loses_nothing_and_counts_nothing_twice(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """After SIGKILLs every interaction has a score record, and every gauge counts it once."""
    rng, now = Random(9), time.time()
    cases = [case(f"k{i:04d}", rng, now - rng.uniform(300, 2_400)) for i in range(COUNT)]
    topics = await make_topics()
    broker = kafka_broker.bootstrap
    slow = FaultPlan(rules=(FaultRule(fault=Fault.LATENCY, times=None, seconds=0.1),))
    async with JudgeServer(all_labels(cases), slow) as judge:
        llm = asking(judge, judge__model="judge", **topics, **KILLED)
        exporter = MonitorProcess("export", broker, tmp_path, "export", **topics)
        scorers = [MonitorProcess("score", broker, tmp_path, f"s{i}", **llm) for i in range(2)]
        try:
            for process in (exporter, *scorers):
                await process.ready()
            feeding = asyncio.create_task(_feed(broker, topics, cases))
            for kill in range(KILLS):
                await judge.until_logged(200 * (kill + 1))
                scorers[kill % 2].kill()
                scorers[kill % 2] = MonitorProcess("score", broker, tmp_path, f"s{kill % 2}", **llm)
            await feeding
            await until(lambda: _all_counted(exporter, cases), "all once")
            await _compare(exporter, cases)
        finally:
            for process in (*scorers, exporter):
                await process.end()
    read = await read_all(broker, topics["kafka__topics__scores"])
    records = [read_score_record(record.value or b"") for record in read]
    assert {record.interaction_id for record in records} == {one.id for one in cases}


async def _feed(broker: str, topics: dict[str, str], cases: list[Case]) -> None:
    for start in range(0, len(cases), 100):
        part = as_logged(cases[start : start + 100])
        await produce(broker, topics["kafka__topics__interactions"], part)


async def _all_counted(exporter: MonitorProcess, cases: list[Case]) -> bool:
    """Whether the gauges count exactly the labelled number: more, and they never will again."""
    samples = await exporter.metrics()
    return all(
        total(samples, "rag_score_samples", metric=metric, window="1h") == len(values)
        for metric, values in _values(cases).items()
    )


def _values(cases: list[Case]) -> dict[str, list[float]]:
    return {
        metric: [v for one in cases if (v := one.scores()[metric]) is not None]
        for metric in ("faithfulness", "incorrect_claims")
    }


async def _compare(exporter: MonitorProcess, cases: list[Case]) -> None:
    samples = await exporter.metrics()
    for metric, values in _values(cases).items():
        mean = total(samples, "rag_score", metric=metric, window="1h")
        assert mean == pytest.approx(sum(values) / len(values), abs=1e-9)
