"""How far a judge's verdicts agree with labels, with intervals clustered by interaction. Pure.

Positive is "supported". Point estimates are those of the pooled table; what the intervals are is
said at each function and in ``monitor.stats.clustered``. Their coverage in simulations is printed
by tests/benchmarks/agreement.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from monitor.stats.clustered import (
    UNDEFINED,
    Estimated,
    effective,
    proportion,
    t_quantile,
    variance,
)
from monitor.stats.estimate import wilson


@dataclass(frozen=True, slots=True)
class Confusion:
    """Verdicts by label: ``tp`` supported and said so, ``fp`` said so wrongly, and so on.

    The measures are None where they are undefined (nothing to divide by).
    """

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @classmethod
    def of(cls, label: bool, verdict: bool) -> Confusion:
        """The table of one verdict."""
        return cls(label and verdict, verdict and not label, label and not verdict,
                   not label and not verdict)  # fmt: skip

    def __add__(self, other: Confusion) -> Confusion:
        """Both tables together."""
        return Confusion(
            self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn
        )

    @property
    def n(self) -> int:
        """The number of verdicts."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def kappa(self) -> float | None:
        """Cohen's κ = (p_o − p_e)/(1 − p_e); None where chance alone agrees fully (p_e = 1).

        Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
        Measurement 20 (1960) 37–46. In whole numbers until the last division.

        >>> Confusion(tp=20, fp=5, fn=10, tn=15).kappa
        0.4
        """
        by_chance = (self.tp + self.fp) * (self.tp + self.fn) + (self.fn + self.tn) * (
            self.fp + self.tn
        )
        rest = self.n**2 - by_chance
        return (self.n * (self.tp + self.tn) - by_chance) / rest if rest else None


def pooled(tables: Iterable[Confusion]) -> Confusion:
    """The sum of several tables."""
    return reduce(add, tables, Confusion())


@dataclass(frozen=True, slots=True)
class Agreement:
    """The pooled table of ``clusters`` interactions and its measures."""

    confusion: Confusion
    clusters: int
    accuracy: Estimated
    balanced_accuracy: Estimated
    precision: Estimated
    recall: Estimated
    specificity: Estimated
    kappa: Estimated


def agreement(clusters: Sequence[Confusion]) -> Agreement:
    """All measures, from one table per interaction; empty tables do not count.

    >>> found = agreement([Confusion(tp=2), Confusion(tp=1, fn=1), Confusion(tn=3, fp=1)])
    >>> found.confusion, found.recall.value, found.precision.value
    (Confusion(tp=3, fp=1, fn=1, tn=3), 0.75, 0.75)
    >>> found.balanced_accuracy.value, found.kappa.value
    (0.75, 0.5)
    """
    tables = [table for table in clusters if table.n]
    recall = proportion([t.tp for t in tables], [t.tp + t.fn for t in tables])
    specificity = proportion([t.tn for t in tables], [t.tn + t.fp for t in tables])
    return Agreement(
        confusion=pooled(tables),
        clusters=len(tables),
        accuracy=proportion([t.tp + t.tn for t in tables], [t.n for t in tables]),
        balanced_accuracy=_balanced(tables, recall, specificity),
        precision=proportion([t.tp for t in tables], [t.tp + t.fp for t in tables]),
        recall=recall,
        specificity=specificity,
        kappa=_kappa(tables),
    )


def _balanced(tables: Sequence[Confusion], recall: Estimated, specificity: Estimated) -> Estimated:
    """(recall + specificity)/2, its interval recovered from theirs and their correlation.

    Method of variance estimates recovery: Zou & Donner, "Construction of confidence limits about
    effect measures: a general approach", Statistics in Medicine 27 (2008) 1693–1702.
    """
    if recall.value is None or specificity.value is None:
        return UNDEFINED
    value = (recall.value + specificity.value) / 2
    if None in (*recall, *specificity):
        return Estimated(value)
    r = _correlation(tables, recall.value, specificity.value)
    below = _both(
        recall.value - (recall.lower or 0), specificity.value - (specificity.lower or 0), r
    )
    above = _both(
        (recall.upper or 0) - recall.value, (specificity.upper or 0) - specificity.value, r
    )
    return Estimated(value, max(0.0, value - below / 2), min(1.0, value + above / 2))


def _both(a: float, b: float, r: float) -> float:
    return math.sqrt(max(0.0, a * a + 2 * r * a * b + b * b))


def _correlation(tables: Sequence[Confusion], recall: float, specificity: float) -> float:
    """Between the errors of recall and specificity; 0 where one of them has no spread."""
    a = [t.tp - recall * (t.tp + t.fn) for t in tables]
    b = [t.tn - specificity * (t.tn + t.fp) for t in tables]
    scale = math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / scale if scale else 0.0


def _kappa(tables: Sequence[Confusion]) -> Estimated:
    """κ with Wilson's interval for (1 + κ)/2 at the effective number of cases.

    That is a proportion in all but name: at p_e = ½ it is the share of agreeing verdicts. The
    variance is the linearised one over clusters. n independent verdicts are worth at most
    2n(1 − p_e) cases of it; where all agree, or none does, n is the number of clusters.
    """
    whole, m = pooled(tables), len(tables)
    value = whole.kappa
    if value is None:
        return UNDEFINED
    if m < 2:
        return Estimated(value)
    pa, pb = (whole.tp + whole.fn) / whole.n, (whole.tp + whole.fp) / whole.n
    rest = 1.0 - (pa * pb + (1 - pa) * (1 - pb))
    half = (1.0 + value) / 2
    if 0.0 < half < 1.0:
        spread = variance([_kappa_influence(t, whole.n, pa, pb, value) / rest for t in tables])
        number = effective(half, spread / 4, 2 * whole.n * rest)
    else:
        number = 2 * m * rest
    lower, upper = wilson(half, number, t_quantile(0.975, m - 1))
    return Estimated(value, 2 * lower - 1, 2 * upper - 1)


def _kappa_influence(t: Confusion, n: int, pa: float, pb: float, kappa: float) -> float:
    """(1 − p_e)·dκ = dp_o − (1 − κ)·dp_e of one cluster, less its share of the total."""
    observed = 1.0 - (1.0 - kappa) * (1.0 - (pa * pb + (1 - pa) * (1 - pb)))
    d_observed = t.tp + t.tn - observed * t.n
    d_label = t.tp + t.fn - pa * t.n
    d_verdict = t.tp + t.fp - pb * t.n
    d_chance = (2 * pb - 1) * d_label + (2 * pa - 1) * d_verdict
    return (d_observed - (1.0 - kappa) * d_chance) / n
