"""Every record is sent three times, through a real broker: the judge is asked as for once."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from monitor.records import read_score_record
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce, read_all
from tests.stages.hurried import MODULE, hurried
from tests.stages.labelled import all_labels, as_logged, case
from tests.stages.process import MonitorProcess, asking, outcomes, total, until
from tests.stages.topics import MakeTopics

COUNT = 24


@pytest.mark.parametrize("block", [1, 8])
async def test_what_is_sent_three_times_costs_what_once_does(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, block: int
) -> None:
    """No question is asked twice, and the score records stand for every interaction once."""
    rng = Random(11)
    cases = [case(f"c{number:03d}", rng, time.time() - 60) for number in range(COUNT)]
    broker, topics = kafka_broker.bootstrap, await make_topics(1)
    async with JudgeServer(all_labels(cases)) as judge:
        # In minutes of a second: blocks that are not full would wait for one.
        with hurried(60.0):
            settings = asking(judge, sampling__block=block, **topics)
            module = MODULE if block > 1 else "monitor"
            scorer = MonitorProcess("score", broker, tmp_path, "scorer", module=module, **settings)
        try:
            await scorer.ready()
            # Next to each other, and once more after all the others.
            twice = [one for one in cases for _ in range(2)]
            sent = as_logged([*twice, *cases])
            await produce(broker, topics["kafka__topics__interactions"], sent)

            async def ended() -> bool:
                return sum(outcomes(await scorer.metrics()).values()) == 3 * COUNT

            await until(ended, "all outcomes")
            samples = await scorer.metrics()
        finally:
            await scorer.end()
        asked = [(entry.conversation, entry.refused) for entry in judge.log]
    read = await read_all(broker, topics["kafka__topics__scores"])
    records = [read_score_record(one.value or b"") for one in read]
    name = "rag_monitor_interactions_total"
    assert total(samples, name, outcome="not_sampled", reason="duplicate") == 2 * COUNT
    assert total(samples, name, outcome="scored") == len(records)
    assert sum(one.sampling.m or 0 for one in records) == COUNT
    assert (len(records) == COUNT) == (block == 1)
    assert all(refused is None for _, refused in asked)
    assert len(asked) == len(set(asked)) >= 2 * len(records)
