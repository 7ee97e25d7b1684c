"""``rag-monitor demo``: broker, made-up traffic, scorer and exporter in one process."""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import aiohttp
from rich.console import Console
from rich.live import Live

from monitor import logs
from monitor.app import Monitor, stop_on_signals
from monitor.config import Settings, load
from monitor.demo.broker import EmbeddedBroker
from monitor.demo.generator import Generator
from monitor.demo.report import report
from monitor.demo.schedule import Schedule
from monitor.demo.traffic import Traffic
from monitor.demo.view import SCREEN, View
from monitor.export.scrape import Page, scrape
from monitor.kafka.producer import Producer
from monitor.kafka.reader import GroupWatch

DEMO_WINDOWS = "15s,1m,5m"
PLAIN_EVERY_S, LIVE_EVERY_S = 5.0, 0.5
SETTLE_LIMIT_S = 15.0
#: Outcomes of picks: each leaves a score record.
PICKED = ("scored", "unscorable", "judge_failed", "over_budget")


@dataclass(frozen=True)
class DemoOptions:
    """Times in seconds; ``run_for`` None runs until Ctrl-C."""

    run_for: float | None
    incident_at: int
    incident_for: int
    seed: int
    rate: float
    sampling: float
    judge: str
    model: str | None
    port: int


def demo_settings(options: DemoOptions, environ: Mapping[str, str], bootstrap: str) -> Settings:
    """Embedded defaults; of the environment only the sections judge and log count."""
    kept = {
        name: value
        for name, value in environ.items()
        if name.startswith(("RAG_MONITOR_JUDGE__", "RAG_MONITOR_LOG__"))
    }
    flags: dict[str, Any] = {
        "kafka.bootstrap_servers": bootstrap,
        "sampling.rate": options.sampling,
        "judge.kind": options.judge,
        "export.windows": DEMO_WINDOWS,
        "export.segment": "tenant",
        "http.port": options.port,
        "ingest.drain_s": 5,
    }
    if options.model:
        flags["judge.model"] = options.model
    if sys.stderr.isatty() and "RAG_MONITOR_LOG__LEVEL" not in kept:
        flags["log.level"] = "error"  # the live picture owns the terminal
    return load(kept, flags=flags)


async def run_demo(options: DemoOptions, environ: Mapping[str, str], began: float) -> None:
    """Run until ``run_for`` or a signal; the last line on stdout is one JSON object.

    ``began`` is the monotonic time at which the program started.
    """
    settings = demo_settings(options, environ, "127.0.0.1:1")  # refuse bad options first
    logs.configure(settings.log.level, settings.log.format)
    broker = EmbeddedBroker()
    settings = demo_settings(options, environ, broker.bootstrap_servers)
    broker.create_topics(settings.kafka.topics.model_dump().values())
    stop, over = asyncio.Event(), asyncio.Event()
    stop_on_signals(stop)
    demo = Demo(options, Monitor(settings), began)
    async with asyncio.TaskGroup() as group:
        roles = group.create_task(demo.monitor.run(["score", "export"], over))
        show = group.create_task(demo.show(stop))
        summary = await demo.feed(stop)
        show.cancel()
        over.set()
        await asyncio.wait({roles})
    _say(json.dumps(summary, ensure_ascii=False))


class Demo:
    """A running demo: traffic in, pictures and the summary out."""

    def __init__(self, options: DemoOptions, monitor: Monitor, began: float) -> None:
        self._options, self.monitor, self._began = options, monitor, began
        self._schedule = Schedule(math.ceil(time.time()), options.incident_at, options.incident_for)
        self._first_gauge_s: float | None = None

    async def feed(self, stop: asyncio.Event) -> dict[str, Any]:
        """Send the traffic, wait until all of it has ended, and sum up."""
        options, start = self._options, self._schedule.start
        end = math.inf if options.run_for is None else start + math.ceil(options.run_for)
        topic = self.monitor.settings.kafka.topics.interactions[0]
        await self._first_page()  # a taken port ends the demo before anything is begun
        producer = await Producer.start(self.monitor.connection, self.monitor.health)
        try:
            traffic = Traffic(options.seed, self._schedule.mix_at)
            generator = Generator(
                producer, topic, traffic, rate=options.rate, clock=self.monitor.clock
            )
            await generator.run(start, end, stop)
        finally:
            await producer.stop()
        page = await self._settled(generator.acknowledged)
        return report(
            page,
            self.monitor.book,
            self._schedule.phases(int(min(end, math.ceil(self.monitor.clock())))),
            acknowledged=generator.acknowledged,
            end_offset=await self._end_offset(topic),
            first_gauge_s=self._first_gauge_s,
        )

    async def _settled(self, acknowledged: int) -> Page:
        """The page once every interaction has ended and every score record was read."""
        deadline = time.monotonic() + SETTLE_LIMIT_S
        while True:
            page = await self._page()
            if page is not None:
                ended = sum(page.outcomes.values()) >= acknowledged
                if (ended and _all_read(page)) or time.monotonic() > deadline:
                    return page
            await asyncio.sleep(0.2)

    async def _end_offset(self, topic: str) -> int:
        watch = await GroupWatch.start(
            self.monitor.connection,
            self.monitor.settings.kafka.group_id,
            topic,
            self.monitor.health,
        )
        try:
            return sum(end for _, end in (await watch.look()).values())
        finally:
            await watch.stop()

    async def show(self, stop: asyncio.Event) -> None:
        """Show gauges until cancelled; when nobody reads them any more, ``stop`` is set."""
        first = await self._first_page()
        view = View(
            self._schedule,
            self.monitor.settings.export.windows,
            url=f"http://{self.monitor.settings.http.host}:{self.monitor.port}",
            judge=SCREEN if self._options.judge == "offline" else f"{self._options.model}",
        )
        view.look(first, self.monitor.clock())
        console = Console()
        if not sys.stdout.isatty() or console.is_dumb_terminal:
            await self._show_plainly(view, stop)
            return
        # Drawn when there is something new, and by nobody else: a second clock would flicker.
        with Live(view, console=console, auto_refresh=False) as live:
            while True:
                await asyncio.sleep(LIVE_EVERY_S)
                if (page := await self._page()) is not None:
                    view.look(page, self.monitor.clock())
                    live.refresh()

    async def _show_plainly(self, view: View, stop: asyncio.Event) -> None:
        read = _say(view.intro())
        while read:
            for _ in range(int(PLAIN_EVERY_S / LIVE_EVERY_S)):
                await asyncio.sleep(LIVE_EVERY_S)
                if (page := await self._page()) is not None:
                    view.look(page, self.monitor.clock())
            read = _say(view.plain())
        stop.set()

    async def _first_page(self) -> Page:
        while True:
            if (page := await self._page()) is not None:
                return page
            await asyncio.sleep(LIVE_EVERY_S / 5)

    async def _page(self) -> Page | None:
        """A scrape of our own /metrics, as Prometheus would do it."""
        if not self.monitor.port:
            return None
        page: Page | None = None
        with suppress(aiohttp.ClientError):
            page = await scrape(f"http://127.0.0.1:{self.monitor.port}/metrics")
            seen = any(gauge.samples >= 5 for gauge in page.gauges.values())
            if seen and self._first_gauge_s is None:
                self._first_gauge_s = round(time.monotonic() - self._began, 1)
        return page


def _all_read(page: Page) -> bool:
    """Whether the exporter has read the score record of every pick."""
    picks = sum(n for (outcome, _), n in page.outcomes.items() if outcome in PICKED)
    return page.records_read >= picks


def _say(line: str) -> bool:
    """Print a line; False when nobody reads stdout any more."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        # The interpreter flushes once more when it ends, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True
