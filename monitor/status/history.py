"""The last minute of scrapes: how fast counters grow, and how gauges went."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from monitor.exporter.serve.scraped import ScrapedPage

KEPT_S: Final = 60.0
RATE_OVER_S: Final = 10.0


class Look(NamedTuple):
    """A scrape, so many seconds after the start."""

    elapsed_s: float
    page: ScrapedPage


class ScrapeHistory:
    """Scrapes in the order of their times; at least one must be added before it is asked."""

    def __init__(self) -> None:
        self._looks: deque[Look] = deque()

    def add(self, look: Look) -> None:
        """Take in a scrape and forget those that are too old."""
        self._looks.append(look)
        while self._looks[0].elapsed_s < look.elapsed_s - KEPT_S:
            self._looks.popleft()

    @property
    def last(self) -> Look:
        """The newest scrape."""
        return self._looks[-1]

    @property
    def has_one(self) -> bool:
        """Whether there is one scrape only, and so no course of anything."""
        return len(self._looks) == 1

    def rate(self, count: Callable[[ScrapedPage], int]) -> float | None:
        """By how much a counter grew in a second, over the last ten; None after one scrape."""
        end = self.last
        begin = next(x for x in self._looks if x.elapsed_s >= end.elapsed_s - RATE_OVER_S)
        passed = end.elapsed_s - begin.elapsed_s
        return (count(end.page) - count(begin.page)) / passed if passed > 0 else None

    def course(self, metric: str, window: str, steps: int) -> list[tuple[float, float | None]]:
        """The last minute in equal steps: when each ends, and the gauge's last value in it."""
        step, now = KEPT_S / steps, self.last.elapsed_s
        found: dict[int, float | None] = {}
        for elapsed_s, page in self._looks:
            gauge = page.gauges.get((metric, window))
            found[int((now - elapsed_s) / step)] = gauge.value if gauge else None
        return [(now - age * step, found.get(age)) for age in range(steps - 1, -1, -1)]
