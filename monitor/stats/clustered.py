"""Estimates with 95 % intervals from observations that come in clusters. Pure.

Claims of one interaction are correlated: treating them as independent gives intervals that are
too short. The variance here is the linearised one over clusters (Taylor series, with replacement):
Var(θ̂) = m/(m − 1)·Σ z_c², z_c the sum of the influences of cluster c's observations. Binder, "On
the variances of asymptotically normal estimators from complex surveys", International Statistical
Review 51 (1983) 279–292; for proportions it is that of Rao & Scott, "A simple method for the
analysis of clustered binary data", Biometrics 48 (1992) 577–585.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from monitor.stats.estimate import wilson


class Estimated(NamedTuple):
    """A value with its 95 % interval; None where it is undefined.

    One cluster alone says nothing about the spread between clusters: then only the bounds are None.
    """

    value: float | None
    lower: float | None = None
    upper: float | None = None


UNDEFINED = Estimated(None)


def t_quantile(p: float, df: int) -> float:
    """The p quantile of Student's t distribution with ``df`` ≥ 1 degrees of freedom.

    Exact for 1 and 2; else the expansion of Abramowitz & Stegun, Handbook of Mathematical
    Functions, 26.7.5: at p = 0.975 right to 0.13 % at 3 and 0.005 % at 6 degrees of freedom.

    >>> [round(t_quantile(0.975, df), 2) for df in (1, 2, 5, 10, 100)]
    [12.71, 4.3, 2.57, 2.23, 1.98]
    """
    if df == 1:
        return math.tan(math.pi * (p - 0.5))
    if df == 2:
        return (2 * p - 1) / math.sqrt(2 * p * (1 - p))
    z: float = NormalDist().inv_cdf(p)
    terms: tuple[float, ...] = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    return z + math.fsum(term / float(df) ** k for k, term in enumerate(terms, 1))


def variance(influences: Sequence[float]) -> float:
    """m/(m − 1)·Σ z_c² of the m ≥ 2 clusters' influences, which sum to 0."""
    m = len(influences)
    return m / (m - 1) * math.fsum(z * z for z in influences)


def proportion(hits: Sequence[int], cases: Sequence[int]) -> Estimated:
    """Σ hits / Σ cases over clusters, with Wilson's interval at the effective number of cases.

    ``cases / design effect``, the design effect being the linearised variance over the binomial
    one, and at least 1; Student's t in place of the normal quantile (Korn & Graubard, "Confidence
    intervals for proportions with small expected number of positive counts estimated from survey
    data", Survey Methodology 24 (1998) 193–201). Where all cases are hits, or none is, the data
    say nothing of the design effect: then every cluster counts as one case.

    >>> proportion([1, 1, 1, 0], [1, 1, 1, 1]).value
    0.75
    >>> proportion([], [])
    Estimated(value=None, lower=None, upper=None)
    """
    pairs = [(hit, n) for hit, n in zip(hits, cases, strict=True) if n]
    total, m = sum(n for _, n in pairs), len(pairs)
    if not total:
        return UNDEFINED
    p = sum(hit for hit, _ in pairs) / total
    if m < 2:
        return Estimated(p)
    number: float = m
    if 0.0 < p < 1.0:
        spread = variance([(hit - p * n) / total for hit, n in pairs])
        number = effective(p, spread, total)
    return Estimated(p, *wilson(p, number, t_quantile(0.975, m - 1)))


def effective(p: float, spread: float, most: float) -> float:
    """How many independent cases give a proportion p the variance ``spread``; at most ``most``."""
    return min(most, p * (1.0 - p) / spread) if spread > 0.0 else most


def mean(clusters: Sequence[Sequence[float]]) -> Estimated:
    """The mean of all values, with Student's interval; empty clusters do not count.

    >>> mean([[0.25, 0.5], [0.75]]).value
    0.5
    """
    used = [cluster for cluster in clusters if cluster]
    n, m = sum(map(len, used)), len(used)
    if not n:
        return UNDEFINED
    middle = math.fsum(value for cluster in used for value in cluster) / n
    if m < 2:
        return Estimated(middle)
    spread = variance([math.fsum(v - middle for v in cluster) / n for cluster in used])
    half = t_quantile(0.975, m - 1) * math.sqrt(spread)
    return Estimated(middle, middle - half, middle + half)
