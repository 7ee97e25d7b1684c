"""``rag-monitor demo``: broker, made-up traffic, scorer and exporter in one process."""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from monitor.app.process import Monitor
from monitor.demo.audits import demo_pages, pages_served
from monitor.demo.broker import EmbeddedBroker
from monitor.demo.chronicle import Chronicle, Event
from monitor.demo.generator import Generator
from monitor.demo.options import DemoOptions, demo_settings, number_flags
from monitor.demo.report import DemoRun, report
from monitor.demo.schedule import Schedule, TrafficPace
from monitor.demo.show import say, say_anything, show
from monitor.demo.stack.inbox import Inbox
from monitor.demo.stack.lifetime import beside, prepared
from monitor.demo.stack.notification import Notification
from monitor.demo.stack.stack import DEPLOY, Shipped
from monitor.demo.traffic import DemoTraffic
from monitor.demo.view import OFFLINE, View
from monitor.demo.watch import DemoWatch
from monitor.kafka.producer import Producer
from monitor.rules.render import rendered
from monitor.runtime import logs
from monitor.runtime.shutdown import stop_on_signals


async def run_demo(options: DemoOptions, environ: Mapping[str, str], began: float) -> None:
    """Run until ``run_for`` or a signal; the last line on stdout is one JSON object.

    On a terminal its eight kilobytes would push away what was shown: there only if it is asked for.
    ``began`` is the monotonic time at which the program started.
    """
    say_anything()
    stop = asyncio.Event()
    stop_on_signals(stop)
    shipped = prepared(options.deploy or DEPLOY) if options.stack else None
    async with (
        running(options, environ, began) as demo,
        stacked(demo, shipped),
        asyncio.TaskGroup() as group,
    ):
        showing = group.create_task(demo.show(stop))
        summary = await demo.feed(stop)
        showing.cancel()
    for event in demo.events():
        say(event.line())
    if options.json or not sys.stdout.isatty():
        say(json.dumps(summary, ensure_ascii=False))


@asynccontextmanager
async def running(
    options: DemoOptions, environ: Mapping[str, str], began: float
) -> AsyncIterator[Demo]:
    """A demo whose monitor runs; on leaving it is stopped."""
    quiet = sys.stderr.isatty()  # the live picture owns the terminal
    settings = demo_settings(options, environ, "127.0.0.1:1", quiet=quiet)  # bad options first
    logs.configure(settings.log.level, settings.log.format)
    broker = EmbeddedBroker()
    pages = demo_pages()
    settings = demo_settings(
        options,
        environ,
        broker.bootstrap_servers,
        quiet=quiet,
        pages_url=None if pages is None else pages.url,
    )
    broker.create_topics(settings.kafka.topics.model_dump().values())
    over, demo = asyncio.Event(), Demo(options, Monitor(settings), began)
    needed = "none without pip install 'rag-monitor[audit]'"
    demo.links["pages"] = needed if pages is None else pages.shown
    async with (
        pages_served(pages, broker.bootstrap_servers, number_flags(options)),
        asyncio.TaskGroup() as group,
    ):
        roles = group.create_task(demo.monitor.run(["score", "export"], over))
        alarms = group.create_task(demo.watch.follow_alarms())
        yield demo
        alarms.cancel()
        over.set()
        await asyncio.wait({roles})


@asynccontextmanager
async def stacked(demo: Demo, shipped: Shipped | None) -> AsyncIterator[None]:
    """What is shipped runs beside the demo; without it nothing does."""
    if shipped is None:
        yield
        return
    await demo.watch.first_page()
    target = demo.watch.url.removeprefix("http://")
    async with beside(shipped, rendered(demo.monitor.shared.settings), target, demo.hear) as stack:
        demo.links |= {
            "prometheus": stack.prometheus.url,
            "alertmanager": stack.alertmanager.url,
            "kafka": demo.monitor.shared.settings.kafka.bootstrap_servers,
        }
        yield


class Demo:
    """A running demo: traffic in, pictures and the summary out."""

    def __init__(self, options: DemoOptions, monitor: Monitor, began: float) -> None:
        self._options, self.monitor = options, monitor
        self._began_at = time.time() - (time.monotonic() - began)
        self.schedule = Schedule(math.ceil(time.time()), options.incident_at, options.incident_for)
        self.pace = TrafficPace(options.rate, options.run_for)
        self.chronicle = Chronicle(self.schedule.start)
        self.watch = DemoWatch(monitor, self.chronicle, began)
        self.inbox = Inbox()
        #: Other addresses to show, by name.
        self.links: dict[str, str] = {}

    def hear(self, notification: Notification) -> None:
        """Take in what Alertmanager has sent."""
        self.inbox.hear(notification, self.chronicle.seconds(self.monitor.shared.clock()))

    def events(self) -> list[Event]:
        """What has happened and what has arrived, in the order of their times."""
        return sorted([*self.chronicle.events(), *self.inbox.events()])

    async def feed(self, stop: asyncio.Event) -> dict[str, Any]:
        """Send the traffic, wait until all of it has ended, and sum up."""
        options, start = self._options, self.schedule.start
        end = math.inf if options.run_for is None else start + math.ceil(options.run_for)
        topic = self.monitor.shared.settings.kafka.topics.interactions[0]
        await self.watch.first_page()  # a taken port ends the demo before anything is begun
        producer = await Producer.start(self.monitor.shared.connection, self.monitor.shared.health)
        try:
            traffic = DemoTraffic(options.seed, self.schedule.mix_at)
            generator = Generator(
                producer, topic, traffic, rate=options.rate, clock=self.monitor.shared.clock
            )
            await generator.run(start, end, stop)
        finally:
            await producer.stop()
        self.pace.sent = generator.acknowledged
        page = await self.watch.settled(generator.acknowledged)
        run = DemoRun(
            self.schedule.phases(int(min(end, math.ceil(self.monitor.shared.clock())))),
            acknowledged=generator.acknowledged,
            end_offset=await self.watch.end_offset(topic),
            first_gauge_s=self.watch.first_gauge_s,
            traffic_began_s=round(start - self._began_at, 1),
        )
        return report(
            page, self.monitor.aggregators.scores, self.chronicle, run, self.inbox.summary()
        )

    def view(self) -> View:
        """An empty picture of this demo."""
        return View(
            self.schedule,
            self.pace,
            self.monitor.shared.settings.export.windows,
            self.chronicle,
            self.monitor.shared.settings.drift.metrics,
            url=self.watch.url,
            judge=OFFLINE if self._options.judge == "offline" else f"{self._options.model}",
            links=self.links,
            inbox=self.inbox if self._options.stack else None,
        )

    async def show(self, stop: asyncio.Event) -> None:
        """Show gauges until cancelled; when nobody reads them any more, ``stop`` is set."""
        first, clock = await self.watch.first_page(), self.monitor.shared.clock
        view = self.view()
        view.look(first, clock())
        await show(view, self.watch, self.events, clock, stop)
