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


class PageOwner(NamedTuple):
    """Whose scores they are; ``judge`` is ``name@version``."""

    application: str
    judge: str


class ProcessPage(NamedTuple):
    """A whole page: ``pairs`` by application and judge, each with the counts of all of them.

    ``counts`` has no gauges. ``judges`` are models and their states, ``left_usd`` and
    ``per_day_usd`` the day's money, ``unread_by_group`` how many records the scorers' group has not
    read, ``unread_here`` how many of the process's own partitions; None where it does not know.
    """

    pairs: Mapping[PageOwner, ScrapedPage]
    counts: ScrapedPage
    version: str
    is_scorer: bool
    is_exporter: bool
    is_ready: bool
    judges: Mapping[str, str]
    left_usd: float | None
    per_day_usd: float | None
    unread_by_group: int | None
    unread_here: int | None
