"""What a week of whole days says of a baseline: how far days lie apart, and hours of a day.

Every day is 24 sums, one for each hour (UTC), with larger meaning worse. They add up in any order
of the days, since they are added by ``math.fsum``.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from monitor.stats.baseline import BATCH, PROVISIONAL
from monitor.stats.dependence import ENOUGH_FREEDOM, is_beyond_chance
from monitor.stats.period import DAY_S

#: Days, without a gap or not, that hours and their spread are learned from.
NEEDED_DAYS: Final = 7
#: Standard errors by which a later week is better that say that the baseline's time was bad.
BETTER: Final = 3.0
#: How many hours, each with so many values, say how far hours lie apart before a week is full.
NEEDED_HOURS, NEEDED_IN_HOUR = 12, 100
_PARTS: Final = 1_440
HOUR_S: Final = 3_600


class HourSums(NamedTuple):
    """Values of an hour: how many, Σu, Σux, Σu², Σu²x and Σu²x²."""

    n: int = 0
    u: float = 0.0
    ux: float = 0.0
    uu: float = 0.0
    uux: float = 0.0
    uuxx: float = 0.0

    @property
    def mean(self) -> float:
        """Σux/Σu; needs a value."""
        return self.ux / self.u

    def noise(self, mean: float) -> float:
        """The variance of the sums' own mean, Σu²(x − mean)²/(Σu)², were ``mean`` the true one.

        >>> HourSums(2, 2.0, 1.0, 2.0, 1.0, 1.0).noise(0.5)
        0.125
        """
        return max(0.0, self.uuxx - 2.0 * mean * self.uux + mean * mean * self.uu) / self.u**2


class Rhythm(NamedTuple):
    """The mean of all days and its error, τ_d, what each hour adds to the mean; how many days.

    ``dependence`` is V beside those: how much the scores of an hour repeat each other; None where
    too few hours have any to tell. ``swing`` is what the hours add to V of batches.
    """

    mean: float
    se: float
    day_spread: float
    hours: tuple[float, ...]
    days: int
    dependence: float | None = None
    swing: float = 0.0

    def dependence_after(self, first: float) -> float:
        """What is left of the ``first`` V, which took hours of the day for dependence.

        It is no less than what is seen within the hours, nor than without what the swing has added:
        sessions may be longer than an hour.

        >>> week = Rhythm(0.5, 0.01, 0.0, (), 7, dependence=1.5, swing=2.0)
        >>> week.dependence_after(5.0), week.dependence_after(2.5), week.dependence_after(1.0)
        (3.0, 1.5, 1.0)
        """
        if self.dependence is None:
            return first
        return min(first, max(self.dependence, first - self.swing))


def hour_sums(values: Iterable[tuple[float, float]]) -> HourSums:
    """Of weights u and values x, in any order.

    >>> hour_sums([(2.0, 0.5), (1.0, 1.0)])
    HourSums(n=2, u=3.0, ux=2.0, uu=5.0, uux=3.0, uuxx=2.0)
    """
    terms = [(u, u * x, u * u, u * u * x, u * u * x * x) for u, x in values]
    columns = zip(*terms, strict=True) if terms else iter([()] * 5)
    return HourSums(len(terms), *map(math.fsum, columns))


def summed(parts: Iterable[HourSums]) -> HourSums:
    """The sums of all parts.

    >>> summed([HourSums(1, 1.0, 0.5, 1.0, 0.5, 0.25), HourSums(1, 1.0)])
    HourSums(n=2, u=2.0, ux=0.5, uu=1.0, uux=0.5, uuxx=0.25)
    """
    columns = zip(*parts, strict=True)
    return HourSums(sum(next(columns, ())), *map(math.fsum, columns))


def rhythm(days: Sequence[Sequence[HourSums]]) -> Rhythm | None:
    """What the days say; None while there are fewer than seven with a value.

    τ_d² = max(0, Var(m_d) − mean noise of m_d); hours[h] = κ_h·(m_h − m) with κ_h = τ_h²/(τ_h² +
    noise of m_h), τ_h² = max(0, mean of (m_h − m)² − mean noise of m_h). An hour without a value
    adds nothing. SE² = noise of m, τ_d²/days being the margin's. V is ``_beside_hours``, and
    ``added_by_swing`` what hours add to another.
    """
    by_day = [summed(day) for day in days]
    whole = [found for found in by_day if found.u]
    if len(whole) < NEEDED_DAYS:
        return None
    total = summed(whole)
    mean = total.mean
    spread = _beyond_noise([(day.mean - mean) ** 2 for day in whole], len(whole) - 1, whole, mean)
    by_hour = [summed(hour) for hour in zip(*days, strict=True)]
    hours = usual_hours(by_hour)
    return Rhythm(
        mean,
        math.sqrt(total.noise(mean) + 1.0 / total.u**2),
        math.sqrt(spread),
        hours,
        len(whole),
        _beside_hours(days, by_day, by_hour),
        added_by_swing(by_hour, hours, len(whole)),
    )


def usual_hours(by_hour: Sequence[HourSums]) -> tuple[float, ...]:
    """What each hour of the day adds to the mean of all: κ_h·(m_h − m), see ``rhythm``.

    >>> half = [HourSums(400, 400.0, 400 * m, 400.0, 400 * m, 400 * m) for m in (0.25, 0.75)]
    >>> [round(hour, 2) for hour in usual_hours([half[0]] * 12 + [half[1]] * 12)[11:13]]
    [-0.25, 0.25]
    """
    mean = summed(by_hour).mean
    seen = [hour for hour in by_hour if hour.u]
    off = [(hour.mean - mean) ** 2 for hour in seen]
    between = _beyond_noise(off, len(seen), seen, mean)
    return tuple(_drawn(hour, mean, between) for hour in by_hour)


def added_by_swing(by_hour: Sequence[HourSums], hours: Sequence[float], days: int) -> float:
    """What hours of the day, by what they add to the mean, add to V of batches of ``BATCH`` slots.

    BATCH·Var(ē)·(Σu)²/(n·Σu²(x − m)²), with ē the mean of ``hours`` over as much of the traffic of
    a day as a batch is, and n the values of all days. 0 where a batch is a day or more.

    >>> half = [HourSums(700, 700.0, 700 * m, 700.0, 700 * m, 700 * m) for m in (0.3, 0.7)]
    >>> day = [half[0]] * 12 + [half[1]] * 12
    >>> round(added_by_swing(day, [-0.2] * 12 + [0.2] * 12, 7), 1)
    6.3
    >>> added_by_swing(day, [0.0] * 24, 7), added_by_swing(day, [-0.2, 0.2] * 12, 7 * 60)
    (0.0, 0.0)
    """
    total = summed(by_hour)
    a_day = total.n / days
    squares = total.noise(total.mean) * total.u**2
    if a_day <= BATCH or not squares:
        return 0.0
    # As many equal parts of the traffic as there are minutes, each with what its hour adds.
    ends = list(itertools.accumulate(hour.n for hour in by_hour))
    parts = [
        hours[bisect_right(ends, (number + 0.5) * total.n / _PARTS)] for number in range(_PARTS)
    ]
    width = max(1, round(_PARTS * BATCH / a_day))
    sums = [0.0, *itertools.accumulate([*parts, *parts[:width]])]
    means = [(sums[at + width] - sums[at]) / width for at in range(_PARTS)]
    middle = math.fsum(means) / _PARTS
    apart = math.fsum((one - middle) ** 2 for one in means) / _PARTS
    return BATCH * apart * total.u**2 / (total.n * squares)


def added_between(
    hours: Sequence[float], weights: Sequence[float], begin: float, end: float
) -> float:
    """What ``hours`` add to the mean of the scores between two times, epoch seconds.

    As many of them are of an hour of the day as its weight says, and as the time lies in it.

    >>> half = [0.0] * 12 + [0.2] * 12
    >>> added_between(half, [1.0] * 24, 11 * 3_600.0, 13 * 3_600.0)
    0.1
    >>> added_between(half, [3.0] * 12 + [1.0] * 12, 0.0, DAY_S), added_between(half, half, 0, 60)
    (0.05, 0.0)
    """
    seen = [0.0] * len(hours)
    for hour in range(math.floor(begin / HOUR_S), math.ceil(end / HOUR_S)):
        inside = min(end, (hour + 1) * HOUR_S) - max(begin, hour * HOUR_S)
        seen[hour % len(hours)] += max(0.0, inside)
    shares = [weight * seconds for weight, seconds in zip(weights, seen, strict=True)]
    total = math.fsum(shares)
    if not total:
        return 0.0
    return math.fsum(share * hour for share, hour in zip(shares, hours, strict=True)) / total


def _beside_hours(
    days: Sequence[Sequence[HourSums]], by_day: Sequence[HourSums], by_hour: Sequence[HourSums]
) -> float | None:
    """V of the scores of an hour, beside what the hour of the day and the day add; at least 1.

    V = N·(n − p)/(n·(N − p))·Σ(Σux − m_dh·Σu)²/ΣΣu²(x − m_dh)² over the N hours that have any of
    the n values, with m_dh = m_d + m_h − m, which takes p = days + hours − 1 of both: a swing over
    the day is no dependence. (The variance of a sum by clusters, Liang and Zeger 1986.) It is 1
    where chance alone gives as much one time in twenty; None below 28 degrees of freedom, N − p.

    >>> def of(*means: float) -> list[HourSums]:
    ...     return [HourSums(40, 40.0, 40 * m, 40.0, 40 * m, 40 * m) for m in means]
    >>> rhythm([of(*[0.25, 0.75] * 12)] * 7).dependence
    1.0
    >>> uneven = [of(*([0.25] * day + [0.75] * (24 - day))) for day in range(7)]
    >>> round(rhythm(uneven).dependence, 1)
    2.5
    """
    total = summed(by_day)
    cells = [
        (cell, day.mean + hour.mean - total.mean)
        for of_day, day in zip(days, by_day, strict=True)
        for cell, hour in zip(of_day, by_hour, strict=True)
        if cell.u
    ]
    taken = sum(day.u > 0 for day in by_day) + sum(hour.u > 0 for hour in by_hour) - 1
    freedom = len(cells) - taken
    within = math.fsum(cell.noise(mean) * cell.u**2 for cell, mean in cells)
    if freedom < ENOUGH_FREEDOM or not within:
        return None
    between = math.fsum((cell.ux - mean * cell.u) ** 2 for cell, mean in cells)
    values = sum(cell.n for cell, _ in cells)
    found = len(cells) / freedom * (values - taken) / values * between / within
    return found if is_beyond_chance(found, freedom) else 1.0


def tell_hours(hours: Sequence[HourSums], dependence: float) -> bool:
    """Whether chance moves the mean of an hour by less than half of what a swing of a quarter does.

    That is V·mean noise of m_h ≤ (¼·m)²/8, over at least twelve hours with a value. A swing of ±a
    has the standard deviation a/√2. Where chance moves it by more, a spread of 0 may be chance.

    >>> def of(n: int) -> HourSums:
    ...     return HourSums(n, n * 1.0, n * 0.5, n * 1.0, n * 0.5, n * 0.5)
    >>> [tell_hours([of(n)] * 24, 1.0) for n in (127, 128)], tell_hours([of(500)] * 11, 1.0)
    ([False, True], False)
    """
    seen = [hour for hour in hours if hour.u]
    if len(seen) < NEEDED_HOURS:
        return False
    mean = summed(seen).mean
    noise = dependence * math.fsum(hour.noise(mean) for hour in seen) / len(seen)
    return noise <= (PROVISIONAL * mean) ** 2 / 8.0


def hour_spread(hours: Iterable[HourSums], dependence: float) -> float:
    """τ_h, how far hours of the first day or days lie apart; 0 where chance alone may do that.

    τ_h² = Var(m_h) − V·mean noise of m_h, of hours with at least 100 values, at least twelve. With
    fewer values the error of the mean itself covers it.

    >>> def of(*means: float) -> list[HourSums]:
    ...     return [HourSums(100, 100.0, 100 * m, 100.0, 100 * m, 100 * m) for m in means]
    >>> round(hour_spread(of(*[0.25, 0.75] * 6), 1.0), 2), hour_spread(of(*[0.5] * 12), 1.0)
    (0.26, 0.0)
    """
    seen = [hour for hour in hours if hour.n >= NEEDED_IN_HOUR]
    if len(seen) < NEEDED_HOURS:
        return 0.0
    mean, freedom = summed(seen).mean, len(seen) - 1
    noise = dependence * math.fsum(hour.noise(mean) for hour in seen) / len(seen)
    between = math.fsum((hour.mean - mean) ** 2 for hour in seen) / freedom
    if not noise or not is_beyond_chance(between / noise, freedom):
        return 0.0
    return math.sqrt(between - noise)


def unseen_spread(mean: float, seen_s: float) -> float:
    """What hours that were not seen may add to a mean of so many seconds, beyond what is tolerated.

    A provisional baseline reckons with a mean that swings by a quarter (``PROVISIONAL``) over the
    day. What it has seen, the share s of a day, may be the best part of it. That is the day's mean
    times 1 − sin(πs)/(4πs), and the worst hour is 5/4 of it: two thirds more than a few minutes of
    the best hour. Of this a quarter of the mean is tolerated anyway.

    >>> [round(0.25 + unseen_spread(1.0, hours * 3_600.0), 2) for hours in (0, 2, 12, 20, 24, 48)]
    [0.67, 0.66, 0.49, 0.31, 0.25, 0.25]
    """
    angle = math.pi * min(1.0, seen_s / DAY_S)
    best = 1.0 - PROVISIONAL * (math.sin(angle) / angle if angle else 1.0)
    return max(0.0, mean * ((1.0 + PROVISIONAL) / best - (1.0 + PROVISIONAL)))


def is_better(later: HourSums, mean: float, se: float) -> bool:
    """Whether a later week is better than what was learned, by more than three standard errors."""
    if not later.u:
        return False
    return mean - later.mean > BETTER * math.sqrt(se**2 + later.noise(later.mean))


def _beyond_noise(
    squares: Sequence[float], degrees: int, parts: Sequence[HourSums], mean: float
) -> float:
    """The variance of the parts' means that their own noise does not explain."""
    noise = math.fsum(part.noise(mean) for part in parts) / len(parts)
    return max(0.0, math.fsum(squares) / degrees - noise)


def _drawn(hour: HourSums, mean: float, between: float) -> float:
    if not hour.u or not between:
        return 0.0
    return between / (between + hour.noise(mean)) * (hour.mean - mean)
