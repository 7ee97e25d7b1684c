"""Watching the demo's monitor from outside: its metrics page, and its topic of alarms."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Final

import aiohttp

from monitor.app.process import Monitor
from monitor.demo.chronicle import Chronicle
from monitor.exporter.serve.scrape import scrape
from monitor.exporter.serve.scraped import ScrapedPage
from monitor.kafka.reader import TopicReader, group_offsets
from monitor.records.alarm import read_alarm_record
from monitor.runtime.health import Health

LOOK_EVERY_S: Final = 0.5
#: So long nothing may end, or be read, before what is left is given up.
SETTLE_LIMIT_S: Final = 60.0
#: A judge that is away fails one interaction after another: that is no progress for ever.
MOST_SETTLING_S: Final = 180.0
#: Outcomes of picks: each leaves a score record.
PICKED: Final = ("scored", "unscorable", "judge_failed", "over_budget")


class DemoWatch:
    """What a user could see too, told to the chronicle; ``began`` is monotonic."""

    def __init__(self, monitor: Monitor, chronicle: Chronicle, began: float) -> None:
        self._monitor, self._chronicle, self._began = monitor, chronicle, began
        self.first_gauge_s: float | None = None

    @property
    def url(self) -> str:
        """Where the metrics are, without the path."""
        return f"http://127.0.0.1:{self._monitor.port}"

    async def page(self) -> ScrapedPage | None:
        """A scrape of our own /metrics, as Prometheus would do it; None while there is none."""
        if not self._monitor.port:
            return None
        with suppress(aiohttp.ClientError):
            page = await scrape(f"{self.url}/metrics")
            self._chronicle.look(page, self._monitor.shared.clock())
            if self.first_gauge_s is None and any(g.samples >= 5 for g in page.gauges.values()):
                self.first_gauge_s = round(time.monotonic() - self._began, 1)
            return page
        return None

    async def first_page(self) -> ScrapedPage:
        """Wait until metrics are served."""
        while True:
            if (page := await self.page()) is not None:
                return page
            await asyncio.sleep(LOOK_EVERY_S / 5)

    async def settled(self, acknowledged: int) -> ScrapedPage:
        """The page once every interaction has ended and every score record was read."""
        seen, deadline = (0, 0), time.monotonic() + SETTLE_LIMIT_S
        latest = time.monotonic() + MOST_SETTLING_S
        while True:
            page = await self.page()
            if page is not None:
                now = sum(page.outcomes.values()), page.records_read
                if now != seen:  # a slow judge or machine gets the time that it takes
                    seen, deadline = now, min(latest, time.monotonic() + SETTLE_LIMIT_S)
                ended = now[0] >= acknowledged
                if (ended and _all_read(page)) or time.monotonic() > deadline:
                    return page
            await asyncio.sleep(LOOK_EVERY_S / 2)

    async def follow_alarms(self) -> None:
        """Tell the chronicle of every record of the alarms topic, until cancelled."""
        topic = self._monitor.shared.settings.kafka.topics.alarms
        health = Health(time.monotonic)  # whether we look on changes nothing in the monitor's
        reader = await TopicReader.start(self._monitor.shared.output, topic, health, start_ms=0)
        try:
            async for records in reader.batches():
                for each in records:
                    record = read_alarm_record(each.key, each.value)
                    if record is not None:
                        self._chronicle.apply(record)
        finally:
            await reader.stop()

    async def end_offset(self, topic: str) -> int:
        """How many records the topic has, over its partitions."""
        shared = self._monitor.shared
        group = shared.settings.kafka.group_id
        found = await group_offsets(shared.connection, group, [topic], shared.health)
        return sum(end for _, end in found.values())


def _all_read(page: ScrapedPage) -> bool:
    """Whether the exporter has read the score record of every pick."""
    picks = sum(n for (outcome, _), n in page.outcomes.items() if outcome in PICKED)
    return page.records_read >= picks
