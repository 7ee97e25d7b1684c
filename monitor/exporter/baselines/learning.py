"""Learning what is normal: baselines from the first scored slots of an application and judge."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from monitor.exporter.baselines.hours import MOST_OF_HOURS, sums_by_hour
from monitor.exporter.scores.detectors import ALWAYS, Normal
from monitor.exporter.scores.folding import JudgedApplication
from monitor.exporter.scores.observation import Observation
from monitor.exporter.scores.scored import STEP, Scored, gathered
from monitor.exporter.scores.steps import at_once
from monitor.exporter.scores.training_slots import TrainingSlots
from monitor.metrics.catalogue import CATALOGUE
from monitor.records.control import BaselineRecord, CalibrationRecord, MetricBaseline, Origin
from monitor.stats import calibration
from monitor.stats.baseline import (
    BATCH,
    Baseline,
    ScoredPick,
    SegmentSpread,
    common_dependence,
    learned,
)
from monitor.stats.calibration import JudgedPick
from monitor.stats.candidates import Candidate
from monitor.stats.days import HourSums, hour_spread, unseen_spread
from monitor.stats.period import DAY_S
from monitor.stats.sums import as_worse
from monitor.stats.threshold import WEEK_S

#: Event times and slots.
_TimedSlots = list[tuple[float, Observation]]
#: So much of a day has all hours in it, as far as scores tell.
_NEARLY: Final = 0.95
#: Values without which a metric has no baseline: of a few anything could be normal.
LEAST_VALUES: Final = 60
#: Slots of a day, or of a week, that a baseline is learned from, at most.
MOST_TAUGHT: Final = 10_000
#: At least one slot in so many must have a signal for it to be calibrated.
LEAST_SIGNALS: Final = 2
_DIRECTED: Final = frozenset(n for n, m in CATALOGUE.items() if m.higher_is_better is not None)

__all__ = [
    "Learner",
    "LearningResult",
    "LearningSettings",
    "Progress",
    "frozen",
    "normal_of",
]


@dataclass(frozen=True)
class LearningSettings:
    """How much is learned from: ``slots`` scored slots of ``for_s`` seconds, ``wait_s`` old.

    ``alarmed`` are the metrics with detectors: judgements should teach most about them.
    """

    slots: int
    wait_s: int
    alarmed: tuple[str, ...] = ("faithfulness",)
    for_s: int = 0

    @property
    def least(self) -> int:
        """Values that a metric needs, and slots where a week gives no more."""
        return min(LEAST_VALUES, self.slots)

    def enough_of(self, held_s: float) -> int:
        """Slots that it takes where they are held for so long: fewer where that is a week.

        >>> one = LearningSettings(1_000, 600)
        >>> one.enough_of(2 * WEEK_S), one.enough_of(WEEK_S / 2)
        (60, 1000)
        """
        return self.least if held_s >= WEEK_S else self.slots


class Progress(NamedTuple):
    """How far one application and judge is: scored slots that are old enough, of those needed.

    ``done``: there is something to publish. ``first`` is the event time of the first of them.
    """

    pair: JudgedApplication
    slots: int
    needed: int
    done: bool
    first: float


class Lesson(NamedTuple):
    """Slots in their order that a baseline is learned from, and more of them that hours are.

    Metrics with fewer than ``least`` values have none. A ``provisional`` one is from a part of a
    day, and must reckon with hours that it has not seen.
    """

    slots: _TimedSlots
    of_hours: _TimedSlots
    origin: Origin = "learned"
    least: int = 1
    provisional: bool = False

    def spread(self, baseline: Baseline, hours: Sequence[HourSums]) -> float:
        """How far hours lie apart, or may do so."""
        found = hour_spread(hours, baseline.dependence)
        if not self.provisional:
            return found
        return max(found, unseen_spread(baseline.mean, self.slots[-1][0] - self.slots[0][0]))


class Taught(NamedTuple):
    """What is normal, and what signals say of the same slots, if enough of them have one."""

    baseline: BaselineRecord
    calibration: CalibrationRecord | None


@dataclass(frozen=True)
class LearningResult:
    """How far one application and judge is, and the lesson that it is taught when done.

    Only slots after ``after`` teach. ``counted`` is how many slots there were, with answers that
    were given again.
    """

    progress: Progress
    lesson: Lesson
    counted: int
    alarmed: tuple[str, ...]
    after: float

    @property
    def slots(self) -> Sequence[tuple[float, Observation]]:
        """What it is taught from."""
        return self.lesson.slots

    def taught(self) -> Generator[None, None, Taught | None]:
        """What there is to be learned, in a few steps; None before it is done."""
        if not self.progress.done:
            return None
        pair = self.progress.pair
        baseline = yield from _recorded(pair, self.lesson)
        update: dict[str, object] = {"slots": self.counted}
        if self.lesson.provisional:
            after = None if self.after == ALWAYS else datetime.fromtimestamp(self.after, UTC)
            update |= {"provisional": True, "learned_after": after}
        baseline = baseline.model_copy(update=update)
        return Taught(baseline, _calibrated(pair, self.lesson.slots, self.alarmed))


class Learner:
    """The scored slots of all applications and judges that have no baseline yet."""

    def __init__(self, learning_settings: LearningSettings) -> None:
        self.learning_settings = learning_settings
        self._since: dict[JudgedApplication, float] = {}
        self._provisional = set[JudgedApplication]()

    def learn_after(
        self, pair: JudgedApplication, event_time: float | None, *, provisional: bool = False
    ) -> None:
        """Learn from slots after this event time only (a baseline was reset); None: from all.

        ``provisional``: there is such a baseline already.
        """
        self._since[pair] = ALWAYS if event_time is None else event_time
        (self._provisional.add if provisional else self._provisional.discard)(pair)

    def results(
        self, training_slots: TrainingSlots, now: float
    ) -> Generator[None, None, list[LearningResult]]:
        """For every pair without a baseline: how far it is, and what it would be taught from.

        In steps. The slots are those of the last one, whatever comes and goes before it is taught.
        """
        found = []
        unknown = yield from training_slots.unknown(lambda pair: self._since.get(pair, ALWAYS))
        for pair, scored in unknown:
            result = self._result(pair, scored, now)
            if result is not None:
                found.append(result)
        return found

    def _result(self, pair: JudgedApplication, scored: Scored, now: float) -> LearningResult | None:
        """None where nothing is old enough."""
        chosen, since = self.learning_settings, self._since.get(pair, ALWAYS)
        numbers = scored.between(since, now - chosen.wait_s)
        if not numbers:
            return None
        until = self._until(scored, numbers)
        is_whole = until <= now - chosen.wait_s
        provisional = not is_whole and len(numbers) >= chosen.slots
        all_of_them: Sequence[int] = ()
        if is_whole:
            all_of_them = scored.between(since, until)
        elif provisional and pair not in self._provisional:
            all_of_them = numbers[: chosen.slots]
        taken = saying_more(scored, all_of_them, chosen.least)
        counted = min(len(all_of_them), MOST_TAUGHT)
        progress = Progress(pair, len(numbers), chosen.slots, bool(taken), scored[numbers[0]][0])
        slots, of_hours = (_picked(scored, thinned(taken, n)) for n in (MOST_TAUGHT, MOST_OF_HOURS))
        lesson = Lesson(slots, of_hours, "learned", chosen.least, provisional)
        return LearningResult(progress, lesson, counted, chosen.alarmed, since)

    def _until(self, scored: Scored, numbers: Sequence[int]) -> float:
        """The event time with which there is enough, ∞ while there is not.

        So many slots and so much time; or what a week gave, where that is less.
        """
        chosen = self.learning_settings
        first = scored[numbers[0]][0]
        found = math.inf
        if len(numbers) >= chosen.slots:
            found = max(scored[numbers[chosen.slots - 1]][0], first + chosen.for_s)
        if len(numbers) >= chosen.least:
            found = min(found, max(scored[numbers[chosen.least - 1]][0], first + WEEK_S))
        return found


def saying_more(scored: Scored, numbers: Sequence[int], least: int) -> Sequence[int]:
    """The slots without answers that were given again, as evidence has them.

    All of them, where too few say anything new.
    """
    found = scored.new(numbers)
    return found if len(found) >= least else numbers


def thinned(numbers: Sequence[int], most: int = MOST_TAUGHT) -> Sequence[int]:
    """At most so many of them, evenly: whole batches, since neighbours tell of dependence.

    >>> len(thinned(range(100_000))), thinned(range(3)), thinned(range(100_000))[39:41]
    (10000, range(0, 3), [39, 400])
    """
    if len(numbers) <= most:
        return numbers
    batches, kept = len(numbers) // BATCH, most // BATCH
    starts = [number * batches // kept * BATCH for number in range(kept)]
    return [numbers[start + number] for start in starts for number in range(BATCH)]


def frozen(
    counted: Iterable[Candidate],
    learning_settings: LearningSettings,
    wanted: Callable[[JudgedApplication], bool],
    now: float,
) -> list[BaselineRecord]:
    """Of the latest scored slots, or of all where there are fewer: what is normal if they are.

    Metrics with too few values are left out; where all are, the record must not be published. What
    is from less than a day is provisional, as what is learned is; not with a shorter ``for_s``.
    """
    slots = learning_settings.slots
    found = sorted(gathered(counted, wanted).items(), key=lambda item: item[0])
    chosen = [(pair, scored, scored.between(ALWAYS, now)[-slots:]) for pair, scored in found]
    return [
        _frozen(pair, scored, numbers, learning_settings)
        for pair, scored, numbers in chosen
        if numbers
    ]


def _frozen(
    pair: JudgedApplication, scored: Scored, numbers: Sequence[int], chosen: LearningSettings
) -> BaselineRecord:
    slots = _picked(scored, saying_more(scored, numbers, LEAST_VALUES))
    made = at_once(_recorded(pair, Lesson(slots, slots, "frozen", chosen.least)))
    seen = _seen(slots)
    metrics = {
        name: _frozen_between(name, one, *seen[name], chosen) for name, one in made.metrics.items()
    }
    return made.model_copy(update={"slots": len(numbers), "metrics": metrics})


def _seen(slots: _TimedSlots) -> dict[str, tuple[float, float]]:
    """The event times of the first and the last value of each metric."""
    found: dict[str, tuple[float, float]] = {}
    for event_time, slot in slots:
        for name, value in slot.values:
            if value is not None:
                found[name] = found.get(name, (event_time,))[0], event_time
    return found


def _frozen_between(
    name: str, made: MetricBaseline, begin: float, end: float, chosen: LearningSettings
) -> MetricBaseline:
    """With these times. Only of what is watched a day will tell more."""
    is_short = end - begin < _NEARLY * min(chosen.for_s, DAY_S) and name in chosen.alarmed
    unseen = 0.0
    if is_short:
        unseen = unseen_spread(as_worse(made.mean, CATALOGUE[name].higher_is_better), end - begin)
    return made.model_copy(
        update={
            "frozen_from": datetime.fromtimestamp(begin, UTC),
            "frozen_until": datetime.fromtimestamp(end, UTC),
            "provisional": is_short,
            "hour_spread": max(made.hour_spread, unseen),
        }
    )


def _picked(scored: Scored, numbers: Sequence[int]) -> _TimedSlots:
    if isinstance(numbers, range):  # a day of them, at once
        return scored.span(numbers)
    return [scored[number] for number in numbers]


def _recorded(pair: JudgedApplication, lesson: Lesson) -> Generator[None, None, BaselineRecord]:
    """The record of the metrics with enough values: some slots, then a metric, a step."""
    picks: dict[str, list[ScoredPick]] = {}
    for number, (_, slot) in enumerate(lesson.slots, 1):
        for name, value in slot.values:
            if value is not None:
                picks.setdefault(name, []).append(
                    ScoredPick(slot.segment, slot.u, value, slot.cluster)
                )
        if number % STEP == 0:
            yield
    told = {name for name in picks if name in _DIRECTED and len(picks[name]) >= lesson.least}
    common = common_dependence(picks[name] for name in sorted(told))
    yield
    hours = yield from sums_by_hour(lesson.of_hours)
    metrics: dict[str, MetricBaseline] = {}
    for name, metric in CATALOGUE.items():
        if metric.higher_is_better is not None:
            baseline = learned(picks[name]) if name in told else None
            if baseline is not None:
                baseline = baseline.as_dependent(common)
                apart = lesson.spread(baseline, hours.get(name, ()))
                metrics[name] = _turned(
                    replace(baseline, hour_spread=apart), metric.higher_is_better
                )
            yield
    return BaselineRecord(
        application=pair[0],
        judge=pair[1],
        origin=lesson.origin,
        effective_from=datetime.fromtimestamp(lesson.slots[-1][0], UTC),
        slots=len(lesson.slots),
        metrics=metrics,
    )


def _calibrated(
    pair: JudgedApplication, scored: _TimedSlots, alarmed: Sequence[str]
) -> CalibrationRecord | None:
    """None where too few slots have a signal: what has no risk signal teaches nothing of it."""
    seen = [
        JudgedPick(
            slot.signal, slot.u, {n: v for n, v in slot.values if v is not None and n in _DIRECTED}
        )
        for _, slot in scored
        if slot.signal is not None
    ]
    if len(seen) * LEAST_SIGNALS < len(scored):
        return None
    found = calibration.learned(seen, alarmed)
    if found is None:
        return None
    return CalibrationRecord(
        application=pair[0],
        judge=pair[1],
        effective_from=datetime.fromtimestamp(scored[-1][0], UTC),
        slots=len(seen),
        edges=found.edges,
        spreads=found.spreads,
        expected=dict(found.expected),
    )


def _turned(baseline: Baseline, higher_is_better: bool) -> MetricBaseline:
    return MetricBaseline(
        mean=as_worse(baseline.mean, higher_is_better),
        se=baseline.se,
        segments={
            name: as_worse(mean, higher_is_better) for name, mean in baseline.segments.items()
        },
        spreads={name: (spread.share, spread.se) for name, spread in baseline.spreads.items()},
        dependence=baseline.dependence,
        values=baseline.values,
        halves_z=baseline.halves_z,
        day_spread=baseline.day_spread,
        hour_spread=baseline.hour_spread,
        hours=_hours_as_worse(baseline.hours, higher_is_better),
    )


def _hours_as_worse(hours: tuple[float, ...], higher_is_better: bool | None) -> tuple[float, ...]:
    """What hours add to a mean, with larger meaning worse; or back again."""
    return tuple(0.0 - hour for hour in hours) if higher_is_better else hours


def normal_of(record: BaselineRecord) -> Normal:
    """The baselines of a record with larger meaning worse; metrics unknown here are left out."""
    metrics = {}
    for name, found in record.metrics.items():
        if name in CATALOGUE:
            better = CATALOGUE[name].higher_is_better
            segments = {key: as_worse(mean, better) for key, mean in found.segments.items()}
            metrics[name] = Baseline(
                as_worse(found.mean, better),
                found.se,
                segments,
                spreads={name: SegmentSpread(*spread) for name, spread in found.spreads.items()},
                provisional=found.provisional or (record.provisional and not found.is_by_hand),
                dependence=found.dependence,
                values=found.values,
                halves_z=found.halves_z,
                day_spread=found.day_spread,
                hour_spread=found.hour_spread,
                hours=_hours_as_worse(found.hours, better),
            )
    later = {
        name: found.effective_from.timestamp()
        for name, found in record.metrics.items()
        if found.effective_from is not None
    }
    return Normal(
        metrics,
        record.effective_from.timestamp(),
        record.provisional,
        later,
        record.leaves_others,
    )
