"""What the exporter serves is a function of the records and the clock, and of nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.labelled import Case, all_labels, as_logged, case
from tests.stages.process import MonitorProcess, asking, outcomes, until
from tests.stages.served import served_page
from tests.stages.topics import MakeTopics, Topics

COUNT = 300


async def test_restart_order_and_duplicates_change_no_bit(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Restarted, or on a shuffled copy with every record twice: identical ``rag_score`` lines."""
    broker, rng, now = kafka_broker.bootstrap, Random(11), time.time()
    cases = [case(f"r{i:04d}", rng, now - rng.uniform(0, 50 * 3600)) for i in range(COUNT)]
    topics = await make_topics()
    await _score(broker, topics, cases, tmp_path)
    records = await read_all(broker, topics["kafka__topics__scores"])
    copy = await make_topics(partitions=3)
    twice = [Record(record.value, key=record.key) for record in [*records, *records]]
    rng.shuffle(twice)
    await produce(broker, copy["kafka__topics__scores"], twice)

    at = now + 60
    first = await _served(broker, topics, lambda: at)
    assert len([line for line in first if line.startswith("rag_score{")]) >= 10
    assert await _served(broker, topics, lambda: at) == first
    assert await _served(broker, copy, lambda: at) == first
    assert await _served(broker, topics, lambda: at + 86_400) != first


async def _score(broker: str, topics: Topics, cases: list[Case], tmp_path: Path) -> None:
    """Score all cases at q = 0.7, a tenth of them failing."""
    failing = FaultRule(fault=Fault.EMPTY, times=None, rate=0.1, task="verify_claims")
    async with JudgeServer(all_labels(cases), FaultPlan(rules=(failing,))) as judge:
        scorer = MonitorProcess(
            "score",
            broker,
            tmp_path,
            "scorer",
            **asking(judge, sampling__rate=0.7, **topics),
        )
        try:
            await scorer.ready()
            sent = as_logged(cases)
            await produce(broker, topics["kafka__topics__interactions"], sent)

            async def ended() -> bool:
                return sum(outcomes(await scorer.metrics()).values()) == len(cases)

            await until(ended, "all outcomes")
        finally:
            await scorer.end()


async def _served(broker: str, topics: Topics, clock: Callable[[], float]) -> list[str]:
    """The ``rag_score*`` lines of a fresh exporter whose clock is ``clock``."""
    text = await served_page(broker, topics, clock)
    return [line for line in text.splitlines() if line.startswith("rag_score")]
