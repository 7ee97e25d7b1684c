"""The drift detectors of all series, over the slots that count.

What they say at a time is a function of the set of score records, the baselines, the settings and
the clock: not of order, duplicates or restarts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from monitor.export.slots import Slot
from monitor.metrics.catalogue import CATALOGUE
from monitor.stats.baseline import Baseline
from monitor.stats.candidates import Candidate
from monitor.stats.drift import Deviation, combined, directed, uniform
from monitor.stats.sums import as_worse
from monitor.stats.threshold import Pace, threshold
from monitor.stats.trail import Place, Trail

ALWAYS: Final = -math.inf


@dataclass(frozen=True)
class DriftSettings:
    """What the detectors are told; times in seconds.

    Without ``judged_per_week`` it is taken from the traffic.
    """

    metrics: tuple[str, ...]
    false_alarms_per_week: float
    judged_per_week: float | None
    tolerate: float
    period_s: int
    settle_s: int


@dataclass(frozen=True)
class Normal:
    """The baselines of one application and judge by metric, larger meaning worse.

    Only slots with a later event time than ``effective_from`` (epoch seconds) are held against it.
    """

    metrics: Mapping[str, Baseline]
    effective_from: float = ALWAYS


class DriftKey(NamedTuple):
    """One detector; ``judge`` is ``name@version``."""

    metric: str
    application: str
    judge: str


class DriftState(NamedTuple):
    """What one detector says; log10 of evidence (None before the first slot) and threshold.

    ``baseline`` is the application's, in the direction of the metric.
    """

    key: DriftKey
    baseline: float
    evidence: float | None
    threshold: float

    @property
    def alarm(self) -> bool:
        """Whether the quality is worse than the baseline."""
        return self.evidence is not None and self.evidence >= self.threshold


class _Series:
    """The slots of one key, and their trail once there is a baseline."""

    def __init__(self) -> None:
        self.slots: dict[Place, tuple[Slot, float | None]] = {}
        self.trail: Trail | None = None


class DriftBook:
    """Changes of counted slots and baselines in, states of the detectors out."""

    def __init__(self, settings: DriftSettings) -> None:
        self.settings = settings
        self._series: dict[DriftKey, _Series] = {}
        self._normal: dict[tuple[str, str], Normal] = {}
        self._pace = Pace(settings.period_s)
        self._floor = ALWAYS

    def apply(self, candidate: Candidate, slot: Slot, sign: int) -> None:
        """A slot counts from now on (+1), or no longer (−1)."""
        if candidate.event_time < self._floor:
            return  # dropped together with all others of its time
        if sign > 0:
            self._pace.add(candidate.event_time)
        else:
            self._pace.take(candidate.event_time)
        place = (candidate.event_time, candidate.interaction_id)
        for metric, value in slot.values:
            if metric in self.settings.metrics:
                key = DriftKey(metric, candidate.application, slot.judge.label)
                self._change(key, place, (slot, value), sign)

    def set_normal(self, application: str, judge: str, normal: Normal | None) -> None:
        """Give an application and judge (``name@version``) its baselines, or take them away."""
        if normal is None:
            self._normal.pop((application, judge), None)
        else:
            self._normal[application, judge] = normal
        for key, series in self._series.items():
            if key[1:] == (application, judge):
                series.trail = self._trail(key, series)

    def advance(self, now: float) -> None:
        """Forget slots from before the previous period, all at once."""
        period = self.settings.period_s
        floor = now // period * period - period
        if floor <= self._floor:
            return
        self._floor = floor
        self._pace.drop_before(self._floor)
        for key, series in list(self._series.items()):
            gone = [place for place in series.slots if place[0] < self._floor]
            for place in gone:
                del series.slots[place]
            if series.trail is not None:
                series.trail.drop_before(self._floor)
            if not series.slots:
                del self._series[key]

    def threshold(self, now: float) -> float:
        """A at a time, in epoch seconds."""
        chosen = self.settings
        weekly = chosen.judged_per_week or self._pace.per_week(now)
        return threshold(weekly, len(chosen.metrics), chosen.false_alarms_per_week)

    def states(self, now: float) -> Iterator[DriftState]:
        """Every detector that has a baseline, in the order of the keys."""
        a = self.threshold(now)
        for key, series in sorted(self._series.items()):
            normal = self._normal.get(key[1:])
            if series.trail is not None and normal is not None:
                evidence = self._evidence(series.trail, normal.effective_from, now, a)
                yield DriftState(key, self._shown(key, normal), evidence, math.log10(a))

    def _evidence(self, trail: Trail, effective: float, now: float, a: float) -> float | None:
        period = self.settings.period_s
        current = now // period * period
        after = math.nextafter(effective, math.inf)
        starts = [max(start, after) for start in (current - period, current)]
        end = now - self.settings.settle_s
        # The one that begins with this period is what the next period begins with.
        trail.evidence(starts[1], end, a)
        found = trail.evidence(starts[0], end, a)
        trail.keep(set(starts))
        return None if found is None else math.log10(combined(found))

    def _shown(self, key: DriftKey, normal: Normal) -> float:
        worse = normal.metrics[key.metric].overall(self.settings.tolerate)
        return as_worse(worse, CATALOGUE[key.metric].higher_is_better)

    def _change(
        self, key: DriftKey, place: Place, entry: tuple[Slot, float | None], sign: int
    ) -> None:
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = _Series()
            series.trail = self._trail(key, series)
        if sign > 0:
            series.slots[place] = entry
            if series.trail is not None:
                series.trail.put(place, self._deviation(key, *entry))
            return
        del series.slots[place]
        if series.trail is not None:
            series.trail.take(place)
        if not series.slots:
            del self._series[key]

    def _trail(self, key: DriftKey, series: _Series) -> Trail | None:
        normal = self._normal.get(key[1:])
        if normal is None or key.metric not in normal.metrics:
            return None
        trail = Trail()
        for place, entry in sorted(series.slots.items()):
            trail.put(place, self._deviation(key, *entry))
        return trail

    def _deviation(self, key: DriftKey, slot: Slot, value: float | None) -> Deviation:
        baseline = self._normal[key[1:]].metrics[key.metric]
        own = baseline.of(slot.segment, self.settings.tolerate)
        if key.metric not in slot.expected:
            return uniform(value, own)
        members = slot.segments or {slot.segment: 1}
        total = sum(n * baseline.of(name, self.settings.tolerate) for name, n in members.items())
        f_mean, f = slot.expected[key.metric]
        return directed(value, slot.u, f_mean, f, own, total / sum(members.values()))
