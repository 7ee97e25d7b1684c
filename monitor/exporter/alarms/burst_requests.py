"""Asks for more judgements while evidence is high: the detectors see sooner what is there.

All that it remembers stands on the control topic, so a restart grants nothing twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from monitor.control.bursts import BurstAllowance, Bursts, granted
from monitor.control.publisher import Outbox
from monitor.exporter.alarms.publisher import STUCK_AFTER_S, every
from monitor.exporter.scores.detectors import DriftDetectors, DriftState
from monitor.records.alarm import alarm_key
from monitor.records.control import BURST_KEY
from monitor.runtime.health import Health
from monitor.runtime.logs import logger

#: Evidence is high above this share of the threshold A; in log10, as both are.
HIGH: Final = -1.0
#: Names of detectors in a record: traffic names applications.
MOST_NAMES: Final = 20


def is_high(state: DriftState) -> bool:
    """Whether R > A/10."""
    return state.evidence is not None and state.evidence > state.threshold + HIGH


class BurstRequester:
    """Looks at the detectors as often as alarms are looked for; ``clock`` gives epoch seconds."""

    def __init__(
        self,
        drift: DriftDetectors,
        outbox: Outbox,
        bursts: Bursts,
        allowed: BurstAllowance,
        health: Health,
        clock: Callable[[], float],
    ) -> None:
        self._drift, self._outbox, self._bursts = drift, outbox, bursts
        self._allowed, self._health, self._clock = allowed, health, clock
        self._every_s = every(drift.settings.settle_s)
        self._reported: object = None

    async def run(self, is_ready: Callable[[], bool]) -> None:
        """Look for ever, once all has been replayed: before, nobody knows what was granted."""
        try:
            while True:
                await asyncio.sleep(self._every_s - self._clock() % self._every_s)
                self._health.beat("burst_requests", limit_s=STUCK_AFTER_S)
                if is_ready():
                    await self.look(self._clock())
        finally:
            self._health.finished("burst_requests")

    async def look(self, now: float) -> None:
        """Grant what is asked for at ``now``, as far as the allowance goes."""
        high = list[str]()
        for state in self._drift.states(now):
            if is_high(state):
                high.append(alarm_key(*state.key))
            await asyncio.sleep(0)
        if not high or self._outbox.is_under_way(BURST_KEY):
            return
        begins = self._bursts.times(now) == 1
        record = granted(self._bursts.last, self._allowed, now, high[:MOST_NAMES])
        if record is not None:
            self._outbox.offer(record)
            if begins:
                logger().info("burst_asked", detectors=high[:MOST_NAMES], times=record.times)
        elif begins:
            self._say_spent(now)

    def _say_spent(self, now: float) -> None:
        """Once a day."""
        last = self._bursts.last
        if last is None or self._reported == last.day:
            return
        if self._bursts.granted_s(now, self._allowed.zone) >= self._allowed.per_day_s:
            self._reported = last.day
            logger().warning("burst_allowance_spent", day=str(last.day), granted_s=last.granted_s)
