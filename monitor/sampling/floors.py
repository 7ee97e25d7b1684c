"""Least shares of the judged interactions for segments, held by a factor from the past."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: How many of the latest picks a share is taken over.
MEMORY: Final = 200.0
#: More would let a rare segment push all others to their least weight.
FACTOR: Final = 8.0


class Floors:
    """Follows the picks of one application, and says how much likelier a segment's should be.

    ``floors`` maps segments to their least share of the picks.

    >>> floors = Floors({"acme": 0.5})
    >>> for _ in range(40): floors.picked("other")
    >>> floors.factor("acme"), floors.factor("other")
    (8.0, 1.0)
    >>> for _ in range(80): floors.picked("acme")
    >>> floors.factor("acme")
    1.0
    """

    def __init__(self, floors: Mapping[str, float]) -> None:
        self._floors = floors
        self._counts = dict.fromkeys(floors, 0.0)
        self._total = 0.0

    def picked(self, segment: str) -> None:
        """One more pick; what is older weighs less and less."""
        keep = 1.0 - 1.0 / MEMORY
        self._total = keep * self._total + 1.0
        for name in self._counts:
            self._counts[name] = keep * self._counts[name] + (name == segment)

    def factor(self, segment: str) -> float:
        """What the spread of its members is multiplied by: 1 unless it is behind its floor."""
        is_behind = self._counts.get(segment, 0.0) < self._floors.get(segment, 0.0) * self._total
        return FACTOR if is_behind else 1.0
