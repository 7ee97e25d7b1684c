"""Scrapes while baselines are learned, set and reset: how long does the longest one wait?

Over HTTP, from another thread, every 50 ms, of an exporter's page without Kafka behind it.
"""

from __future__ import annotations

import asyncio
import gc
import http.client
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from prometheus_client import CollectorRegistry

from monitor.control import BaselineRecord
from monitor.export.baselines import Baselines
from monitor.export.book import ScoreBook
from monitor.export.collector import QualityCollector
from monitor.export.front import Front
from monitor.export.holding import Holding
from monitor.export.http import HttpServer
from monitor.export.steps import in_turns
from monitor.health import Health
from monitor.records import read_score_record
from monitor.telemetry import ProcessTelemetry
from tests.benchmarks.exporting.traffic import DAY, START, books, lines

BAR_MS: Final = 500.0
EVERY_S: Final = 0.05
#: Records that come while baselines hold.
FEW: Final = 100


class Scraper:
    """A thread that scrapes until it is told to end."""

    def __init__(self, port: int) -> None:
        self._port, self._ended = port, threading.Event()
        self.took: list[float] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(EVERY_S):
            began = time.perf_counter()
            client = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            client.request("GET", "/metrics")
            client.getresponse().read()
            client.close()
            self.took.append(time.perf_counter() - began)

    def latest(self) -> list[float]:
        """Seconds of the scrapes since the last look, in their order."""
        took, self.took = self.took, []
        return sorted(took)

    def end(self) -> None:
        """No more scrapes."""
        self._ended.set()


class Stage:
    """An exporter's book, baselines and page."""

    def __init__(self, seed: int, records: int, metrics: int) -> None:
        self.now = START + 2 * DAY - 1.0
        self.book: ScoreBook
        self.baselines: Baselines
        self.book, self.baselines = books(metrics, segments=False, fixed=False)
        self.book.advance(self.now)
        self._traffic = lines(seed, START, 2 * DAY / records, metrics)
        self.read(records - FEW)
        gc.collect()
        gc.freeze()  # as the exporter does once it is ready
        self.holding = Holding(self.baselines, lambda: self.now, lambda: None)
        registry = CollectorRegistry()
        registry.register(QualityCollector(self.book, lambda: self.now, lambda: True))
        health = Health(time.monotonic)
        self.http = HttpServer(
            registry, health, ProcessTelemetry(registry, "0"), lambda: Front("0")
        )

    def read(self, count: int) -> None:
        """Take in so many records."""
        for line in islice(self._traffic, count):
            self.book.add(read_score_record(line), line)

    async def learn(self) -> None:
        """Whatever has no baseline learns one, which then holds."""
        steps = self.baselines.learned_in_steps(self.book.pupils, self.now)
        for found in await in_turns(steps):
            await self.hold(found.key, found.to_json())

    async def set(self) -> None:
        """A person sets every baseline a little better."""
        for key, record in list(self.baselines.records().items()):
            metrics = {
                name: metric.model_copy(update={"mean": 0.99 * metric.mean})
                for name, metric in record.metrics.items()
            }
            await self.hold(key, record.model_copy(update={"metrics": metrics}).to_json())

    async def reset(self) -> None:
        """A person resets every baseline: all is to be learned anew, from now on."""
        self.read(FEW)  # of what came while there were baselines nothing is kept for learning
        update = {"metrics": {}, "effective_from": datetime.fromtimestamp(self.now, UTC)}
        for key, record in list(self.baselines.records().items()):
            empty: BaselineRecord = record.model_copy(update=update)
            await self.hold(key, empty.to_json())
        await in_turns(self.baselines.learned_in_steps(self.book.pupils, self.now))

    async def hold(self, key: str, line: bytes) -> None:
        """A record has come from the control topic; wait until it holds."""
        self.holding.take_in(key.encode(), line, at_once=False)
        while not self.holding.is_done:  # noqa: ASYNC110 - a benchmark may ask again
            await asyncio.sleep(0.01)


def serve(seed: int, records: int, metrics: int) -> None:
    """Print the longest scrape of each part."""
    asyncio.run(_serve(Stage(seed, records, metrics), records))


async def _serve(stage: Stage, records: int) -> None:
    port = await stage.http.start("127.0.0.1", 0)
    running = asyncio.create_task(stage.holding.run())
    scraper = Scraper(port)

    async def nothing() -> None:
        await asyncio.sleep(2)

    parts: dict[str, Callable[[], Awaitable[None]]] = {
        "first pages": nothing,
        "nothing": nothing,
        "learned": stage.learn,
        "set": stage.set,
        "reset": stage.reset,
    }
    for name, part in parts.items():
        scraper.latest()
        began = time.perf_counter()
        await part()
        spent = time.perf_counter() - began
        await asyncio.sleep(1)  # the first page with what holds now is of the part, too
        took = scraper.latest()
        bar = "" if name == "first pages" else _verdict(took[-1] * 1e3)
        print(
            f"  {records:9,} records, {name:11}: {spent:6.2f} s, {len(took):4} scrapes, median "
            f"{took[len(took) // 2] * 1e3:5.0f} ms, longest {took[-1] * 1e3:5.0f} ms  {bar}"
        )
    scraper.end()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await stage.http.stop()


def _verdict(longest_ms: float) -> str:
    return f"bar {BAR_MS:g}  {'ok' if longest_ms <= BAR_MS else 'MISSED'}"
