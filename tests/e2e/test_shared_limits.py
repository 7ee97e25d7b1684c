"""Two scorers, one provider, one limit: with Redis and without."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from pathlib import Path
from random import Random

import pytest

from tests.servers.judge_limits import SlidingLimits
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce
from tests.servers.redis_server import HOW_TO_GET_REDIS, RedisServer, missing_redis
from tests.stages.labelled import all_labels, as_logged, case
from tests.stages.process import MonitorProcess, asking, total, until
from tests.stages.topics import MakeTopics
from tests.tools import requires_tool

LIMIT = 60
#: One alone may send a quarter of the limit in ten seconds.
SPAN_S = 30.0


@pytest.mark.parametrize("how", ["redis", "parts"])
async def test_two_scorers_keep_to_one_limit(
    how: str,
    kafka_broker: RunningBroker,
    make_topics: MakeTopics,
    tmp_path: Path,
    redis_server: RedisServer,
) -> None:
    """In 30 seconds, in which two that do not share would exceed it, none is refused anything."""
    requires_tool("redis", missing_redis(), HOW_TO_GET_REDIS)
    lacking = None if importlib.util.find_spec("throttled") else "no throttled-py"
    requires_tool("throttled-py", lacking, "pip install rag-monitor[redis]")
    rng, gate = Random(9), SlidingLimits(LIMIT, 10**9)
    cases = [case(f"s{i:03d}", rng, time.time() - 60, together=True) for i in range(120)]
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=4)
    # What waits for the limit when the span is over is not waited for.
    settings = {"limits__requests_per_minute": LIMIT, "ingest__drain_s": 0.5, **topics}
    if how == "redis":
        settings |= {"limits__redis__url": redis_server.url, "limits__redis__prefix": "e2e"}
    async with JudgeServer(all_labels(cases), gate=gate) as judge:
        scorers = [
            MonitorProcess("score", broker, tmp_path, name, **asking(judge, **settings))
            for name in ("one", "two")
        ]
        try:
            await asyncio.gather(*(scorer.ready() for scorer in scorers))
            await until(lambda: _both_have(scorers), "partitions for both")
            await produce(broker, topics["kafka__topics__interactions"], as_logged(cases))
            await until(lambda: gate.admitted, "the first request")
            began = gate.admitted[0][0]
            await until(lambda: time.monotonic() > began + SPAN_S, "the span")
            pages = [await scorer.metrics() for scorer in scorers]
        finally:
            await asyncio.gather(*(scorer.end() for scorer in scorers))
    assert [at for at in gate.refused if at < began + SPAN_S] == []
    assert 0.35 * LIMIT <= gate.used(began, began + SPAN_S)[0] <= LIMIT
    for page in pages:
        assert total(page, "rag_monitor_limit_used_ratio") > 0
        assert total(page, "rag_monitor_limits_shared") == (how == "redis")


async def _both_have(scorers: list[MonitorProcess]) -> bool:
    """Whether the latest assignment of each is two partitions."""
    found = [
        [e["partitions"] for e in scorer.events() if e.get("event") == "partitions_assigned"]
        for scorer in scorers
    ]
    return all(each and len(each[-1]) == 2 for each in found)
