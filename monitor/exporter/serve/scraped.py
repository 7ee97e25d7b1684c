"""What a ``/metrics`` page says, as it is read back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Gauge(NamedTuple):
    """One window of one metric as exported; None where the series is absent."""

    value: float | None
    lower: float | None
    upper: float | None
    samples: float


class DriftReading(NamedTuple):
    """How one metric stands to its baseline; log10 of evidence and threshold, None where absent."""

    evidence: float | None
    threshold: float | None
    baseline: float | None
    alarm: bool


class Learning(NamedTuple):
    """How far baselines are learned: scored slots, of those that it takes."""

    slots: int
    needed: int
    is_over: bool


class ScrapedPage(NamedTuple):
    """One scrape: ``gauges`` by (metric, window), ``outcomes`` by (outcome, reason).

    ``records_read`` counts the score records that the exporter has seen; ``watched`` is by metric,
    and ``learning`` is None before it is known how many slots it takes. ``paused`` are applications
    that are not judged, ``*`` all of them.
    """

    gauges: Mapping[tuple[str, str], Gauge]
    outcomes: Mapping[tuple[str, str], int]
    consumed: int
    in_flight: int
    records_read: int
    watched: Mapping[str, DriftReading] = MappingProxyType({})
    learning: Learning | None = None
    paused: tuple[str, ...] = ()
