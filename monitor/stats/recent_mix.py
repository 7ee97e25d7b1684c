"""How unsure a baseline is of the traffic of late: the standard error of its recent mix.

A mean of all says little of segments that were rare while it was learned. When one of them grows,
what is not known of it counts. The shares go by the slots before, so no score can move a margin
that it is held against.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping
from typing import Final

from monitor.stats.baseline import MIX_ERRORS, STANDARD_ERRORS, Baseline

#: Slots after which a share has changed by 1 − 1/e of the way to what it is now.
MEMORY: Final = 300.0
_FORGETS: Final = 1.0 - 1.0 / MEMORY
#: Shares are scaled down long before floats end.
_MOST: Final = 1e100
#: Name of all segments that are not known.
_OTHERS: Final = ""

#: Number of a segment, and its share of a slot's members.
Parts = tuple[tuple[int, float], ...]


class RecentMix:
    """The shares of the segments, by the slots so far: exponentially weighted, p̂.

    >>> from monitor.stats.baseline import SegmentSpread
    >>> spreads = {"a": SegmentSpread(0.75, 0.01), "": SegmentSpread(0.25, 0.08)}
    >>> mix = RecentMix(Baseline(0.1, 0.01, {"a": 0.1}, spreads=spreads))
    >>> round(mix.margin(), 4)
    0.012
    >>> for _ in range(300): mix.add(mix.parts({"new": 1}))
    >>> round(mix.margin(), 4)
    0.067
    """

    def __init__(self, baseline: Baseline) -> None:
        names = sorted({*baseline.spreads, _OTHERS})
        known = [baseline.spreads.get(name) for name in names]
        self._numbers = {name: number for number, name in enumerate(names)}
        self._least = STANDARD_ERRORS * baseline.se
        self._variances = [0.0 if one is None else one.se**2 for one in known]
        #: p̂ and the sum of p̂²·SE², both times a scale that grows: nothing has to be forgotten.
        self._shares = array("d", [0.0 if one is None else one.share for one in known])
        self._scale = 1.0
        self._sum = _sum(self._shares, self._variances)

    def copy(self) -> RecentMix:
        """As it stands; what does not change is shared."""
        made = object.__new__(RecentMix)
        made.__dict__.update(self.__dict__)
        made._shares = self._shares[:]
        return made

    def parts(self, members: Mapping[str, int]) -> Parts:
        """The members of a slot by segment, as ``add`` takes them."""
        counts: dict[int, int] = {}
        for name, n in members.items():
            number = self._numbers.get(name, self._numbers[_OTHERS])
            counts[number] = counts.get(number, 0) + n
        total = sum(counts.values())
        return tuple((number, n / total) for number, n in sorted(counts.items()))

    def margin(self) -> float:
        """By how much 1.5·√Σp̂²SE² exceeds the margin of 2·SE, at least 0."""
        total = self._sum
        # Of every slot, hence not by ``max``.
        spread = math.sqrt(total) if total > 0.0 else 0.0
        margin = MIX_ERRORS * spread / self._scale - self._least
        return margin if margin > 0.0 else 0.0

    def add(self, parts: Parts) -> None:
        """One more slot."""
        scale = self._scale = self._scale / _FORGETS
        more, shares, total = (1.0 - _FORGETS) * scale, self._shares, self._sum
        for number, share in parts:
            before = shares[number]
            shares[number] = grown = before + more * share
            total += (grown - before) * (grown + before) * self._variances[number]
        self._sum = total
        if scale > _MOST:
            self._scale = 1.0
            self._shares = array("d", (share / scale for share in self._shares))
            self._sum = _sum(self._shares, self._variances)


def _sum(shares: Iterable[float], variances: Iterable[float]) -> float:
    return math.fsum(p * p * v for p, v in zip(shares, variances, strict=True))


def recent_mix(baseline: Baseline) -> RecentMix | None:
    """None where nothing is known of segments: then a mix says nothing."""
    return RecentMix(baseline) if len(baseline.spreads) > 1 else None
