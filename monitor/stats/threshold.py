"""A, the threshold of the evidence, from the promise «at most F false alarms a week»."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from typing import Final

WEEK_S: Final = 604_800
DAY_S: Final = 86_400
#: Slots a day that are counted at least: the first ones of a new installation promise little.
LEAST_PER_DAY: Final = 60.0
#: A count that goes on growing is taken in steps of this, from so many on: evidence that is above
#: the threshold is computed again with every new one, and that of a day takes a while.
_STEP, _EXACT_UP_TO = 1.05, 1_000


def threshold(values_per_week: float, false_alarms_per_week: float) -> float:
    """A = Σ n/F: the average run length of each detector that keeps all alarms together below F.

    ``values_per_week`` is Σ n: over the watched metrics, how many slots of all applications have a
    value. So applications need no further factor.

    >>> threshold(3 * 604_800, false_alarms_per_week=1.0)
    1814400.0
    """
    return values_per_week / false_alarms_per_week


def in_steps(count: int) -> float:
    """A count that is still growing, beyond 1,000 rounded up to one of steps of 5 %.

    >>> in_steps(999), in_steps(1_000), round(in_steps(1_001)), round(in_steps(1_049))
    (999.0, 1000.0, 1050, 1050)
    """
    if count <= _EXACT_UP_TO:
        return float(count)
    return _EXACT_UP_TO * _STEP ** math.ceil(math.log(count / _EXACT_UP_TO, _STEP) - 1e-9)


class SlotsPerWeek:
    """How many slots there are in a week, seen over the current and the previous period.

    >>> pace = SlotsPerWeek(period_s=86_400)
    >>> for minute in range(2_160): pace.add(minute * 60.0)
    >>> pace.per_week(36 * 3_600.0), round(pace.per_week(20 * 3_600.0))
    (10080.0, 8509)
    >>> SlotsPerWeek(period_s=86_400).per_week(0.0)
    420.0
    """

    def __init__(self, period_s: int) -> None:
        self._period_s = period_s
        self._times: list[float] = []
        self._floor = -math.inf

    def add(self, event_time: float) -> None:
        """A slot counts; its event time in epoch seconds."""
        if event_time >= self._floor:
            insort(self._times, event_time)

    def take(self, event_time: float) -> None:
        """It counts no longer."""
        if event_time < self._floor:
            return
        index = bisect_left(self._times, event_time)
        if self._times[index : index + 1] != [event_time]:
            raise KeyError(event_time)
        del self._times[index]

    def drop_before(self, event_time: float) -> None:
        """Forget the slots before this time for good."""
        self._floor = max(self._floor, event_time)
        del self._times[: bisect_left(self._times, event_time)]

    def per_week(self, now: float) -> float:
        """The larger of the previous period's count and this one's so far, scaled to a week.

        At least 60 a day: false alarms of the first day are then at most
        F/7·(1 + ln(slots of the day/60)), whatever the traffic is.
        """
        start = now // self._period_s * self._period_s
        previous = start - self._period_s
        counts = (
            float(self._between(previous, start, whole=False)),
            in_steps(self._between(start, now)),
        )
        return max(*counts, LEAST_PER_DAY * self._period_s / DAY_S) * WEEK_S / self._period_s

    def most_a_day(self, now: float) -> int | None:
        """Slots of the day (UTC) that has most of those held; None before one is held as a whole.

        >>> pace = SlotsPerWeek(period_s=86_400)
        >>> for hour in range(60): pace.add(79_200.0 + 3_600 * hour)
        >>> pace.most_a_day(90_000.0), pace.most_a_day(172_000.0), pace.most_a_day(172_800.0)
        (None, None, 24)
        """
        today = math.floor(now / DAY_S)
        first = math.floor(self._times[0] / DAY_S) if self._times else today
        if first >= today - 1:
            return None
        days = range(first, today + 1)
        return max(self._between(day * DAY_S, (day + 1) * DAY_S, whole=False) for day in days)

    def _between(self, start: float, end: float, *, whole: bool = True) -> int:
        side = bisect_right if whole else bisect_left
        return side(self._times, end) - bisect_left(self._times, start)
