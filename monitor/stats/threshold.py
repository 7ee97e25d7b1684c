"""A, the threshold of the evidence, from the promise «at most F false alarms a week»."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from typing import Final

WEEK_S: Final = 604_800
#: One judged interaction a second, until it is known how many there are.
UNKNOWN_PER_WEEK: Final = 604_800.0
_WHOLE_PERIOD_SLACK_S: Final = 3_600


def threshold(judged_per_week: float, metrics: int, false_alarms_per_week: float) -> float:
    """A = N·M/F: the average run length of each detector that keeps all alarms together below F.

    Applications need no further factor, as their slots add up to N.

    >>> threshold(604_800, metrics=3, false_alarms_per_week=1.0)
    1814400.0
    """
    return judged_per_week * metrics / false_alarms_per_week


class SlotsPerWeek:
    """How many slots are counted in a week, seen over the current and the previous period.

    What counts before them, in a horizon that is longer, says that the previous one is whole.

    >>> pace = SlotsPerWeek(period_s=86_400)
    >>> for hour in range(36): pace.add(hour * 3_600.0)
    >>> pace.per_week(36 * 3_600.0)
    168.0
    >>> pace.take(0.0); pace.take(3_600.0); pace.per_week(36 * 3_600.0) == UNKNOWN_PER_WEEK
    True
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

        While the oldest slot is younger than the start of the previous period and an hour, the
        periods are not full: then one judged interaction a second is taken. So it is without a
        slot in either.
        """
        start = now // self._period_s * self._period_s
        previous = start - self._period_s
        if not self._between(previous, now):
            return UNKNOWN_PER_WEEK
        if self._times[0] >= previous + _WHOLE_PERIOD_SLACK_S:
            return UNKNOWN_PER_WEEK
        counts = (self._between(previous, start, whole=False), self._between(start, now))
        return max(counts) * WEEK_S / self._period_s

    def _between(self, start: float, end: float, *, whole: bool = True) -> int:
        side = bisect_right if whole else bisect_left
        return side(self._times, end) - bisect_left(self._times, start)
