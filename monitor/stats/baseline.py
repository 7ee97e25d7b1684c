"""What «normal» is for one metric of one application and judge, learned or given.

Larger means worse throughout. A segment's mean is drawn towards the mean of all with the weight
of five judgements, so that a rare segment does not get a baseline of its own accidents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

PRIOR_WEIGHT: Final = 5.0
MOST_SEGMENTS: Final = 20


class ScoredPick(NamedTuple):
    """A scored pick: its segment ("" without one), u, and its value."""

    segment: str
    u: float
    value: float


@dataclass(frozen=True)
class Baseline:
    """b of a segment is its mean + SE + tolerate; a segment that is not known has the mean."""

    mean: float
    se: float
    segments: Mapping[str, float]

    def of(self, segment: str, tolerate: float = 0.0) -> float:
        """B of a segment, at most 1.

        >>> Baseline(0.25, 0.125, {"acme": 0.5}).of("acme"), Baseline(0.25, 0.0, {}).of("acme")
        (0.625, 0.25)
        """
        return min(1.0, self.segments.get(segment, self.mean) + self.se + tolerate)

    def overall(self, tolerate: float = 0.0) -> float:
        """The mean + SE + tolerate, at most 1: what is shown."""
        return min(1.0, self.mean + self.se + tolerate)


def learned(picks: Iterable[ScoredPick]) -> Baseline | None:
    """The baseline of the picks, in any order; None without one.

    mean = Σux/Σu; mean_s = (Σ_s ux + 5·mean)/(Σ_s u + 5); SE² = (Σu²(x − mean)² + 1)/(Σu)².
    Segments beyond the 20 most frequent, and the empty one, have the mean.

    >>> picks = [ScoredPick("a", 1.0, 0.0), ScoredPick("a", 1.0, 0.5), ScoredPick("", 1.0, 1.0)]
    >>> found = learned(picks)
    >>> found.mean, round(found.se, 4), found.segments
    (0.5, 0.4082, {'a': 0.42857142857142855})
    """
    held = list(picks)
    total = math.fsum(pick.u for pick in held)
    if not total:
        return None
    mean = math.fsum(pick.u * pick.value for pick in held) / total
    squares = math.fsum((pick.u * (pick.value - mean)) ** 2 for pick in held)
    by_segment: dict[str, list[ScoredPick]] = {}
    for pick in held:
        by_segment.setdefault(pick.segment, []).append(pick)
    by_segment.pop("", None)
    frequent = sorted(by_segment, key=lambda name: (-len(by_segment[name]), name))[:MOST_SEGMENTS]
    segments = {name: _drawn(by_segment[name], mean) for name in sorted(frequent)}
    return Baseline(mean, math.sqrt(squares + 1.0) / total, segments)


def _drawn(picks: list[ScoredPick], mean: float) -> float:
    weight = math.fsum(pick.u for pick in picks)
    value = math.fsum(pick.u * pick.value for pick in picks)
    return (value + PRIOR_WEIGHT * mean) / (weight + PRIOR_WEIGHT)
