"""What a scorer and an exporter show all along, looked at from outside."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple

from tests.stages.process import MonitorProcess, Samples, outcomes, total

LOOK_S = 0.5


class Look(NamedTuple):
    """One scrape of the scorer; ``at`` is monotonic, ages are in seconds."""

    at: float
    ended: int
    scored: int
    in_flight: int
    lag: int
    watermark_age_s: float
    state: str
    calls: int
    commits: int

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to judge."""
        return self.in_flight == 0 and self.lag == 0


class Watch:
    """Looks twice a second, until cancelled, and keeps what it saw and what was wrong."""

    def __init__(self, scorer: MonitorProcess, exporter: MonitorProcess) -> None:
        self._scorer, self._exporter = scorer, exporter
        self.looks: list[Look] = []
        self.wrong: list[str] = []

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_S)

    async def look(self) -> Look:
        """Look once."""
        for each in (self._scorer, self._exporter):
            if not each.alive():
                raise RuntimeError(f"ended: {each.log.read_text('utf-8')[-2000:]}")
            status, _ = await each.get("/healthz")
            if status != 200:
                self.wrong.append(f"healthz {status} of {each.log.stem}")
        samples = await self._scorer.metrics()
        found = _read(samples, time.monotonic())
        consumed = total(samples, "rag_monitor_interactions_consumed_total")
        if consumed != found.ended + found.in_flight:
            self.wrong.append(f"consumed {consumed:.0f}: {found.ended} ended, {found.in_flight}")
        self.looks.append(found)
        return found


def _read(samples: Samples, at: float) -> Look:
    ended = outcomes(samples)
    ages = [v for (name, _), v in samples.items() if name == "rag_monitor_watermark_age_seconds"]
    states = [
        dict(labels)["state"]
        for (name, labels), value in samples.items()
        if name == "rag_monitor_judge_state" and value
    ]
    return Look(
        at,
        sum(ended.values()),
        ended.get("scored", 0),
        int(total(samples, "rag_monitor_interactions_in_flight")),
        int(total(samples, "rag_monitor_consumer_lag_records")),
        max(ages, default=0.0),
        states[0] if states else "",
        int(total(samples, "rag_monitor_judge_calls_total")),
        int(total(samples, "rag_monitor_commits_total", result="ok")),
    )


def between(looks: Sequence[Look], begin: float, end: float) -> list[Look]:
    """Those within a span."""
    return [each for each in looks if begin <= each.at <= end]


def longest_stall(looks: Sequence[Look], begin: float, end: float) -> float:
    """The longest time (seconds) without an ending while there was something to judge.

    >>> def at(second, ended): return Look(second, ended, 0, 1, 1, 0.0, "", 0, 0)
    >>> longest_stall([at(1, 5), at(2, 6), at(6, 6), at(7, 7)], 0, 8)
    5
    """
    since, before, longest = begin, -1, 0.0
    for each in between(looks, begin, end):
        longest = max(longest, each.at - since)
        if each.ended > before or each.is_idle:
            before, since = each.ended, each.at
    return longest
