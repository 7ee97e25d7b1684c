"""The mean of a window and its 95 % interval, from sums.

The estimate is θ̂ = ΣWG / ΣWH. The interval is Wilson's (1927) score interval at p = θ̂ with the
effective number h·K/(D·V): K = (ΣW)²/ΣW² (Kish) for unequal weights, h the share of the picks that
are scored, D for how far the spread of the scored is from that of a proportion, V for scores that
repeat each other (``monitor/stats/dependence.py``). (D held against K
instead of h·K, and limited as it is, counts picks without a value as if they had one: with half of
them unscored the interval then covers the mean 90 times in 100; tests/benchmarks/coverage.py.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from monitor.stats.binomial import at_least
from monitor.stats.sums import ENOUGH_SCORED, SCALE, Sums, as_worse

Z95: Final = 1.959963984540054
"""The 0.975 quantile of the standard normal distribution."""
SURELY: Final = 0.001
"""So seldom somebody is woken by what is only chance: a one-sided bound of 99.9 %."""

_D_SMALLEST, _D_LARGEST = 0.05, 1.5
_MISSING_TOLERATED: Final = 0.05


@dataclass(frozen=True, slots=True)
class Estimate:
    """One window of one series, in the direction of its metric.

    ``value``, ``lower`` and ``upper`` are None when there is nothing to estimate from, and
    ``missing_ratio`` (the weighted share of picks whose judgement failed) when there is no pick.
    ``samples`` is the effective number of scored interactions, ``trials`` how many independent
    answers, right or wrong, tell as much. ``variance`` is that of the mean, for what is computed
    from it.
    """

    value: float | None
    lower: float | None
    upper: float | None
    samples: float
    missing_ratio: float | None
    trials: float | None = None
    variance: float | None = None


def wilson(p: float, n: float, z: float = Z95) -> tuple[float, float]:
    """The score interval of a proportion p seen on n (not necessarily whole) trials, n > 0.

    >>> [round(bound, 4) for bound in wilson(0.0, 20)]
    [0.0, 0.1611]
    >>> [round(bound, 4) for bound in wilson(81 / 263, 263)]
    [0.2553, 0.3662]
    """
    shrink = 1.0 + z * z / n
    centre = (p + z * z / (2.0 * n)) / shrink
    half = z * math.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n)) / shrink
    # At p = 0 and p = 1 the bound is p itself, but for the rounding of the square root.
    return max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))


def estimate(
    window: Sums, horizon: Sums, higher_is_better: bool | None, dependence: float = 1.0
) -> Estimate:
    """The estimate of a window; ``horizon`` holds the same series over its whole horizon.

    ``dependence`` is V of the series.

    >>> from monitor.stats.sums import ZERO, terms
    >>> def scored(x):
    ...     return terms(m=1, q=1.0, u=1.0, f_mean=0.0, f=0.0, value_as_worse=x, failed=False)
    >>> window = scored(0.0).plus(scored(0.0)).plus(scored(0.0)).plus(scored(1.0))
    >>> found = estimate(window, window, higher_is_better=True)
    >>> found.value, found.samples, found.missing_ratio
    (0.75, 4.0, 0.0)
    >>> round(found.lower, 4), round(found.upper, 4)
    (0.3006, 0.9544)
    >>> estimate(ZERO, window, higher_is_better=True)
    Estimate(value=None, lower=None, upper=None, samples=0.0, missing_ratio=None, trials=None,
             variance=None)
    """
    return estimate_beside(window, long_spread(horizon), higher_is_better, dependence)


def is_surely_worse(found: Estimate, bound: float, higher_is_better: bool | None) -> bool:
    """Whether the mean is worse than ``bound``, and not by chance.

    That is, whether the better one-sided 99.9 % bound of the mean is worse, by Clopper and Pearson
    with the effective number of trials (``monitor/stats/binomial.py``). Wilson's interval says so
    twice as often as it may for one in ten, and of rare events far oftener: two wrong of 30 are
    worse than 1 % by it, which comes by chance one time in 28. Picks whose
    judgement failed count as in ``widened``. With no estimate it is not known, and False.

    >>> from functools import partial
    >>> of = partial(is_surely_worse, bound=0.99, higher_is_better=True)
    >>> [of(Estimate(1 - wrong / 30, None, None, 30.0, 0.0, 30.0)) for wrong in (2, 3, 4, 5)]
    [False, False, True, True]
    """
    if found.value is None or found.trials is None:
        return False
    worst = as_worse(bound, higher_is_better)
    missing = found.missing_ratio or 0.0
    if missing > _MISSING_TOLERATED:
        worst /= max(1.0 - missing, worst)
    p = as_worse(found.value, higher_is_better)
    return p > worst and at_least(p * found.trials, found.trials, worst) < SURELY


def long_spread(horizon: Sums) -> float:
    """D of a series over its whole horizon; 1 while it has too few scored slots to tell."""
    found = _relative_variance(horizon) if horizon.scored >= ENOUGH_SCORED else None
    return 1.0 if found is None else found


def estimate_beside(
    window: Sums, long: float, higher_is_better: bool | None, dependence: float = 1.0
) -> Estimate:
    """``estimate`` with the ``long_spread`` of the horizon: for several windows of one series."""
    missing = window.w_failed / window.w if window.w else None
    if missing is None or not window.scored or window.wh <= 0:
        return Estimate(None, None, None, 0.0, missing)
    p, n = _clipped(window), trials(window, long, dependence)
    lower, upper = turned(widened(wilson(p, n), missing), higher_is_better)
    value = as_worse(p, higher_is_better)
    h = window.wh / window.w
    return Estimate(value, lower, upper, h * _kish(window), missing, n, _variance(p, n))


def trials(window: Sums, long: float, dependence: float = 1.0) -> float:
    """How many independent answers, right or wrong, tell as much: h·K/(D·V), of a scored window.

    >>> from monitor.stats.sums import terms
    >>> half = terms(m=1, q=1.0, u=1.0, f_mean=0.0, f=0.0, value_as_worse=0.5, failed=False)
    >>> trials(half.plus(half), 0.5), trials(half.plus(half), 0.5, dependence=2.0)
    (4.0, 2.0)
    """
    # The larger of the window's and the horizon's spread: a lucky window is not believed. Where
    # all scores are 0 or 1 it has none of its own, and one that is hardly off changes nothing.
    own = _relative_variance(window)
    spread = min(_D_LARGEST, max(_D_SMALLEST, long, long if own is None else own))
    return min(1.0, window.wh / window.w) * _kish(window) / (spread * dependence)


def _kish(window: Sums) -> float:
    return window.w * window.w / (window.w2 * SCALE)


def widened(bounds: tuple[float, float], missing: float) -> tuple[float, float]:
    """Bounds with larger meaning worse, wide enough for a share of picks whose judgement failed.

    Above 5 % the missing ones count as if all of them were right, or all wrong.

    >>> widened((0.25, 0.5), 0.05), widened((0.25, 0.5), 0.5)
    ((0.25, 0.5), (0.125, 0.75))
    """
    lower, upper = bounds
    if missing <= _MISSING_TOLERATED:
        return bounds
    return (1.0 - missing) * lower, (1.0 - missing) * upper + missing


def turned(bounds: tuple[float, float], higher_is_better: bool | None) -> tuple[float, float]:
    """Bounds with larger meaning worse, in the direction of the metric; its own inverse.

    >>> turned((0.125, 0.25), higher_is_better=True)
    (0.75, 0.875)
    """
    lower, upper = bounds
    return (as_worse(upper, True), as_worse(lower, True)) if higher_is_better else bounds


def _variance(p: float, n: float) -> float:
    """p(1 − p)/n, and not less than where nothing is wrong: a small window is never certain.

    At p = 0 and p = 1 Wilson's interval is z²/(n + z²) wide; half of that is z standard errors.
    """
    return max(p * (1.0 - p) / n, (Z95 / (2.0 * (n + Z95 * Z95))) ** 2)


def _clipped(sums: Sums) -> float:
    return min(1.0, max(0.0, sums.wg / sums.wh))


def _relative_variance(sums: Sums) -> float | None:
    """(ΣW²e²/ΣW²) / (h·p(1 − p)) with e = G − θ̂·H, h = ΣWH/ΣW; None where it is undefined.

    In a segment that is picked less than others h can be above 1: then h² is divided by.
    """
    if sums.wh <= 0:
        return None
    p = _clipped(sums)
    binomial = p * (1.0 - p)
    if binomial == 0.0:
        return None
    theta, h = sums.wg / sums.wh, sums.wh / sums.w
    squares = sums.w2g2 - 2.0 * theta * sums.w2gh + theta * theta * sums.w2h2
    return max(0.0, squares) / sums.w2 / (h * max(1.0, h) * binomial)
