"""What baselines learn of arrays, by the product's functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import numpy as np

from monitor.exporter.baselines.days import with_rhythm
from monitor.exporter.baselines.hours import MOST_OF_HOURS
from monitor.exporter.baselines.learning import thinned
from monitor.records.control import MetricBaseline
from monitor.stats.baseline import (
    Baseline,
    ScoredPick,
    SegmentSpread,
    common_dependence,
    learned,
)
from monitor.stats.days import HourSums, hour_spread, hour_sums, rhythm, unseen_spread
from tests.benchmarks.promising.looks import Slots
from tests.benchmarks.promising.recursion import Numbers
from tests.benchmarks.promising.worlds import HOUR

#: A metric of which larger values are worse: all scores are turned so.
_NAME: Final = "noise_sensitivity_irrelevant"


def taught(slots: Slots, *, provisional: bool) -> tuple[list[Baseline], float]:
    """What is learned of the metrics, and the event time of the last slot that is learned from."""
    numbers = np.asarray(thinned(range(len(slots.times))))
    names = [f"tenant-{tenant:02}" for tenant in slots.tenants[numbers].tolist()]
    of_hours = np.asarray(thinned(range(len(slots.times)), MOST_OF_HOURS))
    hours = slots.times[of_hours] // HOUR % 24
    columns = slots.scores[numbers].T.tolist()
    picks = [
        [ScoredPick(name, 1.0, x) for name, x in zip(names, column, strict=True)]
        for column in columns
    ]
    common = common_dependence(picks)
    first, last = slots.times[numbers[[0, -1]]].tolist()
    seen_s = last - first if provisional else None
    found = [
        _baseline(column, _by_hour(hours, scores), common, seen_s)
        for column, scores in zip(picks, slots.scores[of_hours].T, strict=True)
    ]
    return found, last


def _by_hour(hours: Numbers, scores: Numbers) -> list[HourSums]:
    each = (scores[hours == hour].tolist() for hour in np.unique(hours))
    return [hour_sums((1.0, x) for x in values) for values in each]


def _baseline(
    picks: list[ScoredPick], hours: Sequence[HourSums], common: float, seen_s: float | None
) -> Baseline:
    found = learned(picks)
    assert found is not None
    found = found.as_dependent(common)
    spread = hour_spread(hours, found.dependence)
    if seen_s is not None:
        spread = max(spread, unseen_spread(found.mean, seen_s))
    return replace(found, hour_spread=spread, provisional=seen_s is not None)


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
