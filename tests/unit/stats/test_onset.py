"""The estimated start of a change: its definition, and how far off it is in simulations."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.drift import BETS, NO_EVIDENCE, Deviation, after, uniform
from monitor.stats.onset import LONG_ROW, onset

A = 10_000.0
B = 0.125
DEVIATIONS = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40).map(
    lambda values: [uniform(value, B) for value in values]
)


@given(DEVIATIONS)
def test_the_start_halves_the_evidence(deviations: list[Deviation]) -> None:
    """Starts up to the estimate hold at least half of the evidence, those before it less.

    But for a long row of slots at its beginning that are no worse than normal.
    """
    # From no evidence a step gives the factors themselves.
    factors = [after(NO_EVIDENCE, deviation, 1e300).bets for deviation in deviations]
    adds = [
        sum(math.prod(bet) for bet in zip(*factors[start:], strict=True)) / len(BETS)
        for start in range(len(factors))
    ]
    found = onset(deviations, 1e300)
    assert found is not None
    half, fine = sum(adds) / 2, 0
    while fine < found and deviations[found - fine - 1].by <= 0:
        fine += 1
    assert any(
        sum(adds[: start + 1]) >= half * (1 - 1e-9) and sum(adds[:start]) <= half * (1 + 1e-9)
        for start in (found, *(found - row for row in range(LONG_ROW, fine + 1)))
    )


def test_a_change_does_not_begin_with_a_row_of_what_is_normal() -> None:
    """What is next to never worse costs no evidence, so half of it is for far too early a start."""
    never, always = Deviation(-0.005, 0.005), Deviation(0.995, 0.005)
    found = onset([never] * 100 + [always] * 9, 1e6)
    assert found is not None
    assert found == 100
    short = onset([never] * 4 + [always] * 9, 1e6)
    assert short is not None
    assert short <= 4


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
    found = onset([uniform(value, B) for value in values], threshold)
    assert found is not None
    if first < len(values):
        assert found >= first


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
    found = onset(deviations, A)
    assert found is not None
    return found - 1_000


def _slot(rng: random.Random, mean: float) -> Deviation:
    """Of five claims, those of one answer agree: the rate is Beta with a correlation of 1/3."""
    rate = rng.betavariate(2 * mean, 2 * (1 - mean))
    return uniform(sum(rng.random() < rate for _ in range(5)) / 5, 0.085)
