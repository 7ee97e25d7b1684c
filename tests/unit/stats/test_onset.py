"""The estimated start of a change: its definition, and how far off it is in simulations."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.drift import BETS, NO_EVIDENCE, Deviation, after, uniform
from monitor.stats.onset import LITTLE, LONG_ROW, NEXT_TO_NONE, Onset, onset

A = 10_000.0
B = 0.125
DEVIATIONS = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40).map(
    lambda values: [uniform(value, B) for value in values]
)


def must_find(deviations: Iterable[Deviation], threshold: float) -> Onset:
    """The onset of what has one."""
    found = onset(deviations, threshold)
    assert found is not None
    return found


def _added(deviations: Sequence[Deviation]) -> list[float]:
    """What each start adds to the evidence: the product of the factors since, averaged over bets.

    From no evidence a step gives the factors themselves.
    """
    factors = [after(NO_EVIDENCE, deviation, 1e300).bets for deviation in deviations]
    return [
        sum(math.prod(bet) for bet in zip(*factors[start:], strict=True)) / len(BETS)
        for start in range(len(factors))
    ]


@given(DEVIATIONS)
def test_the_start_halves_the_evidence(deviations: list[Deviation]) -> None:
    """Starts up to the estimate hold at least half of the evidence, those before it less.

    But for a long row of slots at its beginning that are no worse than normal.
    """
    adds, found = _added(deviations), must_find(deviations, 1e300).first
    half, fine = sum(adds) / 2, 0
    while fine < found and deviations[found - fine - 1].by <= 0:
        fine += 1
    assert any(
        sum(adds[: start + 1]) >= half * (1 - 1e-9) and sum(adds[:start]) <= half * (1 + 1e-9)
        for start in (found, *(found - row for row in range(LONG_ROW, fine + 1)))
    )


@given(DEVIATIONS)
def test_little_evidence_is_for_a_start_among_those_surely_before(
    deviations: list[Deviation],
) -> None:
    """Starts before ``earliest`` hold less than a tenth of it; with one more they would not.

    Those before ``possible`` next to none.
    """
    adds, onset_found = _added(deviations), must_find(deviations, 1e300)
    cuts = (onset_found.earliest, LITTLE), (onset_found.possible, NEXT_TO_NONE)
    for found, share in cuts:
        little = share * sum(adds)
        assert found == 0 or sum(adds[:found]) <= little * (1 + 1e-9)
        assert sum(adds[: found + 1]) >= little * (1 - 1e-9)


def test_what_was_normal_is_not_told_from_slots_of_the_change() -> None:
    """A small change is found late; the slots before the estimate are too bad by a tenth of it."""
    sure, before = (statistics.fmean(means) for means in zip(*map(_normal, range(80)), strict=True))
    print(f"0.08 → 0.12: surely before {sure:.4f}, before the estimate {before:.4f}")
    assert abs(sure - 0.08) < 0.002
    assert before > 0.083


def _normal(seed: int) -> tuple[float, float]:
    """Means of the slots surely before a change from 0.08 to 0.12, and of those before it."""
    rng, b = random.Random(seed), 0.1
    deviations = [_slot(rng, 0.08, b) for _ in range(500)]
    evidence = NO_EVIDENCE
    while not evidence.is_open:
        deviations.append(_slot(rng, 0.12, b))
        evidence = after(evidence, deviations[-1], A)
    found = must_find(deviations, A)
    sure, before = (
        statistics.fmean(b + one.by for one in deviations[: max(30, cut)])
        for cut in (found.earliest, found.first)
    )
    return sure, before


def test_a_change_does_not_begin_with_a_row_of_what_is_normal() -> None:
    """What is next to never worse costs no evidence, so half of it is for far too early a start."""
    never, always = Deviation(-0.005, 0.005), Deviation(0.995, 0.005)
    assert must_find([never] * 100 + [always] * 9, 1e6).first == 100
    assert must_find([never] * 4 + [always] * 9, 1e6).first <= 4


@given(
    st.lists(st.floats(0.0, 1.0) | st.none(), min_size=1, max_size=60),
    st.floats(1.5, 1e3),
)
def test_a_start_lies_within_what_the_evidence_is_made_of(
    values: list[float | None], threshold: float
) -> None:
    """Not before the end of an earlier alarm, nor among picks without a value before any."""
    evidence, first = NO_EVIDENCE, 0
    for number, value in enumerate(values):
        evidence = after(evidence, uniform(value, B), threshold)
        if evidence.combined == 0.0:
            first = number + 1
    found = must_find([uniform(value, B) for value in values], threshold)
    assert found.possible <= found.earliest <= found.first
    if first < len(values):
        assert found.possible >= first


@pytest.mark.parametrize(("mean", "most"), [(0.24, 10), (0.16, 30)])
def test_the_start_is_found(mean: float, most: int) -> None:
    """After 1,000 at 0.08, at the alarm: the median error is small beside the delay (30 and 80)."""
    late = [_late(random.Random(seed), mean) for seed in range(60)]
    size = statistics.median(abs(one) for one in late)
    print(f"0.08 → {mean}: median {statistics.median(late):+.0f}, median size {size:.0f}")
    assert size <= most
    assert abs(statistics.median(late)) <= most / 2


def _late(rng: random.Random, mean: float) -> int:
    """The estimated start less the true one; runs that alarm before the change begin anew."""
    while True:
        deviations = [_slot(rng, 0.08) for _ in range(1_000)]
        evidence = NO_EVIDENCE
        for deviation in deviations:
            evidence = after(evidence, deviation, A)
        if not evidence.is_open:
            break
    while not evidence.is_open:
        deviations.append(_slot(rng, mean))
        evidence = after(evidence, deviations[-1], A)
    return must_find(deviations, A).first - 1_000


def _slot(rng: random.Random, mean: float, baseline: float = 0.085) -> Deviation:
    """Of five claims, those of one answer agree: the rate is Beta with a correlation of 1/3."""
    rate = rng.betavariate(2 * mean, 2 * (1 - mean))
    return uniform(sum(rng.random() < rate for _ in range(5)) / 5, baseline)
