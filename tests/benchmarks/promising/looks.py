"""The traffic of an installation as arrays, when its exporter looks, and its threshold then."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.exporter.scores.scored import WITHIN_S
from monitor.stats.period import day_bounds, pace, period_days
from monitor.stats.threshold import LEAST_PER_DAY, WEEK_S, in_steps
from tests.benchmarks.promising.installation import JUDGED_S, LEARN_EVERY_S
from tests.benchmarks.promising.recursion import Numbers, recent_shares
from tests.benchmarks.promising.worlds import DAY, METRICS, Picks, Traffic, Worse

_LOOK_S: Final = 5.0
#: Days that are remembered, and from how many picks a day on only few are.
_FEW_DAYS, _MANY_DAYS, _MUCH = 4, 128, 10_000


class Slots(NamedTuple):
    """Scored picks in their order."""

    times: Numbers
    scores: Numbers
    tenants: NDArray[np.int64]

    def of(self, which: slice | NDArray[np.bool_]) -> Slots:
        """Some of them."""
        return Slots(self.times[which], self.scores[which], self.tenants[which])

    def between(self, begin: float, end: float) -> Slots:
        """Those in [begin, end)."""
        first, last = np.searchsorted(self.times, [begin, end])
        return self.of(slice(first, last))


class Day(NamedTuple):
    """A day: times of all picks, the scored ones, and those of them that repeat nothing."""

    all: Numbers
    scored: Slots
    slots: Slots


def day_of(found: Picks) -> Day:
    """What there is of the picks of a day."""
    numbers = np.arange(len(found.times))
    gaps = np.diff(found.times, prepend=-np.inf)
    is_new = (found.answers == numbers) | (gaps > WITHIN_S)
    every = Slots(found.times, found.scores, found.tenants)
    scored, new = (every.of(kept) for kept in (~found.failed, ~found.failed & is_new))
    return Day(found.times, scored, new)


def joined(parts: Sequence[Slots]) -> Slots:
    """One after another."""
    times, scores, tenants = zip(*parts, strict=True)
    return Slots(np.concatenate(times), np.concatenate(scores), np.concatenate(tenants))


def _days_held(traffic: Traffic) -> int:
    """Of much traffic no more than are looked at together: those of a day are some megabytes."""
    return _FEW_DAYS if traffic.per_day > _MUCH else _MANY_DAYS


class Stream:
    """The traffic of an installation: as usual, and from a moment on worse."""

    def __init__(self, traffic: Traffic, worse: Worse | None = None) -> None:
        self.traffic, self._worse = traffic, worse
        self.day = lru_cache(_days_held(traffic))(self._day)
        self.count = lru_cache(None)(self._count)
        self.slots = lru_cache(2)(self._slots)
        self.shares = lru_cache(2)(self._shares)

    def _day(self, number: int) -> Day:
        usual, worse = self.traffic.day(number), self._worse
        begin = self.traffic.start + number * DAY
        if worse is None or begin + DAY <= worse.since:
            return day_of(usual)
        changed = day_of(self.traffic.day(number, worse))
        if begin >= worse.since:
            return changed
        before = day_of(usual).slots.between(begin, worse.since)
        return changed._replace(
            slots=joined([before, changed.slots.between(worse.since, begin + DAY)])
        )

    def _count(self, number: int) -> int:
        """How many picks a day has."""
        return len(self.day(number).all) if number >= 0 else 0

    def number(self, at: float) -> int:
        """Of the day."""
        return math.floor((at - self.traffic.start) / DAY)

    def days(self, begin: float, end: float) -> list[Day]:
        """Those that have any of [begin, end)."""
        numbers = range(max(0, self.number(begin)), self.number(math.nextafter(end, 0.0)) + 1)
        return [self.day(number) for number in numbers]

    def scored(self, begin: float, end: float) -> Numbers:
        """Times of scored picks in [begin, end)."""
        found = np.concatenate([np.zeros(0), *(day.scored.times for day in self.days(begin, end))])
        first, last = np.searchsorted(found, [begin, end])
        return found[first:last]

    def _slots(self, begin: float, end: float) -> Slots:
        """Those in [begin, end) that are evidence."""
        return joined([day.slots for day in self.days(begin, end)]).between(begin, end)

    def period_s(self, now: float) -> int:
        """The period that is asked for by the picks of the days before."""
        counts = [self.count(self.number(day)) for day in day_bounds(now)[:-1]]
        return DAY * period_days(pace(counts))

    def _shares(
        self, begin: float, end: float, known: tuple[float, ...], numbers: tuple[int, ...]
    ) -> Numbers:
        """Of segments before each slot; ``numbers`` are those of the tenants."""
        found = np.array(numbers)[self.slots(begin, end).tenants]
        return recent_shares(np.array(known), found)


class Thresholds:
    """A at the looks from ``now`` on, until the day ends."""

    def __init__(self, stream: Stream, now: float, period_s: int, per_week: float) -> None:
        start, ends = now // period_s * period_s, now // DAY * DAY + DAY
        before = len(stream.scored(start - period_s, start))
        self._least = max(float(before), LEAST_PER_DAY * period_s / DAY)
        self._times = stream.scored(start, ends)
        self._of_a_slot = len(METRICS) * (WEEK_S / period_s) / per_week

    def at(self, now: float) -> float:
        """A at a look."""
        # Their records are there by then.
        so_far = int(np.searchsorted(self._times, now - JUDGED_S))
        return max(self._least, in_steps(so_far)) * self._of_a_slot

    def seen(self, at: Numbers) -> Numbers:
        """A at looks, generously low."""
        so_far = np.searchsorted(self._times, at - JUDGED_S)
        return np.asarray(np.maximum(self._least, so_far) * self._of_a_slot)


class Looks:
    """When the exporter looks, and which of these looks is also one at learning."""

    def __init__(self, stream: Stream, settle_s: float) -> None:
        self._stream, self._settle_s = stream, settle_s
        self._learning = [float(stream.traffic.start)]
        self._of_day = lru_cache(_days_held(stream.traffic))(self._day)

    def seen_until(self, now: float) -> float:
        """The event time of the latest slot that a look may see."""
        return now - self._settle_s

    def settled(self, times: Numbers) -> Numbers:
        """The looks that see slots of these times first."""
        return np.asarray(np.ceil((times + self._settle_s) / _LOOK_S) * _LOOK_S)

    def _day(self, number: int) -> list[float]:
        midnight = self._stream.traffic.start + number * DAY
        days = [self._stream.day(one).all for one in (number - 1, number) if one >= 0]
        found = np.unique(self.settled(np.concatenate(days)))
        inside = found[(found > midnight) & (found < midnight + DAY)]
        return [float(midnight), *inside.tolist()]

    def between(self, begin: float, end: float) -> Iterator[float]:
        """Those with begin ≤ look < end."""
        number = self._stream.number(begin)
        while self._stream.traffic.start + number * DAY < end:
            looks = self._of_day(number)
            yield from looks[bisect_left(looks, begin) : bisect_left(looks, end)]
            number += 1

    def _next(self, least: float) -> float:
        number = self._stream.number(least)
        looks = self._of_day(number)
        index = bisect_left(looks, least)
        return looks[index] if index < len(looks) else looks[0] + DAY

    def learning(self, least: float) -> float:
        """The first look at learning from then on."""
        while self._learning[-1] < least:
            self._learning.append(self._next(self._learning[-1] + LEARN_EVERY_S))
        return self._learning[bisect_left(self._learning, least)]

    def last(self, end: float) -> float:
        """The last one up to then."""
        number = self._stream.number(end)
        looks = self._of_day(number)
        return looks[bisect_right(looks, end) - 1]
