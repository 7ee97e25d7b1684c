"""Ten clients scrape a page of 20 applications × 20 segments: for how long is the loop not free?

In one run: as it was before (each request makes its page, on the event loop, and nothing is
compressed), and as it is. The clients are a process of their own, which also asks for /healthz.

    python -m tests.benchmarks.scrapes [--seed 1] [--records 8000] [--clients 10] [--rounds 3]

The clock moves by a minute before each round, so that every window has to be added up anew.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

import aiohttp
from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest

from monitor.app.scores import aggregators
from monitor.config import Settings
from monitor.exporter.serve.collector import QualityCollector
from monitor.exporter.serve.front_page import Front
from monitor.exporter.serve.http import HttpServer
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import JudgeIdentity, Outcome, SamplingRecord, ScoreRecord, Source
from monitor.runtime.health import Health
from monitor.telemetry import ProcessTelemetry
from tests.benchmarks._sizes import parser

NAMES: Final = 20
START: Final = 1_795_176_000 + 80_000
WINDOW_S: Final = 1_500
GAP_BAR_S: Final = 0.1
HEALTH_BAR_S: Final = 1.0
#: The loop is asked so often whether it has a turn.
LOOK_S: Final = 0.002
JUDGE: Final = JudgeIdentity(name="llm", version="1", model="m", prompts="p", pipeline="joint")


class Scene:
    """A full book behind a page; ``now`` is its clock."""

    def __init__(self, seed: int, records: int) -> None:
        self._rng, self._number = random.Random(seed), 0
        self.now = float(START)
        self.aggregator = aggregators(
            Settings.model_validate({"export": {"segment": "tenant"}})
        ).scores
        self.registry = CollectorRegistry()
        self.collector = QualityCollector(self.aggregator, lambda: self.now, lambda: True)
        self.registry.register(self.collector)
        self.aggregator.advance(self.now)
        self.add(records, WINDOW_S)
        generate_latest(self.registry)
        gc.collect()
        gc.freeze()  # as the exporter does once it is ready

    def add(self, records: int, within_s: float) -> None:
        """Records of the last seconds."""
        for record in self._records(records, within_s):
            self.aggregator.add(record, record.to_json())

    def _records(self, number: int, within_s: float) -> Iterator[ScoreRecord]:
        rng = self._rng
        for _ in range(number):
            self._number += 1
            at = datetime.fromtimestamp(self.now - rng.random() * within_s, UTC)
            yield ScoreRecord(
                application=f"app-{rng.randrange(NAMES)}",
                interaction_id=str(self._number),
                event_time=at,
                judged_at=at,
                source=Source(topic="t", partition=0, offset=self._number),
                judge=JUDGE,
                sampling=SamplingRecord(
                    first_offset=self._number, last_offset=self._number, kind="with_reference"
                ),
                segment=f"tenant-{rng.randrange(NAMES)}",
                scores={name: rng.randint(0, 4) / 4 for name in CATALOGUE},
                outcome=Outcome.SCORED,
            )


class Gaps:
    """The longest time in which the loop had no turn for anybody else, in seconds."""

    def __init__(self) -> None:
        self.longest_s = 0.0

    async def watch(self) -> None:
        """Until it is cancelled."""
        while True:
            began = time.perf_counter()
            await asyncio.sleep(LOOK_S)
            self.longest_s = max(self.longest_s, time.perf_counter() - began - LOOK_S)


class Served(NamedTuple):
    """A server: its port, and how it ends."""

    port: int
    stop: Callable[[], Awaitable[None]]


async def before(scene: Scene) -> Served:
    """A page for each request, made on the loop."""

    async def metrics(_request: web.Request) -> web.Response:
        return web.Response(body=generate_latest(scene.registry))

    async def healthz(_request: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/healthz", healthz)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return Served(runner.addresses[0][1], runner.cleanup)


async def after(scene: Scene) -> Served:
    """The server of the monitor."""
    registry, health = CollectorRegistry(), Health(time.monotonic)
    telemetry = ProcessTelemetry(CollectorRegistry(), "0")
    server = HttpServer(registry, health, telemetry, lambda: Front("0"))
    server.pages.with_part(scene.collector, asyncio.Lock())
    return Served(await server.start("127.0.0.1", 0), server.stop)


async def measured(
    name: str, scene: Scene, start: Callable[[Scene], Awaitable[Served]], clients: int, rounds: int
) -> None:
    """Print one line for each round."""
    served = await start(scene)
    for _ in range(rounds):
        scene.now += 60
        scene.add(30, 10)
        gaps = Gaps()
        watching = asyncio.create_task(gaps.watch())
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.benchmarks.scrapes"),
            *("--ask", str(served.port), "--clients", str(clients)),
            stdout=asyncio.subprocess.PIPE,
        )
        told = json.loads((await child.communicate())[0])
        watching.cancel()
        print(
            f"  {name:6}: {told['lines']:6,} lines, {told['bytes'] / 1e6:5.2f} MB each; scrapes "
            f"{told['first_s']:5.2f} to {told['last_s']:5.2f} s; longest gap of the loop "
            f"{gaps.longest_s * 1e3:6.0f} ms {verdict(gaps.longest_s, GAP_BAR_S)}; /healthz "
            f"{told['health_s'] * 1e3:6.0f} ms {verdict(told['health_s'], HEALTH_BAR_S)}"
        )
    await served.stop()


def verdict(value: float, bar: float) -> str:
    """How a figure stands to its bar, in seconds."""
    return f"(bar {bar * 1e3:.0f}  {'ok' if value <= bar else 'MISSED'})"


async def ask(port: int, clients: int) -> dict[str, float]:
    """What the clients of one round see; they all begin at once, and take gzip."""
    url, done = f"http://127.0.0.1:{port}", asyncio.Event()
    async with aiohttp.ClientSession(auto_decompress=False) as session:

        async def scrape() -> tuple[float, int, bytes]:
            began = time.perf_counter()
            async with session.get(f"{url}/metrics") as answer:
                body = await answer.read()
                return time.perf_counter() - began, len(body), body

        async def health() -> float:
            longest = 0.0
            while not done.is_set():
                began = time.perf_counter()
                async with session.get(f"{url}/healthz") as answer:
                    await answer.read()
                longest = max(longest, time.perf_counter() - began)
                await asyncio.sleep(0.01)
            return longest

        checking = asyncio.create_task(health())
        found = await asyncio.gather(*(scrape() for _ in range(clients)))
        done.set()
        async with session.get(f"{url}/metrics", headers={"Accept-Encoding": "identity"}) as plain:
            lines = (await plain.read()).count(b"\n")
        return {
            "lines": lines,
            "bytes": found[0][1],
            "first_s": min(found)[0],
            "last_s": max(found)[0],
            "health_s": await checking,
        }


def _line() -> argparse.ArgumentParser:
    line = parser(__doc__)
    line.add_argument("--seed", type=int, default=1)
    line.add_argument("--records", type=int, default=8_000)
    line.add_argument("--clients", type=int, default=10)
    line.add_argument("--rounds", type=int, default=3)
    line.add_argument("--ask", type=int, help=argparse.SUPPRESS)
    return line


async def main() -> None:
    """Print both."""
    chosen = _line().parse_args()
    if chosen.ask:
        print(json.dumps(await ask(chosen.ask, chosen.clients)))
        return
    scene = Scene(chosen.seed, chosen.records)
    print(f"{chosen.clients} clients at once, {NAMES} applications × {NAMES} segments")
    await measured("before", scene, before, chosen.clients, chosen.rounds)
    await measured("after", scene, after, chosen.clients, chosen.rounds)


if __name__ == "__main__":
    asyncio.run(main())
