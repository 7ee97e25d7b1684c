"""P, the time that evidence counts for: long where little is judged, so that there is enough.

And for how long slots are held to learn from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

DAY_S: Final = 86_400
#: Days that a period may last. Few steps: a pace that goes to and fro seldom changes it.
LENGTHS: Final = (1, 2, 4, 7, 14, 28)
#: Judged interactions that a period should have, at least.
ENOUGH: Final = 1_500
#: Whole days that the pace is taken from: a week, so that weekends change nothing.
RECENT_DAYS: Final = 7
#: Seconds that a first day is taken for at least: to so many it is known when it began.
LEAST_SEEN_S: Final = 150
#: Days that are looked at, for when it began.
KNOWN_DAYS: Final = 2 * RECENT_DAYS
#: So many empty days in a row are a long weekend; after more it begins anew.
_LONG_WEEKEND: Final = 4
#: Slots are held for a week and the day in which it is over: of an application that has few beside
#: others a baseline is learned from what a week gives.
LEARNING_S: Final = 8 * DAY_S
#: As long as that is no more than what one a second has in two days.
MOST_PER_DAY: Final = 20_000


class HorizonSpan(NamedTuple):
    """For how long slots count: ``period_s`` is P; ``learning_s`` what is held at least."""

    period_s: int
    learning_s: int = 0

    def most_held_s(self, windows_s: Iterable[int] = ()) -> int:
        """For how many seconds slots are held at most, with windows of so many seconds.

        At the end of a period those of the one before are held, too.

        >>> HorizonSpan(DAY_S).most_held_s([3_600]) == 2 * DAY_S
        True
        """
        return max(2 * self.period_s, self.learning_s, *windows_s)


def horizon_span(per_day: float | None) -> HorizonSpan:
    """What so many judged a day ask for.

    >>> horizon_span(1_200), horizon_span(50_000)
    (HorizonSpan(period_s=172800, learning_s=691200), HorizonSpan(period_s=86400, learning_s=0))
    """
    is_held = per_day is None or per_day <= MOST_PER_DAY
    return HorizonSpan(DAY_S * period_days(per_day), LEARNING_S if is_held else 0)


def period_days(per_day: float | None) -> int:
    """The shortest of ``LENGTHS`` with at least 1,500 judged; one day where no pace is known.

    >>> period_days(5_000), period_days(500), period_days(100), period_days(20), period_days(None)
    (1, 4, 28, 28, 1)
    """
    if per_day is None:
        return LENGTHS[0]
    return next((days for days in LENGTHS if days * per_day >= ENOUGH), LENGTHS[-1])


def day_bounds(now: float) -> list[int]:
    """Where the latest fourteen whole days (UTC) begin, and where the last one ends; epoch seconds.

    >>> day_bounds(15.5 * DAY_S)[::14]
    [86400, 1296000]
    """
    today = math.floor(now) // DAY_S * DAY_S
    return [today - days * DAY_S for days in range(KNOWN_DAYS, -1, -1)]


def began_on(counts: Sequence[int]) -> int | None:
    """The day of the first record since more than a long weekend without any; None without any.

    >>> began_on([9, 9, 9, 0, 0, 9, 9]), began_on([9, 0, 0, 0, 0, 0, 9, 9]), began_on([0, 0])
    (0, 6, None)
    """
    began, empty = None, 0
    for day in reversed(range(len(counts))):
        empty = 0 if counts[day] else empty + 1
        if counts[day]:
            began = day
        elif began is not None and empty > _LONG_WEEKEND:
            break
    return began


def that_count(counts: Sequence[int]) -> slice:
    """Those of the days of ``day_bounds`` that have a pace to tell; empty if none has.

    All of the last seven have, if it began before them. Else days before it do not count, and
    neither does its own, where others have records, too: it need not be whole. As long as none has,
    it counts alone, by ``part_seen``: it may have begun on a Friday.

    >>> week = [0] * 7
    >>> [that_count(counts) for counts in ([*week, 0, 0, 0, 0, 3, 30, 10], [*week, *week])]
    [slice(12, 14, None), slice(14, 14, None)]
    >>> that_count([7] * 5 + [0, 0] + [7] * 5 + [0, 0]), that_count([*week, 0, 0, 0, 0, 9, 0, 0])
    (slice(7, 14, None), slice(11, 12, None))
    """
    days = len(counts)
    recent, began = days - RECENT_DAYS, began_on(counts)
    if began is None or not any(counts[recent:]):
        return slice(days, days)
    if began < recent:
        return slice(recent, days)
    return slice(began + 1, days) if any(counts[began + 1 :]) else slice(began, began + 1)


def is_first_alone(counts: Sequence[int]) -> bool:
    """Whether the day on which it begins is the only one that counts: it need not be whole.

    >>> is_first_alone([0] * 13 + [9]), is_first_alone([0] * 12 + [9, 9])
    (True, False)
    """
    began = began_on(counts)
    return began is not None and that_count(counts) == slice(began, began + 1)


def part_seen(began: float, until: float) -> float:
    """The part of a day that ends at ``until``, from the first record on; some minutes at least.

    >>> part_seen(0.75 * DAY_S, DAY_S), part_seen(DAY_S - 5.0, DAY_S) * DAY_S
    (0.25, 150.0)
    """
    return max(LEAST_SEEN_S, until - began) / DAY_S


def pace(counts: Sequence[int], first: float | None = None) -> float | None:
    """Records a day, from those of the days of ``day_bounds``; None where there is none of late.

    ``first`` is the part of the first day that was seen, which matters as long as it is alone.

    >>> pace([0] * 11 + [1, 30, 10]), pace([0] * 14), pace([7] * 5 + [0, 0] + [7] * 5 + [0, 0])
    (20.0, None, 5.0)
    >>> pace([0] * 13 + [9], 0.25)
    36.0
    """
    found = counts[that_count(counts)]
    days = len(found) if first is None or not is_first_alone(counts) else first
    return sum(found) / days if found else None
