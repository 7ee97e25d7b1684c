"""The drift detectors of all series, over the slots that count.

What they say at a time is a function of the set of score records, the baselines, the settings and
the clock: not of order, duplicates or restarts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple

from monitor.exporter.scores.detector import Counted, Detector
from monitor.exporter.scores.observation import Observation
from monitor.exporter.scores.rebuilding import Entry
from monitor.metrics.catalogue import CATALOGUE
from monitor.stats.baseline import Baseline, Tolerance
from monitor.stats.candidates import Candidate
from monitor.stats.drift import NO_EVIDENCE, DriftEvidence
from monitor.stats.evidence_sequence import EvidenceSequence, PickPlace
from monitor.stats.sums import as_worse
from monitor.stats.threshold import SlotsPerWeek, threshold

ALWAYS: Final = -math.inf
#: Evidence by the event time (epoch seconds) of the start that it was carried to.
_Carried = Mapping[float, DriftEvidence]


@dataclass(frozen=True)
class DriftSettings:
    """What the detectors are told; times in seconds.

    Without ``judged_per_week`` it is taken from the traffic.
    """

    metrics: tuple[str, ...]
    false_alarms_per_week: float
    judged_per_week: float | None
    tolerance: Tolerance
    period_s: int
    settle_s: int


@dataclass(frozen=True)
class Normal:
    """The baselines of one application and judge by metric, larger meaning worse.

    Only slots with a later event time than ``effective_from`` (epoch seconds) are held against it;
    ``metric_from`` has that of single metrics. A ``provisional`` one holds until there is more to
    learn from. One that ``leaves_others`` has some metrics, and the others are still learned.
    """

    metrics: Mapping[str, Baseline]
    effective_from: float = ALWAYS
    provisional: bool = False
    metric_from: Mapping[str, float] = field(default_factory=dict)
    leaves_others: bool = False


class DriftKey(NamedTuple):
    """One detector; ``judge`` is ``name@version``."""

    metric: str
    application: str
    judge: str


class CarriedStart(NamedTuple):
    """What the evidence from a start (epoch seconds) begins with."""

    at: float
    evidence: DriftEvidence


class DriftState(NamedTuple):
    """What one detector says; log10 of evidence (None before the first slot) and threshold.

    ``baseline`` is the application's, in the direction of the metric. ``alarm`` says whether the
    quality is worse than it, ``is_fed`` whether there is a slot that is held against it. Of an
    alarm that ``is_stale`` nothing was heard for long; in the end it is no alarm any more.
    ``carried`` is what evidence begins with, by event time, so that an alarm outlives a period.
    """

    key: DriftKey
    baseline: float
    evidence: float | None
    threshold: float
    alarm: bool
    is_fed: bool
    is_stale: bool = False
    carried: tuple[CarriedStart, ...] = ()


class DetectorHistory(NamedTuple):
    """The slots of a detector in their order, and the event time from which evidence counts.

    Those before ``start`` are what the baseline was learned from, or older than the evidence, which
    begins with what was ``carried`` there.
    """

    counted: list[Counted]
    start: float
    baseline: Baseline
    carried: DriftEvidence = NO_EVIDENCE


class _ActiveBaseline(NamedTuple):
    baseline: Baseline
    effective_from: float


class DriftDetectors:
    """Changes of counted slots and baselines in, states of the detectors out.

    ``fixed`` gives the baselines that the configuration fixes for an application and judge; for
    the metrics of which it gives none, those of ``set_normal`` hold.
    """

    def __init__(
        self,
        settings: DriftSettings,
        fixed: Callable[[str, str], Normal | None] = lambda _application, _judge: None,
    ) -> None:
        self.settings = settings
        self._fixed = fixed
        self._detectors: dict[DriftKey, Detector] = {}
        self._normal: dict[tuple[str, str], Normal] = {}
        self._carried: dict[DriftKey, tuple[float, _Carried]] = {}
        self._paces = self._no_paces()
        self._floor = ALWAYS

    def _no_paces(self) -> dict[str, SlotsPerWeek]:
        return {metric: SlotsPerWeek(self.settings.period_s) for metric in self.settings.metrics}

    @property
    def held(self) -> int:
        """How many detectors there are."""
        return len(self._detectors)

    @property
    def floor(self) -> float:
        """Slots before this event time are forgotten."""
        return self._floor

    def apply(self, candidate: Candidate, slot: Observation, sign: int) -> None:
        """A slot counts from now on (+1), or no longer (−1), and its detectors are told."""
        self.pace(candidate.event_time, slot, sign)
        self.watch(candidate, slot, sign)

    def pace(self, event_time: float, slot: Observation, sign: int) -> None:
        """A slot counts, or no longer: thresholds go by how many have a value of each metric."""
        for metric, index in _watched(slot.metrics, self.settings.metrics):
            if slot.numbers[index] is not None:
                pace = self._paces[metric]
                (pace.add if sign > 0 else pace.take)(event_time)

    def watch(self, candidate: Candidate, slot: Observation, sign: int) -> None:
        """The detectors of its application and judge take in a slot (+1), or let it go (−1)."""
        if candidate.event_time < self._floor:
            return  # dropped together with all others of its time
        place = (candidate.event_time, candidate.interaction_id)
        for metric, index in _watched(slot.metrics, self.settings.metrics):
            key = DriftKey(metric, candidate.application, slot.judge_label)
            self._change(key, place, (slot, slot.numbers[index]), sign)

    def begin_anew(self, period_s: int) -> None:
        """Forget all slots; baselines stay, and the period is this one from now on."""
        self.settings = replace(self.settings, period_s=period_s)
        self._detectors.clear()
        self._paces = self._no_paces()
        self._floor = ALWAYS

    def pairs(self) -> set[tuple[str, str]]:
        """The applications and judges (``name@version``) that have detectors."""
        return {(key.application, key.judge) for key in self._detectors}

    def watched(self) -> Iterator[tuple[DriftKey, bool]]:
        """Every detector in the order of the keys, and whether it has a baseline."""
        for key in sorted(self._detectors):
            yield key, self._active_baseline(key) is not None

    def fixed(self, application: str, judge: str) -> Normal | None:
        """What the configuration fixes for an application and judge."""
        return self._fixed(application, judge)

    def is_known(self, application: str, judge: str) -> bool:
        """Whether nothing is left to learn: baselines were set, or all metrics have a fixed one."""
        normal = self._normal.get((application, judge))
        if normal is not None and not normal.provisional and not normal.leaves_others:
            return True
        return self._is_decided(application, judge)

    def has_baseline(self, application: str, judge: str) -> bool:
        """Whether there is something to hold slots against, provisional or not."""
        return (application, judge) in self._normal or self._is_decided(application, judge)

    def _is_decided(self, application: str, judge: str) -> bool:
        """Whether every watched metric is fixed, or set where the others are still learned."""
        fixed, normal = self._fixed(application, judge), self._normal.get((application, judge))
        decided = set[str]() if fixed is None else set(fixed.metrics)
        if normal is not None and normal.leaves_others:
            decided |= set(normal.metrics)
        return bool(decided) and set(self.settings.metrics) <= decided

    def set_normal(
        self, application: str, judge: str, normal: Normal | None
    ) -> list[EvidenceSequence]:
        """Give an application and judge (``name@version``) its baselines, or take them away.

        What is given back is not needed any more, and may be let go of step by step.
        """
        gone = []
        if normal is None:
            self._normal.pop((application, judge), None)
        else:
            self._normal[application, judge] = normal
        for key, detector in self._of((application, judge)):
            held = self._active_baseline(key)
            if held is None or held.baseline != detector.baseline or detector.is_rebuilding:
                gone.append(detector.hold_against(None if held is None else held.baseline))
        return gone

    def prepared(
        self, application: str, judge: str, normal: Normal | None, now: Callable[[], float]
    ) -> Iterator[None]:
        """Do the work of ``set_normal`` step by step; until it is called, all stays as it is.

        ``now`` gives epoch seconds. What is prepared and not wanted must be ``abandoned``.
        """
        for key, detector in self._of((application, judge)):
            held = self._active_baseline(key, normal)
            if held is None or held == self._active_baseline(key):
                continue
            made = detector.rebuild(held.baseline)
            yield from made.filled()
            while made.followed(*self._until(held, now())):
                yield

    def carry(self, key: DriftKey, shown: float, carried: Iterable[CarriedStart]) -> None:
        """What evidence begins with, held against the baseline that is ``shown`` so.

        The latest alarm's record says it: a start that moves would end an alarm that goes on.
        """
        self._carried[key] = shown, dict(carried)

    def _carried_of(self, key: DriftKey, shown: float) -> _Carried:
        against, carried = self._carried.get(key, (shown, {}))
        return carried if against == shown else {}

    def _to_carry(
        self, detector: Detector, starts: tuple[float, float], end: float, in_force: _Carried
    ) -> tuple[CarriedStart, ...]:
        """What is carried to the present start, and what is to be to the next one."""
        start, following = starts
        found = [CarriedStart(start, in_force[start])] if start in in_force else []
        if start < following <= end:
            found.append(CarriedStart(following, detector.stood(start, following)))
        return tuple(one for one in found if one.evidence.combined)

    def abandon(self, application: str, judge: str) -> None:
        """Nothing of what was prepared is wanted any more."""
        for _, detector in self._of((application, judge)):
            detector.abandon()

    def _of(self, pair: tuple[str, str]) -> list[tuple[DriftKey, Detector]]:
        return sorted((k, detector) for k, detector in self._detectors.items() if k[1:] == pair)

    def _until(self, held: _ActiveBaseline, now: float) -> tuple[tuple[float, float], float, float]:
        """Where evidence begins, its end, and the threshold."""
        starts = self._starts(held.effective_from, now)
        return starts, now - self.settings.settle_s, self.threshold(now)

    def advance(self, now: float, start: float) -> None:
        """Forget slots from before the previous period, all at once.

        Those from ``start`` on, where the horizon begins, still say how many there are.
        """
        for pace in self._paces.values():
            pace.drop_before(start)
        period = self.settings.period_s
        floor = now // period * period - period
        if floor <= self._floor:
            return
        self._floor = floor
        for key, detector in list(self._detectors.items()):
            detector.drop_before(floor)
            if not len(detector):
                del self._detectors[key]

    def most_a_day(self, now: float) -> int | None:
        """Slots with a value of the metric that has most, on the day that has most; None: unknown.

        That is before all of a day (UTC) is held.
        """
        found = [pace.most_a_day(now) for pace in self._paces.values()]
        return max((most for most in found if most is not None), default=None)

    def threshold(self, now: float) -> float:
        """A at a time, in epoch seconds."""
        chosen = self.settings
        if chosen.judged_per_week:
            values = chosen.judged_per_week * len(chosen.metrics)
        else:
            values = math.fsum(pace.per_week(now) for pace in self._paces.values())
        return threshold(values, chosen.false_alarms_per_week)

    def states(self, now: float) -> Iterator[DriftState]:
        """Every detector that has a baseline, in the order of the keys."""
        a = self.threshold(now)
        for key, detector in sorted(self._detectors.items()):
            held = self._active_baseline(key)
            if held is not None:
                starts = self._starts(held.effective_from, now)
                shown, end = self._shown(key, held), now - self.settings.settle_s
                carried = self._carried_of(key, shown)
                found = detector.evidence(starts, end, a, carried)
                combined = 0.0 if found is None else found.combined
                evidence = math.log10(combined) if combined else None
                is_open = found is not None and found.is_open
                feeding = detector.feeding(starts[0], end) if is_open else None
                is_stale = feeding is not None and feeding.stale_s(now) > 0.0
                alarm = is_open and not (feeding is not None and feeding.is_over(now))
                kept = self._to_carry(detector, starts, end, carried) if alarm else ()
                yield DriftState(
                    key, shown, evidence, math.log10(a), alarm, found is not None, is_stale, kept
                )

    def _shown(self, key: DriftKey, held: _ActiveBaseline) -> float:
        """The baseline in the direction of the metric."""
        better = CATALOGUE[key.metric].higher_is_better
        return as_worse(held.baseline.overall(self.settings.tolerance), better)

    def hours(self, key: DriftKey, start: float, end: float) -> Iterator[list[Entry]]:
        """The slots of a detector, from one whole hour to another; in the order of the hours.

        Slots from before the previous period are forgotten.
        """
        detector = self._detectors.get(key)
        return iter(()) if detector is None else detector.hours(start, end)

    def later(self, key: DriftKey, after: float, now: float) -> int:
        """How many slots a detector has seen by now with a later event time than ``after``."""
        detector = self._detectors.get(key)
        return 0 if detector is None else detector.later(after, now - self.settings.settle_s)

    def history(self, key: DriftKey, now: float) -> DetectorHistory | None:
        """What a detector with a baseline has seen by now; None when there is none."""
        return self.snapshot(key, now)()

    def snapshot(self, key: DriftKey, now: float) -> Callable[[], DetectorHistory | None]:
        """The history as it is now, put together when it is asked for, in any thread."""
        detector, held = self._detectors.get(key), self._active_baseline(key)
        if detector is None or held is None:
            return lambda: None
        start = self._starts(held.effective_from, now)[0]
        counted = detector.counted(start, now - self.settings.settle_s)
        carried = self._carried_of(key, self._shown(key, held)).get(start, NO_EVIDENCE)
        return lambda: DetectorHistory(counted(), start, held.baseline, carried)

    def _starts(self, effective_from: float, now: float) -> tuple[float, float]:
        """Where the evidence of this period and of the next one begins."""
        current = now // self.settings.period_s * self.settings.period_s
        after = math.nextafter(effective_from, math.inf)
        return max(current - self.settings.period_s, after), max(current, after)

    def _change(self, key: DriftKey, place: PickPlace, entry: Entry, sign: int) -> None:
        detector = self._detectors.get(key)
        if detector is None:
            detector = self._detectors[key] = Detector(key.metric, self.settings.tolerance)
            held = self._active_baseline(key)
            detector.hold_against(None if held is None else held.baseline)
        if sign > 0:
            detector.put(place, entry)
            return
        detector.take(place)
        if not len(detector):
            del self._detectors[key]

    def _active_baseline(self, key: DriftKey, *instead: Normal | None) -> _ActiveBaseline | None:
        """What a detector is held against, or would be with another ``set_normal``."""
        pair = key.application, key.judge
        own = instead[0] if instead else self._normal.get(pair)
        for normal in (self._fixed(*pair), own):
            if normal is not None and key.metric in normal.metrics:
                after = normal.metric_from.get(key.metric, normal.effective_from)
                return _ActiveBaseline(normal.metrics[key.metric], after)
        return None


@lru_cache(256)
def _watched(metrics: tuple[str, ...], watched: tuple[str, ...]) -> list[tuple[str, int]]:
    """Which of the metrics of a slot have detectors, and where they stand."""
    return [(metric, index) for index, metric in enumerate(metrics) if metric in watched]
