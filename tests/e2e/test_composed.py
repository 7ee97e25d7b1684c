"""The topology of ``deploy/compose.yaml`` from its own files: traffic, gauges, and an alert."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.parse
import urllib.request
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.servers.alert_stack import HOW_TO_GET_PROMETHEUS, missing_stack
from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, missing_kafka
from tests.servers.kafka_topics import Record, produce
from tests.servers.redis_server import HOW_TO_GET_REDIS, missing_redis
from tests.stages.composed import Composed
from tests.stages.process import until
from tests.tools import requires_tool

#: A test has less patience than the file.
HASTE = {
    "scrape_interval: 15s": "scrape_interval: 1s",
    "evaluation_interval: 15s": "evaluation_interval: 1s",
    " for: 5m\n": " for: 2s\n",
}


def asked(address: str, path: str, **query: str) -> Any:
    """The JSON that a server answers with."""
    url = f"http://{address}{path}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


async def test_traffic_becomes_gauges_and_an_alert(tmp_path: Path) -> None:
    """Both targets are scraped, made-up traffic is scored and seen in Prometheus; a record of a
    newer version makes the exporter say so, by an alert that Alertmanager has for its ticket."""
    requires_tool("prometheus", missing_stack(), HOW_TO_GET_PROMETHEUS)
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    requires_tool("redis", missing_redis(), HOW_TO_GET_REDIS)
    stack = Composed(tmp_path, HASTE)
    await asyncio.to_thread(stack.start)
    try:
        prometheus = stack.address("prometheus", 9090)

        async def value(query: str) -> float | None:
            try:
                found = await asyncio.to_thread(asked, prometheus, "/api/v1/query", query=query)
            except urllib.error.HTTPError as error:  # it listens before it is ready
                if error.code == HTTPStatus.SERVICE_UNAVAILABLE:
                    return None
                raise
            result = found["data"]["result"]
            return float(result[0]["value"][1]) if result else None

        async def scored() -> bool:
            n = await value('max(rag_score_samples{metric="faithfulness",window="5m"})')
            return n is not None and n > 20

        async def scraped() -> bool:
            return await value('sum(up{job="rag-monitor"})') == 2

        await until(scored, "scores in Prometheus")
        await until(scraped, "both targets")
        assert 0.5 < (await value('rag_score{metric="faithfulness",window="5m"}') or 0) <= 1
        newer = json.dumps({"schema": "rag.score/2"}).encode()
        await produce(stack.address("kafka", 9094), "rag.scores.v1", [Record(newer, b"k")])

        async def told() -> list[Any]:
            alerts = await asyncio.to_thread(
                asked, stack.address("alertmanager", 9093), "/api/v2/alerts"
            )
            return [each for each in alerts if each["labels"].get("cause") == "newer_schema"]

        (alert,) = await until(told, "the alert")
        assert alert["labels"]["alertname"] == "RagMonitorDown"
        assert alert["receivers"] == [{"name": "ticket"}]
    finally:
        await asyncio.to_thread(stack.stop)
