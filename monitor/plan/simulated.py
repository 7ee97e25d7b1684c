"""Made-up quality to plan with: scores as answers have them, a signal, and picks from slots.

An answer has 1 + Poisson(4) claims, of which those of one answer agree (each is wrong at a rate
from a Beta distribution, correlation 1/3). Larger means worse. Randomness is an argument.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect, bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, cycle, islice, repeat
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

from monitor.sampling.picks import LEAST_WEIGHT, MOST_EXPECTED
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
#: Of an answer's rate of wrong claims, before the mean: alpha + beta of the Beta distribution.
_SPREAD: Final = (1 - _AGREEMENT) / _AGREEMENT
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
    """Answers of one quality, drawn once and taken at random; the signal's noise is ``noise``.

    ``kinds`` has the number of each answer's segment and value among ``different``: they are few.
    """

    def __init__(self, quality: Quality, random: Random, noise: float | None = None) -> None:
        self.segments = len(quality.means)
        each = [(str(number), mean) for number, mean in enumerate(quality.means)]
        values = [(segment, _value(random, mean)) for segment, mean in islice(cycle(each), _POOL)]
        #: How far the pool's mean is from that of its quality, by chance.
        self.off = math.fsum(value for _, value in values) / _POOL - quality.mean
        self.mean = quality.mean
        self.variance = math.fsum((value - quality.mean) ** 2 for _, value in values) / _POOL
        #: The noise does not grow with the spread of the values when they get worse.
        self.noise = _noise(self.variance, quality.correlation) if noise is None else noise
        self.different = [*dict.fromkeys(values)]
        numbers = {one: number for number, one in enumerate(self.different)}
        self.kinds = [*map(numbers.__getitem__, values)]
        picks = [ScoredPick(segment, 1.0, value) for segment, value in self.different]
        self.answers = [
            SimulatedAnswer(segment, value, value + random.gauss(0.0, self.noise), picks[kind])
            for kind, (segment, value) in zip(self.kinds, values, strict=True)
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


def drawn(quality: Quality, seed: int | str, noise: float | None = None) -> tuple[Pool, Random]:
    """The pool of this seed, and what it is drawn from as it is then."""
    pool, state = _drawn(quality, seed, noise)
    random = Random()
    random.setstate(state)
    return pool, random


# Two plans of one quality draw the same pools, of some megabytes each: normal, and by factor.
@lru_cache(maxsize=8)
def _drawn(quality: Quality, seed: int | str, noise: float | None) -> tuple[Pool, Any]:
    random = Random(seed)
    return Pool(quality, random, noise), random.getstate()


def _noise(variance: float, correlation: float) -> float:
    if correlation <= 0.0:
        return 0.0
    return math.sqrt(variance * (1 / correlation**2 - 1))


def _value(random: Random, mean: float) -> float:
    claims = 1 + _poisson(random, _MORE_CLAIMS)
    rate = random.betavariate(mean * _SPREAD, (1 - mean) * _SPREAD)
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


class SimulatedSlots(NamedTuple):
    """Slots in their order, by what stands for each in ``different``."""

    which: Sequence[int]
    different: Mapping[int, Deviation]


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
    ) -> SimulatedSlots:
        """So many slots, moved to the ``mean`` value that is known: what is drawn of it is noise.

        Where all are moved down, so is the least that one can be.
        """
        hours = self._of_hours(pool, tolerance)
        which, found = self._drawn(number, pool, members, random, hours)
        drawn = math.fsum(map({key: each.by for key, each in found.items()}.__getitem__, which))
        usual = math.fsum([one for of in hours for one in of.values()]) / _HOURS / pool.segments
        move = mean - usual - drawn / number
        down = max(0.0, -move)
        moved = {key: each.moved(move, down) for key, each in found.items()}
        return SimulatedSlots(which, moved)

    def _drawn(
        self,
        number: int,
        pool: Pool,
        members: int,
        random: Random,
        hours: Sequence[Mapping[str, float]],
    ) -> SimulatedSlots:
        """So many as they come: where picks are uniform many of them are alike."""
        if self.calibration is not None and members > 1:
            own = taken(random, hours, number)
            return SimulatedSlots(
                range(number),
                dict(enumerate(_directed(self.calibration, pool, members, random, own))),
            )
        own_hours, kinds = taken(random, range(_HOURS), number), taken(random, pool.kinds, number)
        different = pool.different
        if self.baseline.hours:
            n = len(different)
            which = [*map(operator.add, map(n.__mul__, own_hours), kinds)]
            pairs = {key: (hours[key // n], different[key % n]) for key in set(which)}
        else:
            which, pairs = kinds, {key: (hours[0], different[key]) for key in set(kinds)}
        return SimulatedSlots(
            which, {key: uniform(value, of[name]) for key, (of, (name, value)) in pairs.items()}
        )

    def _of_hours(self, pool: Pool, tolerance: Tolerance) -> list[dict[str, float]]:
        """What each segment is held against in each hour of the day."""
        names = [str(number) for number in range(pool.segments)]
        hours = range(_HOURS if self.baseline.hours else 1)
        found = [
            {name: self.baseline.of(name, tolerance, 3_600.0 * hour) for name in names}
            for hour in hours
        ]
        return found if self.baseline.hours else found * _HOURS


def _directed(
    found: Calibration,
    pool: Pool,
    members: int,
    random: Random,
    own: Sequence[Mapping[str, float]],
) -> list[Deviation]:
    """How much worse than the baseline, ``own`` of each slot and segment, their picks are.

    As ``sampling/picks.py`` weighs and expects, once for each bin: a plan has millions of members.
    """
    edges, spreads, expected = found.edges, found.spreads, found.expected[_METRIC]
    parts = [(1 - LEAST_WEIGHT) * spread for spread in spreads]
    slots = []
    for of in own:
        segments, values, signals, _ = zip(*taken(random, pool.answers, members), strict=True)
        bins = [*map(bisect_left, repeat(edges), signals)]
        seen = [*map(spreads.__getitem__, bins)]
        mean = math.fsum(seen) / members
        if mean > 0 and len(set(seen)) > 1:
            weights = [LEAST_WEIGHT + part / mean for part in parts]
        else:
            weights = [1.0] * len(parts)
        w = [*map(weights.__getitem__, bins)]
        most = [*map(min, expected, map(MOST_EXPECTED.__mul__, weights))]
        # What ``random.choices`` takes, without its checks.
        up_to = [*accumulate(w)]
        number = bisect(up_to, random.random() * up_to[-1], 0, members - 1)
        slots.append(
            directed(
                values[number],
                1 / w[number],
                sum(map(most.__getitem__, bins)) / members,
                most[bins[number]],
                of[segments[number]],
                sum(map(of.__getitem__, segments)) / members,
            )
        )
    return slots
