"""The end of a scorer whose judgements wait: at once, and the next one judges each of them."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from monitor.records import read_score_record
from tests.e2e.conftest import MakeTopics
from tests.e2e.labelled import all_labels, as_logged, case
from tests.e2e.process import MonitorProcess, asking, outcomes, total, until
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import KafkaBroker
from tests.servers.kafka_topics import produce, read_all

CASES = 6


@pytest.mark.timeout(150)
async def test_what_waits_for_a_limit_is_handed_over_at_once(
    kafka_broker: KafkaBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """SIGTERM while all wait for the next request of the minute: the ten minutes of the drain are
    not waited for, nothing was asked in vain, nothing is lost, and nothing is scored twice."""
    rng, broker = Random(9), kafka_broker.bootstrap
    cases = [case(f"w{i:03d}", rng, time.time() - 60, together=True) for i in range(CASES)]
    topics = await make_topics(partitions=1)
    async with JudgeServer(all_labels(cases)) as judge:
        limited = asking(
            judge, limits__requests_per_minute=1, ingest__drain_s=600, judge__concurrency=4
        )
        first = MonitorProcess("score", broker, tmp_path, "first", **limited, **topics)
        try:
            await first.ready()
            await produce(broker, topics["kafka__topics__interactions"], as_logged(cases))
            state = {"model": "openai/judge", "state": "waiting"}

            async def all_wait() -> bool:
                samples = await first.metrics()
                under_way = total(samples, "rag_monitor_interactions_in_flight")
                waiting = total(samples, "rag_monitor_judge_state", **state)
                return (under_way, waiting) == (CASES, 1)

            await until(all_wait, "a limit that all wait for")
        finally:
            await first.end()
        assert judge.log == [], "whoever was here before may have had the one of this minute"
        second = MonitorProcess("score", broker, tmp_path, "second", **asking(judge), **topics)
        try:
            await second.ready()

            async def all_scored() -> bool:
                return outcomes(await second.metrics()) == {"scored": CASES}

            await until(all_scored, "all scores")
        finally:
            await second.end()
        assert len({entry.conversation for entry in judge.log}) == len(judge.log)
    read = await read_all(broker, topics["kafka__topics__scores"])
    ids = [read_score_record(record.value or b"").interaction_id for record in read]
    assert sorted(ids) == [one.id for one in cases]
