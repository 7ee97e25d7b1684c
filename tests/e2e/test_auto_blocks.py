"""``sampling.block: auto`` with a judge over HTTP: the limits set the length, the rest is a slot's.

The blocks' minute takes five seconds; with the times as they are, a provider that refuses what is
above its limit, and two scorers, it is ``tests/benchmarks/auto_blocks.py``.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from random import Random

import pytest

from monitor.records import read_score_record
from monitor.sampling.pace import HEADROOM
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce, read_all
from tests.stages.hurried import MODULE, hurried
from tests.stages.labelled import Case, all_labels, as_logged, case
from tests.stages.process import MonitorProcess, asking, outcomes, total, until
from tests.stages.topics import MakeTopics

TIMES = 12.0
#: In one of the faster minutes: for some 25 judgements.
REQUESTS = 60
AT_ONCE, EVERY_S = 20, 0.5


class Feeder:
    """Forty a second, until it is told that it is enough."""

    def __init__(self, broker: str, topic: str, cases: list[Case]) -> None:
        self._broker, self._topic, self._cases = broker, topic, cases
        self.fed = 0
        self.enough = False

    async def run(self) -> None:
        while not self.enough and self.fed < len(self._cases):
            some = self._cases[self.fed : self.fed + AT_ONCE]
            await produce(self._broker, self._topic, as_logged(some))
            self.fed += len(some)
            await asyncio.sleep(EVERY_S)


async def test_the_limits_set_the_length_and_the_gauges_say_so(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """More than the limit allows: blocks grow, most ends as the slot's, and gauges agree."""
    rng, broker, topics = Random(7), kafka_broker.bootstrap, await make_topics(partitions=2)
    cases = [case(f"a{i:04d}", rng, time.time() - 60) for i in range(4_000)]
    feeder = Feeder(broker, topics["kafka__topics__interactions"], cases)
    async with JudgeServer(all_labels(cases)) as judge:
        settings = asking(
            judge,
            judge__concurrency=64,  # that places are no limit, also on a busy machine
            limits__requests_per_minute=REQUESTS * TIMES,
            sampling__block="auto",
            **topics,
        )
        with hurried(TIMES):
            scorer = MonitorProcess("score", broker, tmp_path, "scorer", module=MODULE, **settings)

        async def fits() -> bool:
            page = await scorer.metrics()
            slots = total(page, "rag_monitor_interactions_total", reason="slot")
            scored = outcomes(page).get("scored", 0)
            # At first those that are being judged have asked, too, and make each look dear.
            return scored >= 100 and slots > 2 * scored

        try:
            await scorer.ready()
            async with asyncio.TaskGroup() as group:
                group.create_task(feeder.run())
                await until(fits, "blocks that fit")
                feeder.enough = True
            page = await scorer.metrics()
        finally:
            await scorer.end()
    read = await read_all(broker, topics["kafka__topics__scores"])
    records = [read_score_record(one.value or b"") for one in read]
    counts = outcomes(page)
    assert set(counts) == {"scored", "not_sampled"}
    assert sum(counts.values()) <= sum(one.sampling.m or 0 for one in records) <= feeder.fed
    block = total(page, "rag_monitor_sampling_block")
    assert block > 1
    assert total(page, "rag_monitor_sampling_share") == 1.0
    latest = sorted(records, key=lambda one: one.judged_at)[-100:]
    calls = sum(one.usage.calls for one in latest) / len(latest)
    affordable = HEADROOM * REQUESTS / calls
    assert total(page, "rag_monitor_judgements_affordable") == pytest.approx(affordable, rel=0.3)
    slots = [one for one in latest if (one.sampling.m or 0) > 1]
    picked = len(slots) / sum(one.sampling.m or 0 for one in slots)
    assert total(page, "rag_monitor_sampling_probability") == pytest.approx(picked, rel=0.5)
