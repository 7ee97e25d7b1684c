"""The threshold that labels ask for: where balanced accuracy is best, and how sure that is. Pure.

Of all cuts between two neighbouring scores the one with the best balanced accuracy is taken, the
middle one of several as good. Its interval is the percentile bootstrap by cluster (Davison &
Hinkley, "Bootstrap methods and their application", 1997, section 3.8): whole groups are drawn, as
pairs of one interaction err together. What the threshold is worth is measured on the groups that a
sample leaves out: on the labels that it was learned from it looks better than it is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from monitor.judge_check.cases import LabelledCase, by_cluster
from monitor.stats.clustered import Estimated
from monitor.stats.ranking import LabelledScore, area

#: Bootstrap samples, fewer where they would take more than so many steps in all (some seconds).
SAMPLES: Final = 1_000
MOST_STEPS: Final = 20_000_000
_FEWEST: Final = 100

Draw = Callable[[int], int]
"""n → one of 0…n − 1, each as likely."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A threshold learned from ``pairs`` labelled pairs in ``groups`` groups.

    Balanced accuracies: ``configured`` of the verdicts as they were given, ``fitted`` by the
    learned threshold on the same pairs, ``left_out`` the mean on groups that it has not seen.
    """

    pairs: int
    groups: int
    samples: int
    threshold: Estimated
    configured: float
    fitted: float
    left_out: float | None
    auc: Estimated


class _Scale:
    """The scores in descending order, and each group's labels by their place in it."""

    def __init__(self, clusters: Sequence[Sequence[LabelledScore]]) -> None:
        self.scores = sorted({score for cluster in clusters for _, score in cluster}, reverse=True)
        place = {score: i for i, score in enumerate(self.scores)}
        self.cuts = [short(below, above) for above, below in pairwise(self.scores)]
        self.groups = [Counter((place[s], label) for label, s in cluster) for cluster in clusters]

    def table(self, weights: Mapping[int, int]) -> list[tuple[int, int]]:
        """(supported, not supported) by place, each group as often as it weighs."""
        found = [[0, 0] for _ in self.scores]
        for group, weight in weights.items():
            for (place, label), n in self.groups[group].items():
                found[place][not label] += weight * n
        return [(yes, no) for yes, no in found]

    def best(self, table: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
        """The threshold and its balanced accuracy; None without both labels, or two scores."""
        total_yes, total_no = (sum(column) for column in zip(*table, strict=True))
        if not (total_yes and total_no and len(self.scores) > 1):
            return None
        yes = no = 0
        worths: list[float] = []
        for here in table[:-1]:
            yes, no = yes + here[0], no + here[1]
            worths.append((yes / total_yes + 1 - no / total_no) / 2)
        top = max(worths)
        # A sum of two quotients is not the same to the last bit.
        best = [i for i, worth in enumerate(worths) if worth > top - 1e-12]
        return self.cuts[best[len(best) // 2]], top

    def worth(self, table: Sequence[tuple[int, int]], threshold: float) -> float | None:
        """The balanced accuracy by a threshold; None without both labels."""
        yes, no = (sum(column) for column in zip(*table, strict=True))
        if not (yes and no):
            return None
        kept = [here for score, here in zip(self.scores, table, strict=True) if score >= threshold]
        found, false = (sum(here[i] for here in kept) for i in (0, 1))
        return float(found / yes + 1 - false / no) / 2


def short(below: float, above: float) -> float:
    """The number between both with the fewest decimals: a cut that people can copy.

    >>> short(0.2, 0.4), short(0.26171, 0.26224), short(0.0, 1.0), short(0.96, 1.0)
    (0.3, 0.262, 0.5, 0.98)
    """
    between = (below + above) / 2
    tried = (round(between, decimals) for decimals in range(1, 17))
    return next((cut for cut in tried if below < cut < above), between)


def fit(found: Sequence[LabelledCase], draw: Draw) -> Fit | None:
    """The fit to the cases that have scores; None without two scores and both labels."""
    scored = [case for case in found if case.score is not None]
    clusters = [
        [(case.label, case.score or 0.0) for case in cluster]
        for cluster in by_cluster(scored).values()
    ]
    if not clusters:
        return None
    scale = _Scale(clusters)
    best = scale.best(scale.table(dict.fromkeys(range(len(clusters)), 1)))
    if best is None:
        return None
    threshold, fitted = best
    drawn, unseen = _sampled(scale, len(clusters), draw)
    return Fit(
        pairs=len(scored),
        groups=len(clusters),
        samples=len(drawn),
        threshold=Estimated(threshold, *_bounds(drawn)),
        configured=_balanced(scored),
        fitted=fitted,
        left_out=math.fsum(unseen) / len(unseen) if unseen else None,
        auc=area(clusters),
    )


def _sampled(scale: _Scale, groups: int, draw: Draw) -> tuple[list[float], list[float]]:
    """The thresholds of the samples, and what they are worth on the groups left out."""
    steps = len(scale.scores) + sum(map(len, scale.groups))
    samples = max(_FEWEST, min(SAMPLES, MOST_STEPS // max(1, steps)))
    thresholds, unseen = list[float](), list[float]()
    for _ in range(samples if groups > 1 else 0):
        weights = Counter(draw(groups) for _ in range(groups))
        best = scale.best(scale.table(weights))
        if best is None:
            continue
        thresholds.append(best[0])
        rest = dict.fromkeys(set(range(groups)) - weights.keys(), 1)
        worth = scale.worth(scale.table(rest), best[0])
        if worth is not None:
            unseen.append(worth)
    return thresholds, unseen


def _bounds(drawn: Sequence[float]) -> tuple[float | None, float | None]:
    """The 2.5 and 97.5 percentiles."""
    if not drawn:
        return None, None
    ordered = sorted(drawn)
    return ordered[int(0.025 * len(ordered))], ordered[math.ceil(0.975 * len(ordered)) - 1]


def _balanced(found: Sequence[LabelledCase]) -> float:
    """Of the verdicts as they were given; both labels occur."""
    shares = [[case.right for case in found if case.label is label] for label in (True, False)]
    return math.fsum(sum(right) / len(right) for right in shares) / 2
