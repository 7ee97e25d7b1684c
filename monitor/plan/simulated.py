"""Made-up quality to plan with: scores as answers have them, a signal, and picks from slots.

An answer has 1 + Poisson(4) claims, of which those of one answer agree (each is wrong at a rate
from a Beta distribution, correlation 1/3). Larger means worse. Randomness is an argument.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Final, NamedTuple, TypeVar

from monitor.sampling.picks import MOST_EXPECTED, weights
from monitor.stats import calibration
from monitor.stats.baseline import (
    DAY_SPREADS,
    STANDARD_ERRORS,
    Baseline,
    ScoredPick,
    Tolerance,
    learned,
)
from monitor.stats.calibration import Calibration, JudgedPick
from monitor.stats.days import NEEDED_DAYS, HourSums, Rhythm, hour_sums, rhythm
from monitor.stats.drift import Deviation, directed, uniform

_MORE_CLAIMS: Final = 4.0
_AGREEMENT: Final = 1 / 3
_METRIC: Final = "x"
#: Members of a slot, at most: more cost time and change little.
MOST_MEMBERS: Final = 20
_POOL: Final = 12_000
_HOURS: Final = 24
#: The mean of so many answers is as good as normally distributed.
_MANY: Final = 16
_One = TypeVar("_One")


class SimulatedAnswer(NamedTuple):
    """The segment of an answer, its value, and the risk signal; ``pick`` is what is learned of."""

    segment: str
    value: float
    signal: float
    pick: ScoredPick


def taken(random: Random, some: Sequence[_One], number: int) -> list[_One]:
    """What ``random.choices`` takes, in two thirds of the time.

    >>> taken(Random(1), "abcdefg", 9) == Random(1).choices("abcdefg", k=9)
    True
    """
    uniform_numbers = islice(iter(random.random, None), number)
    return [*map(some.__getitem__, map(math.floor, map(float(len(some)).__mul__, uniform_numbers)))]


@dataclass(frozen=True)
class Quality:
    """Mean value per segment, the segments equally frequent; the signal's ``correlation``."""

    means: tuple[float, ...]
    correlation: float = 0.0

    @property
    def mean(self) -> float:
        """Over all segments."""
        return math.fsum(self.means) / len(self.means)

    def times(self, factor: float) -> Quality:
        """The same, so much worse in every segment."""
        return Quality(tuple(min(0.999, mean * factor) for mean in self.means), self.correlation)


class Pool:
    """Answers of one quality, drawn once and taken at random; the signal's noise is ``noise``."""

    def __init__(self, quality: Quality, random: Random, noise: float | None = None) -> None:
        self.segments = len(quality.means)
        values = []
        for number in range(_POOL):
            segment = number % len(quality.means)
            values.append((str(segment), _value(random, quality.means[segment])))
        #: How far the pool's mean is from that of its quality, by chance.
        self.off = math.fsum(value for _, value in values) / _POOL - quality.mean
        self.mean = quality.mean
        self.variance = math.fsum((value - quality.mean) ** 2 for _, value in values) / _POOL
        #: The noise does not grow with the spread of the values when they get worse.
        self.noise = _noise(self.variance, quality.correlation) if noise is None else noise
        self.answers = [
            SimulatedAnswer(
                segment,
                value,
                value + random.gauss(0.0, self.noise),
                ScoredPick(segment, 1.0, value),
            )
            for segment, value in values
        ]

    def week(self, per_day: float, random: Random) -> list[list[HourSums]]:
        """Seven whole days with so many judged a day on average, in the sums of their hours."""
        return [
            [self._hour(per_day / _HOURS, random) for _ in range(_HOURS)]
            for _ in range(NEEDED_DAYS)
        ]

    def _hour(self, expected: float, random: Random) -> HourSums:
        if expected < _MANY:
            seen = taken(random, self.answers, _poisson(random, expected))
            return hour_sums((1.0, each.value) for each in seen)
        n = max(1, round(random.gauss(expected, math.sqrt(expected))))
        usual = self.mean + self.off
        mean = max(0.0, random.gauss(usual, math.sqrt(self.variance / n)))
        squares = n * (self.variance + mean**2)
        return HourSums(n, float(n), n * mean, float(n), n * mean, squares)


def _noise(variance: float, correlation: float) -> float:
    if correlation <= 0.0:
        return 0.0
    return math.sqrt(variance * (1 / correlation**2 - 1))


def _value(random: Random, mean: float) -> float:
    spread = (1 - _AGREEMENT) / _AGREEMENT
    claims = 1 + _poisson(random, _MORE_CLAIMS)
    rate = random.betavariate(mean * spread, (1 - mean) * spread)
    return sum([random.random() < rate for _ in range(claims)]) / claims


def _poisson(random: Random, mean: float) -> int:
    """Knuth's: as many uniform numbers as can be multiplied above exp(−mean)."""
    number, product, least = 0, random.random(), math.exp(-mean)
    while product > least:
        number, product = number + 1, product * random.random()
    return number


def refined(baseline: Baseline, found: Rhythm) -> Baseline:
    """With what the whole days after it say, as ``exporter/baselines/days.py`` does of a record."""
    margin = STANDARD_ERRORS * baseline.se + DAY_SPREADS * found.day_spread
    mean = min(found.mean, baseline.mean + margin)
    shift = mean - baseline.mean
    dependence = found.dependence_after(baseline.dependence)
    return replace(
        baseline,
        mean=mean,
        se=math.sqrt(dependence * found.se**2 + found.day_spread**2 / found.days),
        dependence=dependence,
        segments={
            name: min(1.0, max(0.0, usual + shift)) for name, usual in baseline.segments.items()
        },
        day_spread=found.day_spread,
        hours=found.hours,
    )


@dataclass(frozen=True)
class Known:
    """What one monitor goes by: its baseline, and its calibration where it directs picks."""

    baseline: Baseline
    calibration: Calibration | None = None

    @classmethod
    def learned(cls, pool: Pool, slots: int, random: Random, *, directs: bool) -> Known:
        """From so many uniform picks, like the exporter."""
        seen = taken(random, pool.answers, slots)
        baseline = learned([each.pick for each in seen])
        assert baseline is not None
        if not directs:
            return cls(baseline)
        picks = (JudgedPick(each.signal, 1.0, {_METRIC: each.value}) for each in seen)
        return cls(baseline, calibration.learned(picks, [_METRIC]))

    def in_the_long_run(
        self, pool: Pool, per_day: float, random: Random, tolerance: Tolerance
    ) -> Known:
        """The first baseline or what a week makes of it, with so many judged a day.

        That by which a change is seen later: it may come before the week is over, and after it.
        """
        found = rhythm(pool.week(per_day, random))
        if found is None:
            return self
        both = self.baseline, refined(self.baseline, found)
        return replace(self, baseline=max(both, key=lambda each: each.overall(tolerance)))

    def slots(
        self,
        number: int,
        pool: Pool,
        members: int,
        random: Random,
        tolerance: Tolerance,
        mean: float,
    ) -> list[Deviation]:
        """So many slots, moved to the ``mean`` value that is known: what is drawn of it is noise.

        Where all are moved down, so is the least that one can be.
        """
        hours = self._of_hours(pool, tolerance)
        own = taken(random, hours, number)
        if self.calibration is None or members == 1:
            found = _uniform(taken(random, pool.answers, number), own)
        else:
            found = [_directed(self.calibration, pool, members, random, of) for of in own]
        drawn = math.fsum(each.by for each in found) / number
        usual = math.fsum(one for of in hours for one in of.values()) / _HOURS / pool.segments
        move = mean - usual - drawn
        down = max(0.0, -move)
        moved = {
            each: Deviation(each.by + move, each.reach + down, *each[2:]) for each in set(found)
        }
        return [moved[each] for each in found]

    def _of_hours(self, pool: Pool, tolerance: Tolerance) -> list[dict[str, float]]:
        """What each segment is held against in each hour of the day."""
        names = [str(number) for number in range(pool.segments)]
        hours = range(_HOURS if self.baseline.hours else 1)
        found = [
            {name: self.baseline.of(name, tolerance, 3_600.0 * hour) for name in names}
            for hour in hours
        ]
        return found if self.baseline.hours else found * _HOURS


def _uniform(
    answers: Sequence[SimulatedAnswer], own: Sequence[Mapping[str, float]]
) -> list[Deviation]:
    """Of each answer; many of them are alike."""
    pairs = [(one.value, of[one.segment]) for one, of in zip(answers, own, strict=True)]
    known = {pair: uniform(*pair) for pair in set(pairs)}
    return [known[pair] for pair in pairs]


def _directed(
    found: Calibration, pool: Pool, members: int, random: Random, own: Mapping[str, float]
) -> Deviation:
    """How much worse than the baseline, ``own`` of each segment, the pick of one slot is."""
    slot = taken(random, pool.answers, members)
    # Not by ``bin``, which would be called two million times for a plan.
    edges, expected = found.edges, found.expected[_METRIC]
    bins = [bisect_left(edges, each.signal) for each in slot]
    w = weights([found.spreads[k] for k in bins])
    f = _expected([expected[k] for k in bins], w)
    (number,) = random.choices(range(members), weights=w)
    return directed(
        slot[number].value,
        1 / w[number],
        sum(f) / members,
        f[number],
        own[slot[number].segment],
        sum([own[each.segment] for each in slot]) / members,
    )


def _expected(f: Sequence[float], w: Sequence[float]) -> list[float]:
    # Not by ``min``, which would be called as often.
    return [
        one if one <= (most := MOST_EXPECTED * weight) else most
        for one, weight in zip(f, w, strict=True)
    ]
