"""A column of scores as people look at it: mean, median, spread, quartiles, histogram. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Final, NamedTuple

#: Equal parts of [0, 1] in which a histogram counts.
BINS: Final = 10


class ColumnStatistics(NamedTuple):
    """What a column of ``n`` scores comes to; ``n`` is at least 1.

    ``deviation`` is the sample's (divided by n − 1, as in pandas), None of a single score.
    ``lower_quartile`` and ``upper_quartile`` are interpolated between ranks, as in numpy.
    """

    n: int
    mean: float
    median: float
    min: float
    max: float
    deviation: float | None
    lower_quartile: float
    upper_quartile: float


def described(scores: Sequence[float]) -> ColumnStatistics | None:
    """The statistics of scores in any order; None without one.

    >>> found = described([0.0, 0.5, 1.0, 0.5])
    >>> found.mean, found.median, found.min, found.max, round(found.deviation, 4)
    (0.5, 0.5, 0.0, 1.0, 0.4082)
    >>> described([0.25]).deviation is None, described([]) is None
    (True, True)
    """
    if not scores:
        return None
    ordered, n = sorted(scores), len(scores)
    mean = math.fsum(ordered) / n
    squares = math.fsum((score - mean) ** 2 for score in ordered)
    return ColumnStatistics(
        n,
        mean,
        statistics.median(ordered),
        ordered[0],
        ordered[-1],
        math.sqrt(squares / (n - 1)) if n > 1 else None,
        _quantile(ordered, 0.25),
        _quantile(ordered, 0.75),
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Between the two ranks at ``share · (n − 1)`` (Hyndman and Fan 1996, type 7)."""
    rank = share * (len(ordered) - 1)
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (rank - low) * (ordered[high] - ordered[low])


def histogram(scores: Sequence[float], bins: int = BINS) -> tuple[int, ...]:
    """How many scores lie in each of ``bins`` equal parts of [0, 1]; the last holds 1, too.

    >>> histogram([0.0, 0.05, 0.1, 0.95, 1.0])
    (2, 1, 0, 0, 0, 0, 0, 0, 0, 2)
    >>> histogram([3 / 10, 0.7])  # where a part begins, whatever the rounding of a product says
    (0, 0, 0, 1, 0, 0, 0, 1, 0, 0)
    """
    counts = [0] * bins
    for score in scores:
        part = min(bins - 1, int(score * bins))
        if part + 1 < bins and score >= (part + 1) / bins:
            part += 1
        elif score < part / bins:
            part -= 1
        counts[part] += 1
    return tuple(counts)


def whiskers(scores: Sequence[float], found: ColumnStatistics) -> tuple[float, float]:
    """The farthest scores within 1.5 interquartile ranges of the quartiles (Tukey 1977).

    >>> scores = [0.0, 0.4, 0.5, 0.5, 0.6]
    >>> whiskers(scores, described(scores))
    (0.4, 0.6)
    """
    reach = 1.5 * (found.upper_quartile - found.lower_quartile)
    near = [
        score
        for score in scores
        if found.lower_quartile - reach <= score <= found.upper_quartile + reach
    ]
    return min(near), max(near)
