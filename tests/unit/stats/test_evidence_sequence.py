"""The evidence sequence: evidence is a function of the slots held, whatever the way there."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.stats.baseline import Baseline, SegmentSpread
from monitor.stats.drift import NO_EVIDENCE, Deviation, DriftEvidence, after, uniform
from monitor.stats.evidence_sequence import ComparedSlot, EvidenceSequence, PickPlace
from monitor.stats.recent_mix import RecentMix

THRESHOLDS = st.sampled_from([2.0, 20.0, 100.0, 1e4])
#: Some 40 minutes, so that several steps are remembered, and again as many after a silence.
LATER = 200_000.0
TIMES = st.tuples(st.integers(0, 9_600), st.sampled_from([0.0, 0.0, LATER])).map(
    lambda found: found[0] / 4 + found[1]
)
SPREADS = {"a": SegmentSpread(0.9, 0.01), "b": SegmentSpread(0.1, 0.2)}
MIX = RecentMix(Baseline(0.08, 0.01, {"a": 0.08, "b": 0.08}, spreads=SPREADS))
SCORES = st.floats(0.0, 1.0) | st.none()
SLOTS = st.lists(st.tuples(TIMES, SCORES, st.sampled_from("ab")), max_size=40).map(
    lambda found: [
        ((time, f"i{i}"), ComparedSlot(uniform(x, 0.08), MIX.parts({segment: 1})))
        for i, (time, x, segment) in enumerate(found)
    ]
)
Slots = list[tuple[PickPlace, ComparedSlot]]


def straight(slots: Slots, start: float, end: float, threshold: float) -> DriftEvidence | None:
    """The recursion in one go over the sorted slots: what every way must end in."""
    within = [(time, held) for (time, _), held in sorted(slots) if start <= time <= end]
    evidence, mix = NO_EVIDENCE, MIX.copy()
    for number, (time, held) in enumerate(within):
        last, gap = within[number - 1][0], (within[number - 1][0] - within[0][0])
        gap /= max(1, number - 1)
        if number and evidence.is_open and time - last > 86_400 + max(3_600, 20 * gap):
            evidence = NO_EVIDENCE
        margin = mix.margin()
        mix.add(held.parts)
        deviation = held.deviation.against_more(margin) if margin else held.deviation
        evidence = after(evidence, deviation, threshold, 1.5)
    return evidence if within else None


def sequence() -> EvidenceSequence:
    """One without a slot."""
    return EvidenceSequence(MIX, 1.5)


@settings(deadline=None)
@given(SLOTS, st.randoms(use_true_random=False), THRESHOLDS)
def test_any_way_ends_in_the_same_bits(slots: Slots, rng: random.Random, threshold: float) -> None:
    """Shuffled, asked in between at any time, taken out and put back: the same evidence."""
    watched, held = sequence(), list(slots)
    rng.shuffle(held)
    for place, one in held:
        watched.put(place, one)
        if rng.random() < 0.5:
            a = rng.choice([3.0, 20.0, 100.0, threshold])
            end = rng.uniform(0, 2_800) + rng.choice([0.0, LATER])
            watched.evidence(rng.choice([0.0, 480.0]), end, a)
        if rng.random() < 0.2:
            watched.take(place)
            watched.put(place, one)
    for start in (0.0, 480.0):
        for end in (2_399.0, 1_200.0, 2_800.0, LATER + 1_200.0, 2 * LATER):
            assert watched.evidence(start, end, threshold) == straight(slots, start, end, threshold)


@settings(deadline=None)
@given(SLOTS, st.randoms(use_true_random=False), THRESHOLDS)
def test_steps_taken_ahead_change_nothing(
    slots: Slots, rng: random.Random, threshold: float
) -> None:
    """However few at a time and however far, and whatever slots come and go in between."""
    watched, held = sequence(), list(slots)
    rng.shuffle(held)
    for place, one in held:
        watched.put(place, one)
        end = rng.uniform(0, 2_800) + rng.choice([0.0, LATER])
        watched.prepare(480.0, end, threshold, rng.randrange(4))
    for end in (2_399.0, LATER + 2_399.0):
        assert watched.evidence(480.0, end, threshold) == straight(slots, 480.0, end, threshold)


@settings(deadline=None)
@given(SLOTS, st.lists(THRESHOLDS, min_size=1, max_size=4))
def test_another_threshold_counts_from_the_start(slots: Slots, thresholds: list[float]) -> None:
    """After any changes of A the evidence is what A would have given from the beginning."""
    watched = sequence()
    for place, one in slots:
        watched.put(place, one)
    for threshold in thresholds:
        for end in (2_800.0, 2 * LATER):
            assert watched.evidence(0.0, end, threshold) == straight(slots, 0.0, end, threshold)


def test_only_places_that_are_held_can_be_taken() -> None:
    """Taking out what is not there is an error, and changes nothing."""
    watched = EvidenceSequence()
    watched.put((1.0, "a"), ComparedSlot(Deviation(0.0, 0.5)))
    with pytest.raises(KeyError):
        watched.take((1.0, "b"))
    assert len(watched) == 1


def test_a_start_that_is_kept_goes_on_and_others_are_forgotten() -> None:
    """Dropping a recursion loses no evidence: it is computed again when it is asked for."""
    watched = EvidenceSequence()
    for second in range(100):
        watched.put((float(second), "i"), ComparedSlot(uniform(0.5, 0.08)))
    before = watched.evidence(0.0, 99.0, 1e4)
    watched.evidence(60.0, 99.0, 1e4)
    watched.keep({60.0})
    assert watched.evidence(0.0, 99.0, 1e4) == before


@settings(deadline=None)
@given(SLOTS, THRESHOLDS)
def test_a_snapshot_has_the_deviations_of_the_evidence(slots: Slots, threshold: float) -> None:
    """From the start on; what comes later changes nothing of it."""
    watched = sequence()
    for place, one in slots:
        watched.put(place, one)
    snapshot = watched.snapshot(480.0, LATER + 2_000.0)
    watched.put((0.0, "late"), ComparedSlot(uniform(1.0, 0.08), MIX.parts({"b": 1})))
    evidence = NO_EVIDENCE
    for place, deviation in snapshot():
        if place[0] >= 480.0:
            evidence = after(evidence, deviation, threshold, 1.5)
    assert [place for place, _ in snapshot()] == sorted(
        p for p, _ in slots if p[0] <= LATER + 2_000.0
    )
    assert evidence == (straight(slots, 480.0, LATER + 2_000.0, threshold) or NO_EVIDENCE)


def test_a_threshold_that_asks_nothing_else_steps_back_nowhere() -> None:
    """While all answers stay the same the steps are kept; an answer that changes loses some."""
    watched = EvidenceSequence()
    for second in range(1_000):
        watched.put((float(second), "i"), ComparedSlot(uniform(0.5 if second > 990 else 0.0, 0.08)))
    watched.evidence(0.0, 999.0, 1e3)
    watched.prepare(0.0, 999.0, 1.001e3, 0)
    assert watched.left(0.0, 999.0) == 0
    watched.prepare(0.0, 999.0, 2e5, 0)
    assert 0 < watched.left(0.0, 999.0) < 500


@settings(deadline=None)
@given(SLOTS, st.randoms(use_true_random=False), THRESHOLDS)
def test_evidence_that_is_carried_over_goes_on(
    slots: Slots, rng: random.Random, threshold: float
) -> None:
    """A start that moves changes no bit, whenever it is carried and however slots come."""
    within = [(place, held) for place, held in slots if place[0] < LATER]
    whole, later = EvidenceSequence(dependence=1.5), EvidenceSequence(dependence=1.5)
    for place, held in within:
        whole.put(place, held)
    before = whole.evidence(0.0, 2_400.0, threshold)
    stood = whole.stood(0.0, 1_200.0)
    rng.shuffle(within)
    for number, (place, held) in enumerate(within):
        if place[0] >= 1_200.0:
            later.put(place, held)
        later.evidence(1_200.0, rng.uniform(0, 2_800), threshold)
        if number == len(within) // 2:
            later.carry({1_200.0: stood})
    found = later.evidence(1_200.0, 2_400.0, threshold)
    assert found is None or (found.bets, found.is_open) == (
        before and (before.bets, before.is_open)
    )
