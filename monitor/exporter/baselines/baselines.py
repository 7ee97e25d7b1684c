"""Baselines between the control topic, the learner and the detectors."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import NamedTuple

from monitor.control.corrections import Corrections
from monitor.control.decisions import beside_decisions
from monitor.control.pauses import Pauses
from monitor.control.state import ControlReader, ControlState, WrittenAt
from monitor.exporter.baselines.bad_times import AlarmsOf, is_held_back, marked, no_alarms
from monitor.exporter.baselines.days import Days, WasOpen, is_of_days, never_open
from monitor.exporter.baselines.learning import (
    Learner,
    LearningResult,
    LearningSettings,
    Progress,
    normal_of,
)
from monitor.exporter.scores.detectors import DriftDetectors, DriftKey, Normal
from monitor.exporter.scores.folding import JudgedApplication
from monitor.exporter.scores.steps import at_once
from monitor.exporter.scores.training_slots import TrainingSlots
from monitor.records.control import (
    BASELINE,
    CORRECTION,
    DAY,
    PAUSE,
    BaselineRecord,
    ControlRecord,
    DayRecord,
    Removed,
    baseline_key,
)
from monitor.records.keyed import Keyed
from monitor.stats.evidence_sequence import EvidenceSequence


class BaselineStatus(NamedTuple):
    """How it stands with an application and judge.

    ``slots``: scored slots that the baseline was, or up to now could be, learned from; None where
    the configuration fixes all of it. ``is_due``: it is being learned, and that is enough.
    """

    pair: JudgedApplication
    slots: int | None
    is_learning: bool
    is_due: bool = False


class Baselines:
    """Control records in, baselines to publish out."""

    def __init__(self, drift: DriftDetectors, learner: Learner) -> None:
        self._drift, self._learner = drift, learner
        self._records: dict[str, BaselineRecord] = {}
        #: What holds in the place of what stands on the topic, and is to be written there.
        self._unwritten: dict[str, BaselineRecord] = {}
        chosen = learner.learning_settings
        self._days = Days(drift, chosen.least, chosen.slots, chosen.wait_s)
        self.progress: list[Progress] = []

    def hold(self, found: ControlRecord | Removed) -> list[EvidenceSequence]:
        """Let it hold, if it is about a baseline; the others are for those who pick and judge.

        What is given back is not needed any more, and may be let go of step by step.
        """
        if isinstance(found, DayRecord):
            self._days.hold(found)
            return []
        if isinstance(found, Removed):
            self._days.forget(found.key)
            self._unwritten.pop(found.key, None)
            gone = self._records.pop(found.key, None)
            return [] if gone is None else self._apply(gone.application, gone.judge, None)
        if isinstance(found, BaselineRecord):
            return self._hold_baseline(found)
        return []

    def _hold_baseline(self, found: BaselineRecord) -> list[EvidenceSequence]:
        before = self._records.get(found.key)
        held = beside_decisions(before, found)
        if held == found:
            self._unwritten.pop(found.key, None)
        else:
            self._unwritten[found.key] = held
        if held == before:
            return []
        self._records[found.key] = held
        return self._apply(found.application, found.judge, held)

    def held_in_steps(
        self, found: ControlRecord | Removed, now: Callable[[], float]
    ) -> Generator[None, None, None]:
        """The same step by step: with one of them all of it holds. ``now`` gives epoch seconds.

        The steps behind it let go of what is not needed any more.
        """
        if isinstance(found, BaselineRecord):
            pair = found.application, found.judge
            held = beside_decisions(self._records.get(found.key), found)
            try:
                yield from self._drift.prepared(*pair, _normal(held), now)
                gone = self.hold(found)
            finally:
                self._drift.abandon(*pair)
        else:  # without a baseline nothing is to be held against it
            gone = self.hold(found)
        for sequence in gone:
            yield from sequence.emptied()

    @property
    def drift(self) -> DriftDetectors:
        """The detectors that are held against them."""
        return self._drift

    @property
    def learning_settings(self) -> LearningSettings:
        """How much is learned from."""
        return self._learner.learning_settings

    def records(self) -> Mapping[str, BaselineRecord]:
        """What holds, by key."""
        return self._records

    def learn(
        self,
        training_slots: TrainingSlots,
        now: float,
        was_open: WasOpen = never_open,
        alarms_of: AlarmsOf = no_alarms,
    ) -> list[Keyed]:
        """Look how far learning is; the records to publish now, if any, baselines last.

        They hold once they have come back through ``hold``, as on every other exporter. A
        baseline that is there says that all was published.
        """
        return at_once(self.learned_in_steps(training_slots, now, was_open, alarms_of))

    def learned_in_steps(
        self,
        training_slots: TrainingSlots,
        now: float,
        was_open: WasOpen = never_open,
        alarms_of: AlarmsOf = no_alarms,
    ) -> Generator[None, None, list[Keyed]]:
        """The same step by step; ``progress`` is what it was until the last one.

        ``was_open`` says of which days a baseline must not learn, ``alarms_of`` which alarms there
        were when one was learned. What is decided about an application and judge meanwhile holds:
        the next look learns beside it. What was decided, and written over by somebody who did not
        know, is written again.
        """
        before = dict(self._records)
        progress: list[Progress] = []
        calibrations: list[Keyed] = []
        baselines: list[Keyed] = []
        if not all(self._drift.is_known(*pair) for pair in self._drift.pairs()):
            for result in (yield from self._learner.results(training_slots, now)):
                progress.append(result.progress)
                if self._is_held_back(result.progress.pair, now, alarms_of):
                    continue
                taught = yield from result.taught()
                if taught is not None:
                    learned = self._marked(taught.baseline, result, alarms_of)
                    held = self._records.get(learned.key)
                    if (made := beside_decisions(held, learned)) != held:
                        baselines.append(made)
                    calibrations += [one for one in (taught.calibration,) if one is not None]
        self.progress = progress
        of_days = yield from self._of_days(now, was_open)
        return [
            one
            for one in (*self._unwritten.values(), *calibrations, *of_days, *baselines)
            if self._records.get(one.key) is before.get(one.key)
        ]

    def _is_provisional(self, pair: JudgedApplication) -> bool:
        record = self._records.get(baseline_key(*pair))
        return record is not None and record.provisional

    def _is_held_back(self, pair: JudgedApplication, now: float, alarms_of: AlarmsOf) -> bool:
        watched, alarms = self._drift.settings.metrics, self._of_what_is_learned(pair, alarms_of)
        return self._is_provisional(pair) and is_held_back(*pair, watched, now, alarms)

    def _of_what_is_learned(self, pair: JudgedApplication, alarms_of: AlarmsOf) -> AlarmsOf:
        """Alarms on what people decided, or the configuration fixes, say nothing of the rest."""
        record, fixed = self._records.get(baseline_key(*pair)), self._drift.fixed(*pair)
        held = record.metrics if record is not None else {}
        decided = {name for name, one in held.items() if one.is_by_hand}
        decided |= {*fixed.metrics} if fixed is not None else set()
        return lambda metric, of: () if metric in decided else alarms_of(metric, of)

    def _marked(
        self, record: BaselineRecord, result: LearningResult, alarms_of: AlarmsOf
    ) -> BaselineRecord:
        times = [event_time for event_time, _ in result.slots]
        was_provisional = self._is_provisional(result.progress.pair)
        alarms = self._of_what_is_learned(result.progress.pair, alarms_of)
        return marked(record, times, alarms, was_provisional=was_provisional)

    def _of_days(self, now: float, was_open: WasOpen) -> Generator[None, None, list[Keyed]]:
        """The records of days that are over, and baselines that have enough of them."""
        found: list[Keyed] = []
        for _, record in sorted(self._records.items()):
            day = yield from self._days.due(record, now, was_open)
            refined = self._days.refined(record, now, was_open)
            found += [one for one in (day, refined) if one is not None]
        return found

    def days(self, record: BaselineRecord, metric: str, now: float) -> list[DayRecord]:
        """The whole days after it, until ``now``, that are known of a metric."""
        return self._days.known_of(record, metric, now)

    def status(self) -> Iterator[BaselineStatus]:
        """Every application and judge that has detectors, in order; as of the last ``learn``."""
        learned_from = {progress.pair: progress.slots for progress in self.progress}
        due = {progress.pair for progress in self.progress if progress.done}
        for pair in sorted(self._drift.pairs()):
            record = self._records.get(baseline_key(*pair))
            if not self._drift.has_baseline(*pair):
                yield BaselineStatus(
                    pair,
                    min(learned_from.get(pair, 0), self.learning_settings.slots),
                    True,
                    pair in due,
                )
            else:
                slots = record.slots if record and record.metrics else None
                if record is not None and record.leaves_others:
                    slots = learned_from.get(pair, 0)
                yield BaselineStatus(pair, slots, False)

    def learned_share(self, key: DriftKey) -> float:
        """In which share of the slots that were learned the metric had a value.

        0 for what was not learned, or later from days: of these only the values were counted.
        """
        record = self._records.get(baseline_key(key.application, key.judge))
        found = None if record is None else record.metrics.get(key.metric)
        if record is None or found is None or not record.slots or is_of_days(found):
            return 0.0
        if found.values:
            return min(1.0, found.values / record.slots)
        # Records of before: the error is at least 1/n for n values.
        return min(1.0, 1.0 / (found.se * record.slots)) if found.se else 0.0

    def _apply(
        self, application: str, judge: str, record: BaselineRecord | None
    ) -> list[EvidenceSequence]:
        normal = _normal(record)
        gone = self._drift.set_normal(application, judge, normal)
        after, provisional = None, normal is not None and normal.provisional
        if record is not None and normal is None:
            after = record.effective_from
        elif record is not None and (provisional or record.leaves_others):
            after = record.learned_after
        self._learner.learn_after(
            (application, judge),
            None if after is None else after.timestamp(),
            provisional=provisional,
        )
        return gone


def _normal(record: BaselineRecord | None) -> Normal | None:
    """None for a record without metrics, which says that all is to be learned anew."""
    return normal_of(record) if record is not None and record.metrics else None


def control_state(
    baselines: Baselines, corrections: Corrections | None = None, pauses: Pauses | None = None
) -> ControlState:
    """The control topic as it is read for its baselines; records of all kinds are looked at.

    Those of audits are held by ``corrections``, where it is given, and those of ``pauses`` by them.
    """

    def read(found: ControlRecord | Removed, _: WrittenAt) -> None:
        baselines.hold(found)

    readers: dict[str, ControlReader] = {BASELINE: read, DAY: read}
    if corrections is not None:
        readers[CORRECTION] = corrections.apply
    if pauses is not None:
        readers[PAUSE] = pauses.apply
    return ControlState(readers, reports_others=True)


def learning_slots(baselines: Baselines) -> dict[tuple[str, str], tuple[int, int]]:
    """By application and judge without a baseline: scored slots so far, and how many it takes."""
    needed = baselines.learning_settings.slots
    return {each.pair: (each.slots or 0, needed) for each in baselines.status() if each.is_learning}
