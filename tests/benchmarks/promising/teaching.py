"""What baselines learn of arrays, by the product's functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np

from monitor.exporter.baselines.days import with_rhythm
from monitor.exporter.baselines.learning import thinned
from monitor.records.control import MetricBaseline
from monitor.stats.baseline import (
    Baseline,
    ScoredPick,
    SegmentSpread,
    common_dependence,
    hour_of_day,
    learned,
)
from monitor.stats.days import HourSums, hour_spread, hour_sums, rhythm
from tests.benchmarks.promising.looks import Slots

#: A metric of which larger values are worse: all scores are turned so.
_NAME: Final = "noise_sensitivity_irrelevant"


def taught(slots: Slots, *, provisional: bool) -> tuple[list[Baseline], float]:
    """What is learned of the metrics, and the event time of the last slot that is learned from."""
    numbers = np.asarray(thinned(range(len(slots.times))))
    names = [f"tenant-{tenant:02}" for tenant in slots.tenants[numbers].tolist()]
    hours = [hour_of_day(at) for at in slots.times[numbers].tolist()]
    columns = slots.scores[numbers].T.tolist()
    picks = [
        [ScoredPick(name, 1.0, x) for name, x in zip(names, column, strict=True)]
        for column in columns
    ]
    common = common_dependence(picks)
    found = [_baseline(column, hours, common, provisional=provisional) for column in picks]
    return found, float(slots.times[numbers[-1]])


def _baseline(
    picks: list[ScoredPick], hours: Sequence[int], common: float, *, provisional: bool
) -> Baseline:
    found = learned(picks)
    assert found is not None
    found = found.as_dependent(common)
    by_hour: dict[int, list[tuple[float, float]]] = {}
    for hour, pick in zip(hours, picks, strict=True):
        by_hour.setdefault(hour, []).append((1.0, pick.value))
    spread = hour_spread([hour_sums(by_hour[h]) for h in sorted(by_hour)], found.dependence)
    return Baseline(**{**vars(found), "hour_spread": spread, "provisional": provisional})


def refined(known: Baseline, days: Sequence[Sequence[HourSums]], end: float) -> Baseline | None:
    """What whole days make of a baseline."""
    found = rhythm(days)
    if found is None:
        return None
    made = MetricBaseline(
        mean=known.mean,
        se=known.se,
        segments=dict(known.segments),
        spreads={name: (one.share, one.se) for name, one in known.spreads.items()},
        dependence=known.dependence,
        values=known.values,
    )
    made = with_rhythm(_NAME, made, found, datetime.fromtimestamp(end, UTC))
    return Baseline(
        made.mean,
        made.se,
        made.segments,
        day_spread=made.day_spread,
        hours=made.hours,
        spreads={name: SegmentSpread(*one) for name, one in made.spreads.items()},
        dependence=made.dependence,
    )
