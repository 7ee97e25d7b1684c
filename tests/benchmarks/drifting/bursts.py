"""When is a change seen that evidence asks more judgements for? In seconds, and not in judgements.

The evidence of a run depends on what was judged, not on when: so one run is walked through twice,
without bursts and with them. What is granted, and when, says the package itself.
"""

from __future__ import annotations

import math
from datetime import UTC
from typing import Final, NamedTuple

import numpy as np

from monitor.control.bursts import BurstAllowance, Bursts, granted
from monitor.exporter.alarms.burst_requests import HIGH
from monitor.exporter.alarms.publisher import every
from monitor.records.control import BURST_KEY
from tests.benchmarks.drifting.ours import Array
from tests.stages.control import applied

#: ``drift.settle``, and what a record takes from the exporter to the scorers.
SETTLE_S: Final = 60.0
DELAY_S: Final = 1.0
NOON: Final = 43_200.0


class Seen(NamedTuple):
    """The alarm of one run: seconds after the change, judged until then, seconds granted."""

    after_s: float
    judged: int
    granted_s: int


class Compared(NamedTuple):
    """Runs without bursts and with them."""

    without: list[Seen]
    with_bursts: list[Seen]

    @property
    def shorter(self) -> tuple[float, float]:
        """By which share bursts shorten the mean time, and its standard error (paired)."""
        x, y = (np.array([run.after_s for run in runs]) for runs in self)
        ratio = float(y.mean() / x.mean())
        spread = math.sqrt(float(((y - ratio * x) ** 2).mean()) / len(x))
        return 1.0 - ratio, spread / float(x.mean())

    def extra(self, per_minute: float) -> float:
        """The most judgements that a run took beyond its pace."""
        return max(run.judged - run.after_s / 60 * per_minute for run in self.with_bursts)


class Scene:
    """One scorer at a steady pace and one exporter, from the change on; times in seconds."""

    def __init__(
        self, evidence: Array, per_minute: float, allowed: BurstAllowance | None, luck: Array
    ) -> None:
        self._evidence, self._allowed = evidence, allowed
        self._step_s = 60 / per_minute
        self._bursts = Bursts()
        #: When the next block ends, whose pick is judged then.
        self._next = NOON + float(luck[0]) * self._step_s
        self._every_s = every(SETTLE_S)
        self._began, self._shift = NOON, float(luck[1]) * 60
        self._heard: list[tuple[float, Bursts]] = []
        self._ends: list[float] = []

    def until_alarm(self, threshold: float) -> Seen:
        """Look after look."""
        # The exporter's minutes begin anywhere between two judgements.
        now, visible = self._began + self._shift % self._every_s, 0
        while True:
            self._judge_until(now)
            while visible < len(self._ends) and self._ends[visible] <= now - SETTLE_S:
                visible += 1
            found = float(self._evidence[visible])
            if found >= threshold:
                granted_s = self._bursts.granted_s(now + self._shift, UTC)
                return Seen(now - self._began, len(self._ends), granted_s)
            if found > threshold * 10**HIGH:
                self._ask(now)
            now += self._every_s

    def _ask(self, now: float) -> None:
        if self._allowed is None:
            return
        record = granted(self._bursts.last, self._allowed, now + self._shift, ["a detector"])
        if record is not None:
            applied(self._bursts, BURST_KEY.encode(), record.to_json())
            heard = Bursts()
            heard.last = self._bursts.last
            self._heard.append((now + DELAY_S, heard))

    def _judge_until(self, now: float) -> None:
        """A block's length is fixed when it begins: more are judged from the next one on."""
        while self._next <= now:
            self._ends.append(self._next)
            self._next += self._step_s / self._times(self._next)

    def _times(self, at: float) -> int:
        known = [bursts for heard_at, bursts in self._heard[-2:] if heard_at <= at]
        return known[-1].times(at + self._shift) if known else 1


def compared(
    evidence: Array, per_minute: float, allowed: BurstAllowance, threshold: float, seed: int
) -> Compared:
    """``evidence`` after each judgement, the one before the change first; shape (n, runs)."""
    luck = np.random.default_rng([seed, 11]).random((evidence.shape[1], 2))
    runs = list(zip(evidence.T, luck, strict=True))
    without, hastened = (
        [Scene(path, per_minute, how, drawn).until_alarm(threshold) for path, drawn in runs]
        for how in (None, allowed)
    )
    return Compared(without, hastened)
