"""The replay through a real broker, scraped over HTTP meanwhile."""

from __future__ import annotations

import asyncio
import tempfile
import time
from itertools import islice
from pathlib import Path

import aiohttp
from prometheus_client import CollectorRegistry

from monitor.control.controls import Controls
from monitor.exporter.exporter import Exporter, Followed
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.front_page import Front
from monitor.exporter.serve.http import HttpServer
from monitor.kafka.connection import Connection
from monitor.runtime.health import Health
from monitor.telemetry import ExporterTelemetry, ProcessTelemetry
from tests.benchmarks.exporting.traffic import DAY, START, aggregators, lines
from tests.servers.kafka_broker import KafkaBroker, missing_kafka
from tests.servers.kafka_topics import Record, create_topic, produce

TOPIC, CONTROL, ALARMS = "rag.scores.v1", "rag.control.v1", "rag.alarms.v1"
PARTITIONS = 4
#: So many scrapes at the least; the first after the replay is one of them.
_SCRAPES = 40


def replay_through_kafka(seed: int, step_s: float, metrics: int) -> None:
    """Write a day of records, start an exporter, and wait until it is ready."""
    missing = missing_kafka()
    if missing:
        print(f"  through Kafka: left out, {missing}")
        return
    with tempfile.TemporaryDirectory() as directory, KafkaBroker(Path(directory)) as broker:
        made = islice(lines(seed, START, step_s, metrics), int(DAY / step_s))
        asyncio.run(_run(broker.bootstrap, made, metrics))


async def _run(bootstrap: str, made: islice[bytes], metrics: int) -> None:
    await create_topic(bootstrap, TOPIC, PARTITIONS, {"retention.ms": "-1"})
    for name in (CONTROL, ALARMS):
        await create_topic(bootstrap, name, 1, {"cleanup.policy": "compact"})
    sent = await produce(
        bootstrap,
        TOPIC,
        (Record(line, partition=i % PARTITIONS) for i, line in enumerate(made)),
    )
    began = time.perf_counter()
    registry, health = CollectorRegistry(), Health(time.monotonic)
    scores, baselines = aggregators(metrics, segments=False)
    exporter = Exporter(
        Connection(bootstrap),
        Followed(TOPIC, lambda _: 0, CONTROL, ALARMS),
        scores,
        baselines,
        ExporterTelemetry(registry),
        health,
        lambda: START + DAY - 1.0,
        controls=Controls(),
        writer="benchmark",
    )
    http = HttpServer(registry, health, ProcessTelemetry(registry, "0"), lambda: Front("0"))
    http.pages.with_part(
        QualityCollector(scores, lambda: START + DAY - 1.0, lambda: exporter.is_ready),
        exporter.still,
    )
    port = await http.start("127.0.0.1", 0)
    running = asyncio.create_task(exporter.run())
    took: list[float] = []
    async with aiohttp.ClientSession() as client:
        ready = began
        while not running.done() and (not exporter.is_ready or len(took) < _SCRAPES):
            ready = ready if exporter.is_ready else time.perf_counter()
            asked = time.perf_counter()
            async with client.get(f"http://127.0.0.1:{port}/metrics") as answer:
                await answer.read()
            took.append(time.perf_counter() - asked)
            await asyncio.sleep(0.1)
    spent = ready - began
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await http.stop()
    took.sort()
    p99 = took[int(0.99 * (len(took) - 1))]
    print(
        f"  {len(sent):9,} records through Kafka, ready after {spent:6.2f} s "
        f"(bar 10  {'ok' if spent <= 10 else 'MISSED'}); {len(took)} scrapes meanwhile "
        f"and after: p99 {p99 * 1e3:.0f} ms (bar 200  {'ok' if p99 <= 0.2 else 'MISSED'})"
    )
