"""Traffic day by day in which nothing becomes worse, and the same after something has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.drifting.streams import Scores
from tests.benchmarks.promising.laws import LARGEST_MEAN, LAWS, together

HOUR, DAY, WEEK = 3_600, 86_400, 604_800
_IN_A_DAY: Final = {"day": 1, "h": 24, "min": 1_440, "s": 86_400}


def per_day(rate: str) -> int:
    """How many are judged a day.

    >>> per_day("50/h")
    1200
    """
    number, unit = rate.split("/")
    return int(number) * _IN_A_DAY[unit]


#: Judged a day.
RATES: Final[Mapping[str, int]] = {
    rate: per_day(rate) for rate in ("20/day", "100/day", "50/h", "10/min", "1/s")
}
METRICS: Final = ("faithfulness", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant")
#: A Thursday's midnight; installations begin on other days of a week.
START: Final = 20_783 * DAY
#: Days after the beginning on which a tenant comes or grows: later than anything is learned.
EVENT_DAY: Final = 8
_ZIPF: Final = 1.2


@dataclass(frozen=True)
class World:
    """What is usual. Shares are of the traffic, ``swing`` and ``by_day`` of the mean.

    ``swing``: amplitude of the mean over the day. ``by_day``: its standard deviation from one day
    to the next. ``weekend``: traffic of Saturday and Sunday beside other days. ``alike``, ``run``:
    share of the traffic that comes in runs of so many interactions with the same answer.
    ``quiet_hour``: no traffic from 0 to 1 UTC. ``failing_s``: seconds of each day in which no pick
    gets a value. ``tenants``: how many there are, Zipf; with ``tenant_means`` from a quarter to
    2.5 times the mean. ``grown``: share of the last one from ``EVENT_DAY`` on; it is new then if
    its mean is that of the others.
    """

    swing: float = 0.0
    by_day: float = 0.0
    weekend: float = 1.0
    alike: float = 0.0
    run: int = 1
    quiet_hour: bool = False
    failing_s: int = 0
    tenants: int = 1
    tenant_means: bool = False
    grown: float = 0.0


WORLDS: Final[Mapping[str, World]] = {
    "i.i.d.": World(),
    "day ±10 %": World(swing=0.1),
    "day ±25 %": World(swing=0.25),
    "days ±5 %": World(by_day=0.05),
    "weekends": World(weekend=0.2),
    "17 % by 5": World(alike=0.17, run=5),
    "1/3 by 50": World(alike=1 / 3, run=50),
    "quiet hour": World(quiet_hour=True),
    "judge fails": World(failing_s=HOUR),
    "new tenant": World(tenants=4, grown=0.2),
    "mix shift": World(tenants=12, tenant_means=True, grown=0.2),
}


class Cell(NamedTuple):
    """One row: judged how often, in which world, by which law."""

    rate: str
    world: str
    law: str

    @property
    def name(self) -> str:
        """As it stands on a line of results."""
        return " | ".join(self)


class Worse(NamedTuple):
    """From ``since`` (epoch seconds) on every mean is ``times`` what it was."""

    since: float
    times: float


class Picks(NamedTuple):
    """The picks of one day in their order; all arrays of the same length.

    ``times`` in epoch seconds, ``scores`` (picks, metrics) with larger meaning worse, ``tenants``
    and ``answers`` as numbers: picks with the same answer have the same scores.
    """

    times: Scores
    scores: Scores
    tenants: NDArray[np.int64]
    answers: NDArray[np.int64]
    failed: NDArray[np.bool_]


class Traffic:
    """The traffic of one installation: a function of its arguments, whatever was asked before."""

    def __init__(self, cell: Cell, seed: int, number: int) -> None:
        self._world, self._law = WORLDS[cell.world], LAWS[cell.law]
        self.per_day = per_day(cell.rate)
        self._seed = [seed, crc32(cell.name.encode()), number]
        rng = self.rng(0)
        self.start = START + number % 7 * DAY
        self._phase = rng.random() * 2 * np.pi
        self._tenant_means = self._means(rng)

    def rng(self, *purpose: int) -> np.random.Generator:
        """Draws of its own for each purpose."""
        return np.random.default_rng([*self._seed, *purpose])

    def past_the_good(self, day: int) -> float:
        """When the better half of a day is over, in epoch seconds, if the mean swings over it."""
        return self.start + day * DAY + (1.0 - self._phase / (2 * np.pi)) % 1.0 * DAY

    @property
    def event_at(self) -> float:
        """When a tenant comes or grows, in epoch seconds; the start where none does."""
        return self.start + (EVENT_DAY * DAY if self._world.grown else 0)

    @property
    def tenants(self) -> int:
        """How many there are."""
        return self._world.tenants

    def can_be(self, times: float) -> bool:
        """Whether scores of all tenants have room for a mean so many times the usual one."""
        most = self._law.mean * (1.0 + self._world.swing) * self._tenant_means.max()
        return bool(most * times <= LARGEST_MEAN)

    def day(self, number: int, worse: Worse | None = None) -> Picks:
        """The picks of a day; the first one is 0."""
        rng, began = self.rng(1, number), self.start + number * DAY
        times = self._times(rng, began)
        shares = self._shares(began)
        tenants = rng.choice(len(shares), len(times), p=shares)
        by_day = max(0.0, 1.0 + self._world.by_day * rng.standard_normal())
        swing = 1.0 + self._world.swing * np.sin(2 * np.pi * times / DAY + self._phase)
        means = self._law.mean * by_day * swing * self._tenant_means[tenants]
        if worse is not None:
            means = np.where(times >= worse.since, means * worse.times, means)
        means = np.clip(means, 0.0, LARGEST_MEAN)
        failing_from = began + rng.random() * (DAY - self._world.failing_s)
        failed = (times >= failing_from) & (times < failing_from + self._world.failing_s)
        answers = self._answers(rng, len(times))
        scores = together(rng, self._law, means, len(METRICS))
        # As they come out of a record again, where some metrics are turned round.
        scores = 1.0 - (1.0 - scores)
        return Picks(times, scores[answers], tenants[answers], answers, failed)

    def _times(self, rng: np.random.Generator, began: float) -> Scores:
        """A Poisson process, thinned where there is less traffic; in whole milliseconds."""
        of_day = np.sort(rng.random(rng.poisson(self.per_day)))
        is_weekend = int(began // DAY) % 7 in (2, 3)  # day 0 was a Thursday
        kept = rng.random(len(of_day)) < (self._world.weekend if is_weekend else 1.0)
        if self._world.quiet_hour:
            kept &= of_day * DAY >= HOUR
        found: Scores = np.floor((began + of_day[kept] * DAY) * 1e3) / 1e3
        return found

    def _shares(self, began: float) -> Scores:
        """Of the tenants on a day; the last one is the one that grows."""
        usual: Scores = np.arange(1.0, self._world.tenants + 1.0) ** -_ZIPF
        has_grown = self._world.grown > 0.0 and began >= self.event_at
        if not has_grown and self._world.grown and not self._world.tenant_means:
            usual[-1] = 0.0
        usual /= usual.sum()
        if has_grown:
            usual[:-1] *= (1.0 - self._world.grown) / usual[:-1].sum()
            usual[-1] = self._world.grown
        return usual

    def _means(self, rng: np.random.Generator) -> Scores:
        """Of the tenants, beside the mean of all."""
        if not self._world.tenant_means:
            return np.ones(self._world.tenants)
        return rng.permutation(np.linspace(0.25, 2.5, self._world.tenants))

    def _answers(self, rng: np.random.Generator, picks: int) -> NDArray[np.int64]:
        """Which pick has the answer that each pick has: the first one of its run."""
        share, run = self._world.alike, self._world.run
        is_run = rng.random(picks) < share / (run - (run - 1) * share)
        lengths = np.where(is_run, run, 1)
        found: NDArray[np.int64] = np.repeat(np.cumsum(lengths) - lengths, lengths)[:picks]
        return found
