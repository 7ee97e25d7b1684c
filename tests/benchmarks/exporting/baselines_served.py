"""Scrapes while baselines are learned, set, reset and deleted: how long does the longest one wait?

Over HTTP, from another process, every 50 ms, of an exporter's page without Kafka behind it; and the
longest step on the loop, in seconds and in CPU seconds of its thread: the machine may be shared.
"""

from __future__ import annotations

import asyncio
import gc
import http.client
import multiprocessing
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from datetime import UTC, datetime
from itertools import islice
from multiprocessing.connection import Connection
from typing import Final, TypeVarTuple, Unpack

from prometheus_client import CollectorRegistry

from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.holding import Holding
from monitor.exporter.exporter import TURN_S
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.steps import in_turns, one_turn
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.front_page import Front
from monitor.exporter.serve.http import HttpServer
from monitor.records import read_score_record
from monitor.records.control import BaselineRecord, read_control_record
from monitor.runtime.health import Health
from monitor.telemetry import ProcessTelemetry
from tests.benchmarks.exporting.traffic import DAY, START, aggregators, lines

BAR_MS: Final = 500.0
STEP_BAR_MS: Final = 50.0
EVERY_S: Final = 0.05
#: Records that come while baselines hold.
FEW: Final = 2_000


Ts = TypeVarTuple("Ts")


class TimedLoop(asyncio.SelectorEventLoop):
    """An event loop that knows its longest step: seconds, and CPU seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.longest, self.longest_cpu = 0.0, 0.0

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """The loop's own."""
        return super().call_soon(self._timed, callback, *args, context=context)

    def _timed(self, callback: Callable[[Unpack[Ts]], object], *args: *Ts) -> None:
        began, began_cpu = time.perf_counter(), time.thread_time()
        try:
            callback(*args)
        finally:
            self.longest = max(self.longest, time.perf_counter() - began)
            self.longest_cpu = max(self.longest_cpu, time.thread_time() - began_cpu)

    def latest(self) -> tuple[float, float]:
        """The longest since the last look."""
        found = self.longest, self.longest_cpu
        self.longest = self.longest_cpu = 0.0
        return found


class Scraper:
    """A process that scrapes until it is told to end: in ours it would wait for our interpreter."""

    def __init__(self, port: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._took, told = context.Pipe(duplex=False)
        self._process = context.Process(target=_scrape, args=(port, told), daemon=True)
        self._process.start()
        told.close()

    def latest(self) -> list[float]:
        """Seconds of the scrapes since the last look, sorted."""
        took = []
        while self._took.poll():
            took.append(self._took.recv())
        return sorted(took)

    def end(self) -> None:
        """No more scrapes."""
        self._process.terminate()
        self._process.join()


def _scrape(port: int, told: Connection) -> None:
    while True:
        time.sleep(EVERY_S)
        began = time.perf_counter()
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        client.request("GET", "/metrics")
        client.getresponse().read()
        client.close()
        told.send(time.perf_counter() - began)


class Stage:
    """An exporter's book, baselines and page."""

    def __init__(self, seed: int, records: int, metrics: int) -> None:
        self.now = START + 2 * DAY - 1.0
        self.aggregator: ScoreAggregator
        self.baselines: Baselines
        self.aggregator, self.baselines = aggregators(metrics, segments=False, fixed=False)
        self.aggregator.advance(self.now)
        traffic = lines(seed, START, 2 * DAY / records, metrics)
        for line in islice(traffic, records - FEW):
            self.take(line)
        self._few = list(islice(traffic, FEW))
        gc.collect()
        gc.freeze()  # as the exporter does once it is ready
        self.holding = Holding(self.baselines, lambda: self.now, lambda: None)
        registry = CollectorRegistry()
        health = Health(time.monotonic)
        self.http = HttpServer(
            registry, health, ProcessTelemetry(registry, "0"), lambda: Front("0")
        )
        self.still = asyncio.Lock()
        self.http.pages.with_part(
            QualityCollector(self.aggregator, lambda: self.now, lambda: True), self.still
        )

    def take(self, line: bytes) -> None:
        """Take in a record."""
        self.aggregator.add(read_score_record(line), line)

    async def come(self) -> None:
        """Records, of which little is kept for learning now: in turns as long as the exporter's."""
        self.aggregator.advance(self.now)
        now, self._few = self._few[: FEW // 2], self._few[FEW // 2 :]
        left = iter(now)
        taken = 0
        while taken < len(now):
            async with self.still:
                for line in one_turn(left, TURN_S):
                    self.take(line)
                    taken += 1
            await asyncio.sleep(0)

    async def learn(self) -> None:
        """Whatever has no baseline learns one, which then holds."""
        steps = self.baselines.learned_in_steps(self.aggregator.training_slots, self.now)
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
        await self._reset(self.now)

    async def reset_long_ago(self) -> None:
        """The same from a day ago on: of that time nothing was kept for learning."""
        await self._reset(self.now - DAY)

    async def _reset(self, since: float) -> None:
        update = {"metrics": {}, "effective_from": datetime.fromtimestamp(since, UTC)}
        for key, record in list(self.baselines.records().items()):
            empty: BaselineRecord = record.model_copy(update=update)
            await self.hold(key, empty.to_json())
        await in_turns(self.baselines.learned_in_steps(self.aggregator.training_slots, self.now))

    async def delete(self) -> None:
        """A person deletes every baseline: all is to be learned anew, from everything."""
        for key in list(self.baselines.records()):
            await self.hold(key, None)
        await in_turns(self.baselines.learned_in_steps(self.aggregator.training_slots, self.now))

    async def hold(self, key: str, line: bytes | None) -> None:
        """A record has come from the control topic; wait until it holds."""
        self.holding.apply(read_control_record(key.encode(), line), at_once=False)
        while not self.holding.is_done:  # noqa: ASYNC110 - a benchmark may ask again
            await asyncio.sleep(0.01)


def serve(seed: int, records: int, metrics: int) -> None:
    """Print the longest scrape of each part."""
    loop = TimedLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(_serve(loop, Stage(seed, records, metrics), records))


async def _serve(loop: TimedLoop, stage: Stage, records: int) -> None:
    port = await stage.http.start("127.0.0.1", 0)
    running = asyncio.create_task(stage.holding.run())
    scraper = Scraper(port)

    async def nothing() -> None:
        await asyncio.sleep(2)

    parts: dict[str, Callable[[], Awaitable[None]]] = {
        "first pages": nothing,
        "nothing": nothing,
        "learned": stage.learn,
        "records come": stage.come,
        "set": stage.set,
        "reset": stage.reset,
        "reset long ago": stage.reset_long_ago,
        "learned again": stage.learn,
        "others come": stage.come,
        "deleted": stage.delete,
    }
    for name, part in parts.items():
        scraper.latest()
        loop.latest()
        began = time.perf_counter()
        await part()
        spent = time.perf_counter() - began
        await asyncio.sleep(1)  # the first page with what holds now is of the part, too
        took = scraper.latest()
        step, step_cpu = loop.latest()
        is_first = name == "first pages"
        print(
            f"  {records:9,} records, {name:14}: {spent:6.2f} s, {len(took):4} scrapes, median "
            f"{took[len(took) // 2] * 1e3:5.0f} ms, longest {took[-1] * 1e3:5.0f} ms  "
            f"{'' if is_first else _verdict(took[-1] * 1e3, BAR_MS)}\n"
            f"{'':35} longest step {step * 1e3:5.0f} ms, {step_cpu * 1e3:5.0f} ms CPU  "
            f"{'' if is_first else _verdict(step_cpu * 1e3, STEP_BAR_MS)}",
            flush=True,
        )
    scraper.end()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await stage.http.stop()


def _verdict(found_ms: float, bar_ms: float) -> str:
    return f"bar {bar_ms:g}  {'ok' if found_ms <= bar_ms else 'MISSED'}"
