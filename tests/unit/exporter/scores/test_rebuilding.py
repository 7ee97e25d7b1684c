"""Another baseline in steps: nothing is seen of it before it is whole, and then all of it."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from itertools import takewhile
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.holding import Holding
from monitor.exporter.baselines.learning import Learner, LearningSettings
from monitor.exporter.scores.aggregator import ScoreAggregator
from monitor.exporter.scores.detector import Detector
from monitor.exporter.scores.detectors import DriftDetectors
from monitor.exporter.scores.observation import Observation
from monitor.exporter.scores.rebuilding import STEP, Entry
from monitor.records.control import BaselineRecord, MetricBaseline
from monitor.stats.baseline import NOTHING, Baseline
from monitor.stats.drift import Deviation, DriftEvidence
from monitor.stats.evidence_sequence import ComparedSlot, EvidenceSequence, PickPlace
from tests.stages.candidates import candidate_of
from tests.stages.detectors import METRICS, NORMAL, SETTINGS, drift_aggregator
from tests.stages.process import until
from tests.stages.properties import costly
from tests.stages.score_records import FIRST, PERIOD, START, WINDOWS, record

OLD, NEW = Baseline(0.1, 0.02, {"acme": 0.2}), Baseline(0.3, 0.01, {"acme": 0.1})
HOUR, A = 3_600.0, 100.0
SLOT = cast("Observation", candidate_of(found := record("0", 0.0), found.to_json()).payload)
#: Minutes since the start, over five hours: many slots share an hour, and some a minute.
TIMES = st.integers(0, 300)
CHANGES = st.lists(st.tuples(st.sampled_from(["put", "take", "drop"]), TIMES), max_size=40)


class Both:
    """A detector, and the slots that it should have."""

    def __init__(self, minutes: set[int]) -> None:
        self.detector = Detector("faithfulness", NOTHING)
        self.detector.hold_against(OLD)
        self.slots: dict[PickPlace, Entry] = {}
        self.floor = 0
        for minute in minutes:
            self.change("put", minute)

    def change(self, what: str, minute: int) -> None:
        """A slot comes or goes, or all before it are dropped; as a book would have it."""
        place = START + 60.0 * minute, f"i{minute}"
        if minute < self.floor:
            return
        if what == "drop":
            self.floor = minute
            self.detector.drop_before(place[0])
            self.slots = {p: entry for p, entry in self.slots.items() if p[0] >= place[0]}
        elif what == "put" and place not in self.slots:
            self.slots[place] = SLOT, (minute * 7 % 10) / 10
            self.detector.put(place, self.slots[place])
        elif what == "take" and place in self.slots:
            del self.slots[place]
            self.detector.take(place)

    def evidence(self, detector: Detector) -> DriftEvidence | None:
        """What a detector says of the last hours."""
        start = START + 60.0 * self.floor
        return detector.evidence((start, start + HOUR), START + 5 * HOUR, A)

    def expected(self, baseline: Baseline) -> DriftEvidence | None:
        """The same of one that has seen nothing else, in one step."""
        fresh = Detector("faithfulness", NOTHING)
        fresh.hold_against(baseline)
        for place in sorted(self.slots):
            fresh.put(place, self.slots[place])
        return self.evidence(fresh)


@costly
@given(st.sets(TIMES, max_size=60), CHANGES, st.integers(1, 5), st.randoms())
def test_slots_that_come_and_go_meanwhile_are_held_against_it_too(
    minutes: set[int], changes: list[tuple[str, int]], step: int, rng: random.Random
) -> None:
    """Before the end the evidence is the old baseline's, after it the new one's, bit for bit."""
    both = Both(minutes)
    made = both.detector.rebuild(NEW)
    made.step = step
    for _ in made.filled():
        while changes and rng.random() < 0.6:
            both.change(*changes.pop())
        assert both.evidence(both.detector) == both.expected(OLD)
    for each in changes[len(changes) // 2 :]:
        both.change(*each)
    start = START + 60.0 * both.floor
    while made.followed((start, start + HOUR), START + 5 * HOUR, A):
        pass
    for each in changes[: len(changes) // 2]:
        both.change(*each)
    assert both.evidence(both.detector) == both.expected(OLD)
    both.detector.hold_against(NEW)
    assert both.detector.baseline == NEW
    assert both.evidence(both.detector) == both.expected(NEW)


def test_the_work_is_done_in_many_steps() -> None:
    """Slots and evidence alike, so that the last step has next to nothing left to do."""
    count, detector = 10 * STEP, Detector("faithfulness", NOTHING)
    detector.hold_against(OLD)
    for number in range(count):
        detector.put((START + number / 10, f"{number:06d}"), (SLOT, 0.5))
    made, steps = detector.rebuild(NEW), 0
    for _ in made.filled():
        steps += 1
    while made.followed((START, START + 100.0), START + HOUR, A):
        steps += 1
    assert steps >= 2 * 10
    assert made.sequence.left(START, START + HOUR) == 0
    assert made.sequence.left(START + 100.0, START + HOUR) == 0


def test_a_trail_is_let_go_of_in_many_steps() -> None:
    """And then there is nothing left of it."""
    sequence = EvidenceSequence()
    for number in range(12_000):
        sequence.put((START + number, "i"), ComparedSlot(Deviation(0.5, 0.25)))
    assert len(list(sequence.emptied())) == 3
    assert len(sequence) == 0


class Stage:
    """A book with detectors for one application, and what holds its baselines."""

    def __init__(self, count: int = 40) -> None:
        self.drift = DriftDetectors(SETTINGS)
        self.baselines = Baselines(self.drift, Learner(LearningSettings(1_000_000, 10)))
        self.aggregator = ScoreAggregator(WINDOWS, PERIOD, drift=self.drift)
        self.now = START + 100.0
        for number in range(count):
            one = record(str(number), 60.0 + number, faithfulness=(number % 4) / 4)
            self.aggregator.add(one, one.to_json())
        self.aggregator.advance(self.now)

    def states(self) -> list[object]:
        """What all detectors say."""
        return list(self.drift.states(self.now))


def baseline(
    mean: float, *, reset: bool = False, after: float = 0.0, decided: float | None = None
) -> BaselineRecord:
    """One that somebody set for what comes ``after`` so many seconds; ``decided`` is when."""
    at = None if decided is None else datetime.fromtimestamp(START + decided, UTC)
    metrics = {name: MetricBaseline(mean=mean, se=0.01, decided_at=at) for name in METRICS}
    return BaselineRecord(
        application="bot",
        judge=FIRST.label,
        origin="set",
        effective_from=datetime.fromtimestamp(START + after, UTC),
        slots=0 if reset else 10,
        metrics={} if reset else metrics,
    )


@pytest.mark.parametrize("first", [None, baseline(0.9), baseline(0.6, after=90.0)])
def test_all_metrics_change_with_one_step(first: BaselineRecord | None) -> None:
    """Learned, set anew, or with another beginning: as without steps, and until then as before.

    What was held before is let go of in the steps behind it.
    """
    stage, plain = Stage(), Stage()
    for each in (stage, plain):
        if first is not None:
            each.baselines.hold(first)
    before = stage.states()
    new = baseline(0.6, decided=100.0)
    plain.baselines.hold(new)
    after = plain.states()
    steps = stage.baselines.held_in_steps(new, lambda: stage.now)
    seen = [stage.states() for _ in steps]
    until = len(list(takewhile(lambda states: states == before, seen)))
    assert until > 1
    assert all(states == after for states in seen[until:])
    assert bool(seen[until:]) == (first is not None)
    assert stage.states() == after != before
    assert [*stage.baselines.status()] == [*plain.baselines.status()]


def test_what_is_given_up_leaves_nothing_behind() -> None:
    """The process ends, or a person decides otherwise: the old baseline holds."""
    stage = Stage()
    stage.baselines.hold(baseline(0.9))
    before = stage.states()
    steps = stage.baselines.held_in_steps(baseline(0.6), lambda: stage.now)
    next(steps)
    steps.close()
    assert stage.states() == before
    stage.baselines.hold(baseline(0.9))
    assert stage.states() == before


async def test_baselines_hold_in_the_order_in_which_they_came() -> None:
    """Set, reset and set again, while served: the last one holds, and nothing else had its turn."""
    stage, told = Stage(), list[int]()
    holding = Holding(stage.baselines, lambda: stage.now, lambda: told.append(len(told)))
    running = asyncio.create_task(holding.run())
    for one in (baseline(0.9), baseline(0.9, reset=True, after=1.0), baseline(0.6, after=2.0)):
        holding.apply(one, at_once=False)
    # One that comes now may not overtake them, though nobody were served.
    last = baseline(0.5, after=3.0)
    holding.apply(last, at_once=True)
    assert not holding.is_done
    await until(lambda: holding.is_done, "all to hold", every_s=0.002)
    running.cancel()
    plain = Stage()
    plain.baselines.hold(last)
    assert stage.states() == plain.states() != []
    assert told == [0, 1, 2, 3]


async def test_before_anybody_is_served_a_baseline_holds_at_once() -> None:
    """Else a look at the alarms would find no detectors, and close what is open."""
    stage = Stage()
    holding = Holding(stage.baselines, lambda: stage.now, lambda: None)
    one = baseline(0.6)
    holding.apply(one, at_once=True)
    assert stage.states() != []
    assert holding.is_done


def test_slots_of_a_new_metric_are_held_against_it_as_well() -> None:
    """A detector that comes to be while the others are prepared is not forgotten."""
    drift = drift_aggregator()
    aggregator = ScoreAggregator(WINDOWS, PERIOD, drift=drift)
    one = record("0", 60.0)
    aggregator.add(one, one.to_json())
    aggregator.advance(START + 100.0)
    steps = drift.prepared("shop-bot", FIRST.label, None, lambda: START + 100.0)
    assert list(steps) == []
    late = record("1", 61.0, application="shop-bot")
    aggregator.add(late, late.to_json())
    drift.set_normal("shop-bot", FIRST.label, NORMAL)
    applications = {state.key.application for state in drift.states(START + 100.0)}
    assert applications == {"bot", "shop-bot"}
