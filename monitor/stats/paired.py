"""Two judges on the same verdicts: McNemar's test, exact for few, also by clusters. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

EXACT_BELOW: Final = 25
"""Fewer differing verdicts than this are tested exactly."""
EXACT_CLUSTERS: Final = 300
"""Up to so many interactions that tell two judges apart are tested exactly."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Of the verdicts that both gave: how many only the first, only the second had right.

    ``p`` is two-sided, of "neither is better", with every verdict on its own; ``p_clustered`` with
    the interaction as the unit, None where no interaction tells them apart.
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    p: float
    exact: bool
    p_clustered: float | None


def mcnemar(only_first: int, only_second: int) -> tuple[float, bool]:
    """The two-sided p value, and whether it is the exact one.

    Exact: binomial with ½; else χ² with Edwards' continuity correction. McNemar, "Note on the
    sampling error of the difference between correlated proportions or percentages", Psychometrika
    12 (1947) 153–157.

    >>> mcnemar(1, 9)
    (0.021484375, True)
    >>> round(mcnemar(10, 30)[0], 5)
    0.00266
    """
    differ = only_first + only_second
    if differ < EXACT_BELOW:
        few = min(only_first, only_second)
        tail = sum(math.comb(differ, k) for k in range(few + 1)) / 2**differ
        return min(1.0, 2 * tail), True
    distance = max(0, abs(only_first - only_second) - 1)
    return _chi2_1(distance**2 / differ), False


def compare(clusters: Sequence[Sequence[tuple[bool, bool]]]) -> Paired:
    """From (first right, second right) of every verdict, by interaction.

    For clusters, with d an interaction's difference: up to 300 that are not 0 by the signs that
    they could have had (Fisher's randomization test, exactly), beyond by (Σ d)²/Σ d² and χ² of one
    degree of freedom. Durkalski et al., "Analysis of clustered matched-pair data", Statistics in
    Medicine 22 (2003) 2417–2428; for few interactions it rejects twice as often as it says.

    >>> compare([[(True, False), (True, True)], [(True, False)], [(False, True)]]).only_first
    2
    """
    every = [pair for cluster in clusters for pair in cluster]
    first, second = every.count((True, False)), every.count((False, True))
    p, exact = mcnemar(first, second)
    differences = [sum(a - b for a, b in cluster) for cluster in clusters]
    return Paired(
        both=every.count((True, True)),
        only_first=first,
        only_second=second,
        neither=every.count((False, False)),
        p=p,
        exact=exact,
        p_clustered=_of_clusters([d for d in differences if d]),
    )


def _of_clusters(differences: Sequence[int]) -> float | None:
    if not differences:
        return None
    if len(differences) <= EXACT_CLUSTERS:
        return sign_flips(differences)
    return _chi2_1(sum(differences) ** 2 / sum(d * d for d in differences))


def sign_flips(differences: Sequence[int]) -> float:
    """The chance that |Σ ± d| is at least |Σ d|, every sign being as likely as the other.

    >>> sign_flips([1, 1, 1, 1]), sign_flips([2, -1])
    (0.125, 1.0)
    """
    ways = {0: 1}
    for d in differences:
        flipped: dict[int, int] = {}
        for total, number in ways.items():
            for sign in (d, -d):
                flipped[total + sign] = flipped.get(total + sign, 0) + number
        ways = flipped
    seen = abs(sum(differences))
    as_far = sum(n for total, n in ways.items() if abs(total) >= seen)
    return as_far / sum(ways.values())


def _chi2_1(x: float) -> float:
    """The chance of more than ``x`` under χ² with one degree of freedom."""
    return math.erfc(math.sqrt(x / 2))
