"""The trail: evidence is a function of the slots held, whatever the way there."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.stats.drift import NO_EVIDENCE, BetEvidence, Deviation, after, uniform
from monitor.stats.evidence_sequence import EvidenceSequence, PickPlace

THRESHOLDS = st.sampled_from([20.0, 100.0, 1e4])
SLOTS = st.lists(
    st.tuples(st.integers(0, 2400).map(lambda t: t / 4), st.floats(0.0, 1.0)), max_size=40
).map(lambda found: [((time, f"i{i}"), uniform(x, 0.08)) for i, (time, x) in enumerate(found)])
Slots = list[tuple[PickPlace, Deviation]]


def straight(slots: Slots, start: float, end: float, threshold: float) -> BetEvidence | None:
    """The recursion in one go over the sorted slots: what every way must end in."""
    within = [dev for (time, _), dev in sorted(slots) if start <= time <= end]
    evidence: BetEvidence = NO_EVIDENCE
    for deviation in within:
        evidence = after(evidence, deviation, threshold)
    return evidence if within else None


@settings(deadline=None)
@given(SLOTS, st.randoms(use_true_random=False), THRESHOLDS)
def test_any_way_ends_in_the_same_bits(slots: Slots, rng: random.Random, threshold: float) -> None:
    """Shuffled, asked in between at any time, taken out and put back: the same evidence."""
    trail, held = EvidenceSequence(), list(slots)
    rng.shuffle(held)
    for place, deviation in held:
        trail.put(place, deviation)
        if rng.random() < 0.5:
            a = rng.choice([20.0, 100.0, threshold])
            trail.evidence(rng.choice([0.0, 120.0]), rng.uniform(0, 700), a)
        if rng.random() < 0.2:
            trail.take(place)
            trail.put(place, deviation)
    for start in (0.0, 120.0):
        for end in (599.0, 300.0, 700.0):
            assert trail.evidence(start, end, threshold) == straight(slots, start, end, threshold)


@settings(deadline=None)
@given(SLOTS, st.randoms(use_true_random=False), THRESHOLDS)
def test_steps_taken_ahead_change_nothing(
    slots: Slots, rng: random.Random, threshold: float
) -> None:
    """However few at a time and however far, and whatever slots come and go in between."""
    trail, held = EvidenceSequence(), list(slots)
    rng.shuffle(held)
    for place, deviation in held:
        trail.put(place, deviation)
        trail.prepare(120.0, rng.uniform(0, 700), threshold, rng.randrange(4))
    assert trail.evidence(120.0, 599.0, threshold) == straight(slots, 120.0, 599.0, threshold)


@settings(deadline=None)
@given(SLOTS, st.lists(THRESHOLDS, min_size=1, max_size=4))
def test_another_threshold_counts_from_the_start(slots: Slots, thresholds: list[float]) -> None:
    """After any changes of A the evidence is what A would have given from the beginning."""
    trail = EvidenceSequence()
    for place, deviation in slots:
        trail.put(place, deviation)
    for threshold in thresholds:
        assert trail.evidence(0.0, 700.0, threshold) == straight(slots, 0.0, 700.0, threshold)


def test_only_places_that_are_held_can_be_taken() -> None:
    """Taking out what is not there is an error, and changes nothing."""
    trail = EvidenceSequence()
    trail.put((1.0, "a"), Deviation(0.0, 0.5))
    with pytest.raises(KeyError):
        trail.take((1.0, "b"))
    assert len(trail) == 1


def test_a_start_that_is_kept_goes_on_and_others_are_forgotten() -> None:
    """Dropping a recursion loses no evidence: it is computed again when it is asked for."""
    trail = EvidenceSequence()
    for second in range(100):
        trail.put((float(second), "i"), uniform(0.5, 0.08))
    before = trail.evidence(0.0, 99.0, 1e4)
    trail.evidence(60.0, 99.0, 1e4)
    trail.keep({60.0})
    assert trail.evidence(0.0, 99.0, 1e4) == before
