"""The area under the ROC curve, with an interval clustered by interaction. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from monitor.stats.clustered import UNDEFINED, Estimated, effective, t_quantile, variance
from monitor.stats.estimate import wilson

LabelledScore = tuple[bool, float]


def area(clusters: Sequence[Sequence[LabelledScore]]) -> Estimated:
    """The chance that a supported case scores higher than an unsupported one; ties count half.

    Undefined where one of the two is missing. The variance is Obuchowski's ("Nonparametric
    analysis of clustered ROC curve data", Biometrics 53 (1997) 567–578): the linearised one of
    ``monitor.stats.clustered`` with DeLong's placements as influences. The interval is Wilson's at
    the effective number of cases; at 0 and 1 that is the number of cases, or of clusters if there
    are fewer, of the rarer label.

    >>> area([[(True, 0.9)], [(True, 0.5)], [(False, 0.5)], [(False, 0.1)]]).value
    0.875
    """
    cases = _flat(clusters)
    high = sorted(score for label, score in cases if label)
    low = sorted(score for label, score in cases if not label)
    if not high or not low:
        return UNDEFINED
    placed = [[_placement(case, high, low) for case in cluster] for cluster in clusters if cluster]
    value = math.fsum(share for label, share in _flat(placed) if label) / len(high)
    if len(placed) < 2:
        return Estimated(value)
    number = float(min(len(high), len(low), len(placed)))
    if 0.0 < value < 1.0:
        sizes = {True: len(high), False: len(low)}
        spread = variance([sum((x - value) / sizes[label] for label, x in c) for c in placed])
        number = effective(value, spread, len(cases))
    return Estimated(value, *wilson(value, number, t_quantile(0.975, len(placed) - 1)))


def _placement(case: LabelledScore, high: Sequence[float], low: Sequence[float]) -> LabelledScore:
    """The share of the other label's cases that the case is on the right side of."""
    label, score = case
    return label, _below(low, score) if label else 1.0 - _below(high, score)


def _flat(clusters: Sequence[Sequence[LabelledScore]]) -> list[LabelledScore]:
    return [case for cluster in clusters for case in cluster]


def _below(ordered: Sequence[float], score: float) -> float:
    """The share of scores below this one; equal ones count half."""
    return (bisect_left(ordered, score) + bisect_right(ordered, score)) / 2 / len(ordered)
