"""How many series a configuration can export."""

from __future__ import annotations

from typing import NamedTuple

FAMILIES = 5
DRIFT_FAMILIES = 4
OBJECTIVE_FAMILIES = 3


class SeriesCount(NamedTuple):
    """Series by kind, as ``rag_monitor_series`` counts them."""

    rolling: int
    segments: int
    drift: int
    objectives: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)


def series_count(
    metrics: int,
    windows: int,
    applications: int,
    segments: int = 0,
    judges: int = 1,
    drift_metrics: int = 0,
    objectives: int = 0,
) -> SeriesCount:
    """The most series that so many label values can give.

    Where ``other`` can occur, it is one of the applications, or of the ``segments`` (0: none are
    exported). While a judge is exchanged there are two. ``objectives`` are
    the metrics and windows that one application can have promised something about. What people's
    audits correct comes on top: nobody knows beforehand what is audited.

    >>> series_count(metrics=14, windows=3, applications=5, segments=20).segments
    21000
    >>> series_count(metrics=5, windows=3, applications=1, judges=2, drift_metrics=3)
    SeriesCount(rolling=150, segments=0, drift=24, objectives=0)
    """
    pairs = applications * judges
    rolling = FAMILIES * metrics * windows * pairs
    return SeriesCount(
        rolling,
        rolling * segments,
        DRIFT_FAMILIES * drift_metrics * pairs,
        OBJECTIVE_FAMILIES * objectives * pairs,
    )
