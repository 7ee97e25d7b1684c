"""Settings → where a new group begins to read, and how old what is judged may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from monitor.config import Settings, seconds
from monitor.kafka.start_offsets import EARLIEST, LATEST, StartRule
from monitor.stats.horizon import horizon_start
from monitor.stats.windows import bucket_seconds

#: Interactions reach the broker after they were logged, and clocks differ: this much earlier.
SLACK_S: Final = 3_600


def horizon_at(settings: Settings) -> Callable[[float], float]:
    """Epoch seconds now → the first event time that a gauge or an alarm can count.

    Where the period goes by how many are judged it is taken for a day: nobody pays for weeks of old
    traffic unasked.
    """
    windows = [seconds(window) for window in settings.export.windows]
    period_s, bucket_s = settings.drift.first_period_s, bucket_seconds(windows)
    return lambda now: horizon_start(now, period_s, max(windows), bucket_s)


def oldest_judged(settings: Settings) -> Callable[[float], float]:
    """Epoch seconds now → the first event time that is judged; −∞ where all is asked for.

    What is older could count in no gauge. All is asked for with ``ingest.start: earliest``, and
    with ``ingest.when_behind: completeness``.
    """
    start, horizon = settings.ingest.start, horizon_at(settings)
    if start == "earliest" or settings.ingest.when_behind == "completeness":
        return lambda _now: -math.inf
    if start in ("horizon", "latest"):
        return horizon
    ago_s = seconds(start)
    return lambda now: min(horizon(now), now - ago_s)


def start_rule(settings: Settings, clock: Callable[[], float]) -> StartRule:
    """Where a partition without a committed offset begins; ``clock`` gives epoch seconds."""
    start, horizon = settings.ingest.start, horizon_at(settings)
    if start == "earliest":
        return StartRule(start, lambda: EARLIEST)
    if start == "latest":
        return StartRule(start, lambda: LATEST)
    if start == "horizon":
        return StartRule(start, lambda: max(0, int((horizon(clock()) - SLACK_S) * 1000)))
    ago_s = seconds(start)
    return StartRule(start, lambda: max(0, int((clock() - ago_s) * 1000)))
