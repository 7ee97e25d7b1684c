"""P, the time that evidence counts for: long where little is judged, so that there is enough.

And for how long slots are held to learn from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

DAY_S: Final = 86_400
#: Days that a period may last. Few steps: a pace that goes to and fro seldom changes it.
LENGTHS: Final = (1, 2, 4, 7, 14, 28)
#: Judged interactions that a period should have, at least.
ENOUGH: Final = 1_500
#: Whole days that the pace is taken from: a week, so that weekends change nothing.
RECENT_DAYS: Final = 7
#: Slots are held for a week and the day in which it is over: of an application that has few beside
#: others a baseline is learned from what a week gives.
LEARNING_S: Final = 8 * DAY_S
#: As long as that is no more than what one a second has in two days.
MOST_PER_DAY: Final = 20_000


class HorizonSpan(NamedTuple):
    """For how long slots count: ``period_s`` is P; ``learning_s`` what is held at least."""

    period_s: int
    learning_s: int = 0


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
    """Where the latest seven whole days (UTC) begin, and where the last one ends; epoch seconds.

    >>> day_bounds(8.5 * DAY_S)[::7]
    [86400, 691200]
    """
    today = math.floor(now) // DAY_S * DAY_S
    return [today - days * DAY_S for days in range(RECENT_DAYS, -1, -1)]


def first_that_counts(counts: Sequence[int], earlier: int) -> int:
    """The first of these days that has a pace to tell; their number where none has.

    All have where there are ``earlier`` records: a weekend is no begin. Else days before the first
    record do not count, and neither does its own, where another one follows: it need not be whole.

    >>> [first_that_counts(counts, 0) for counts in ([0, 0, 3, 30, 10], [30, 10], [0, 3], [0, 0])]
    [3, 0, 1, 2]
    >>> first_that_counts([0, 0, 3, 30, 10], 1)
    0
    """
    if earlier:
        return 0
    first = next((day for day, count in enumerate(counts) if count), len(counts))
    return first + 1 if 0 < first < len(counts) - 1 else first


def pace(counts: Sequence[int], earlier: int) -> float | None:
    """Records a day, from those of whole days and the number of ``earlier`` ones.

    None where there is none at all.

    >>> pace([0, 0, 0, 0, 1, 30, 10], 0), pace([0] * 7, 0), pace([0, 0, 7, 7, 7, 7, 7], 35)
    (20.0, None, 5.0)
    """
    since = counts[first_that_counts(counts, earlier) :]
    return sum(since) / len(since) if since and (earlier or any(since)) else None
