"""Learning what is normal: baselines from the first scored slots of an application and judge."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from monitor.exporter.scores.detectors import ALWAYS, Normal
from monitor.exporter.scores.folding import JudgedApplication
from monitor.exporter.scores.observation import Observation
from monitor.exporter.scores.scored import STEP, Scored, gathered
from monitor.exporter.scores.steps import at_once
from monitor.exporter.scores.training_slots import TrainingSlots
from monitor.metrics.catalogue import CATALOGUE
from monitor.records.control import BaselineRecord, CalibrationRecord, MetricBaseline, Origin
from monitor.stats import calibration
from monitor.stats.baseline import Baseline, ScoredPick, learned
from monitor.stats.calibration import JudgedPick
from monitor.stats.candidates import Candidate
from monitor.stats.sums import as_worse

#: Event times and slots.
_TimedSlots = list[tuple[float, Observation]]
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
    """How much is learned from: ``slots`` scored slots, ``wait_s`` seconds old or older.

    ``alarmed`` are the metrics with detectors: judgements should teach most about them.
    """

    slots: int
    wait_s: int
    alarmed: tuple[str, ...] = ("faithfulness",)


class Progress(NamedTuple):
    """How far one application and judge is: scored slots that are old enough, of those needed."""

    pair: JudgedApplication
    slots: int
    needed: int

    @property
    def done(self) -> bool:
        """Whether there is enough to learn from."""
        return self.slots >= self.needed


class Taught(NamedTuple):
    """What is normal, and what signals say of the same slots, if enough of them have one."""

    baseline: BaselineRecord
    calibration: CalibrationRecord | None


@dataclass(frozen=True)
class LearningResult:
    """How far one application and judge is, and the slots that it is taught from when done."""

    progress: Progress
    slots: _TimedSlots
    alarmed: tuple[str, ...]

    def taught(self) -> Generator[None, None, Taught | None]:
        """What there is to be learned, in a few steps; None before it is done."""
        if not self.progress.done:
            return None
        pair = self.progress.pair
        baseline = yield from _recorded(pair, self.slots, "learned")
        return Taught(baseline, _calibrated(pair, self.slots, self.alarmed))


class Learner:
    """The scored slots of all applications and judges that have no baseline yet."""

    def __init__(self, learning_settings: LearningSettings) -> None:
        self.learning_settings = learning_settings
        self._since: dict[JudgedApplication, float] = {}

    def learn_after(self, pair: JudgedApplication, event_time: float | None) -> None:
        """Learn from slots after this event time only (a baseline was reset); None: from all."""
        self._since[pair] = ALWAYS if event_time is None else event_time

    def results(
        self, training_slots: TrainingSlots, now: float
    ) -> Generator[None, None, list[LearningResult]]:
        """For every pair without a baseline: how far it is, and what it would be taught from.

        In steps. The slots are those of the last one, whatever comes and goes before it is taught.
        """
        found = []
        unknown = yield from training_slots.unknown(lambda pair: self._since.get(pair, ALWAYS))
        for pair, scored in unknown:
            numbers = self._numbers(pair, scored, now)
            if numbers:
                progress = Progress(pair, len(numbers), self.learning_settings.slots)
                slots = (
                    _picked(scored, numbers[: self.learning_settings.slots])
                    if progress.done
                    else []
                )
                found.append(LearningResult(progress, slots, self.learning_settings.alarmed))
        return found

    def _numbers(self, pair: JudgedApplication, scored: Scored, now: float) -> Sequence[int]:
        since = self._since.get(pair, ALWAYS)
        return scored.between(since, now - self.learning_settings.wait_s)


def frozen(
    counted: Iterable[Candidate],
    slots: int,
    wanted: Callable[[JudgedApplication], bool],
    now: float,
) -> list[BaselineRecord]:
    """What is normal if the latest ``slots`` scored slots are, or all where there are fewer."""
    found = sorted(gathered(counted, wanted).items(), key=lambda item: item[0])
    chosen = [(pair, scored, scored.between(ALWAYS, now)[-slots:]) for pair, scored in found]
    return [
        _record(pair, _picked(scored, numbers), "frozen")
        for pair, scored, numbers in chosen
        if numbers
    ]


def _picked(scored: Scored, numbers: Sequence[int]) -> _TimedSlots:
    return [scored[number] for number in numbers]


def _record(pair: JudgedApplication, scored: _TimedSlots, origin: Origin) -> BaselineRecord:
    return at_once(_recorded(pair, scored, origin))


def _recorded(
    pair: JudgedApplication, scored: _TimedSlots, origin: Origin
) -> Generator[None, None, BaselineRecord]:
    """The record: some slots, then a metric, a step."""
    picks: dict[str, list[ScoredPick]] = {}
    for number, (_, slot) in enumerate(scored, 1):
        for name, value in slot.values:
            if value is not None:
                picks.setdefault(name, []).append(ScoredPick(slot.segment, slot.u, value))
        if number % STEP == 0:
            yield
    metrics: dict[str, MetricBaseline] = {}
    for name, metric in CATALOGUE.items():
        if metric.higher_is_better is not None:
            baseline = learned(picks.get(name, ()))
            if baseline is not None:
                metrics[name] = _turned(baseline, metric.higher_is_better)
            yield
    return BaselineRecord(
        application=pair[0],
        judge=pair[1],
        origin=origin,
        effective_from=datetime.fromtimestamp(scored[-1][0], UTC),
        slots=len(scored),
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
    )


def normal_of(record: BaselineRecord) -> Normal:
    """The baselines of a record with larger meaning worse; metrics unknown here are left out."""
    metrics = {}
    for name, found in record.metrics.items():
        if name in CATALOGUE:
            better = CATALOGUE[name].higher_is_better
            segments = {key: as_worse(mean, better) for key, mean in found.segments.items()}
            metrics[name] = Baseline(as_worse(found.mean, better), found.se, segments)
    return Normal(metrics, record.effective_from.timestamp())
