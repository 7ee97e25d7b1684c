"""The drift detector's recursion against its formula, and its guarantees on the way."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.sampling.picks import weights
from monitor.stats.drift import (
    BETS,
    NO_EVIDENCE,
    BetEvidence,
    Deviation,
    after,
    combined,
    directed,
    uniform,
    weighted,
)

UNIT = st.floats(0.0, 1.0)


def exact_after(evidence: list[Fraction], d: Fraction, reach: Fraction) -> list[Fraction]:
    """The formula in exact arithmetic, without the ceiling."""
    return [
        (1 + r) * (1 + min(Fraction(bet), Fraction("0.95") / reach) * d)
        for bet, r in zip(BETS, evidence, strict=True)
    ]


@given(st.lists(UNIT | st.none(), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_evidence_follows_the_formula(values: list[float | None], baseline: float) -> None:
    """R_L ← (1 + R_L)·(1 + min(L, 0.95/b)·(x − b)), to rounding, where no ceiling is near."""
    found: BetEvidence = NO_EVIDENCE
    exact = [Fraction(0)] * len(BETS)
    for value in values:
        found = after(found, uniform(value, baseline), 1e300)
        x = Fraction(baseline if value is None else value)
        exact = exact_after(exact, x - Fraction(baseline), Fraction(baseline))
    assert found == pytest.approx([float(r) for r in exact], rel=1e-12)


@given(UNIT, UNIT)
def test_no_factor_is_below_a_twentieth(value: float, baseline: float) -> None:
    """One slot, however good, leaves at least a twentieth of the evidence."""
    before: BetEvidence = (10.0, 10.0, 10.0, 10.0, 10.0)
    grown = after(before, uniform(value, baseline), 1e9)
    assert min(grown) >= 11.0 * 0.05 * (1 - 1e-12)


@given(st.floats(0.2, 5.0), UNIT, st.floats(0.0, 0.25), UNIT, UNIT)
def test_the_screen_never_lets_a_factor_fall_below_a_twentieth(
    x: float, share: float, uf: float, baseline: float, f_mean: float
) -> None:
    """With u·f ≤ 1/4, d ≥ −reach: the promise of the bet holds for every pick of the screen."""
    u = 0.2 + 4.8 * share
    found = directed(min(x, 1.0), u, f_mean, uf / u, baseline, baseline)
    assert found.by >= -found.reach - 1e-12


@given(st.floats(1e-3, 2.0**60), UNIT, UNIT, UNIT)
def test_evidence_stays_positive_whatever_stands_on_a_record(
    u: float, value: float, f: float, baseline: float
) -> None:
    """A record that breaks u·f ≤ 1/4 costs no more than the largest loss: log10 R exists."""
    found = after(NO_EVIDENCE, directed(value, u, 0.0, f, baseline, baseline), 1e6)
    assert min(found) >= 0.05 * (1 - 1e-12)


@given(st.floats(1e3, 1e8), st.floats(1.0, 1e6))
def test_evidence_never_passes_the_ceiling(threshold: float, excess: float) -> None:
    """Above 100·A all bets are scaled down together: their ratios stay, their mean is 100·A."""
    huge = threshold * 200.0 * excess
    before: BetEvidence = (huge, huge / 2, huge / 4, huge / 8, huge * 3)
    found = after(before, Deviation(0.0, 0.5), threshold)
    assert combined(found) == pytest.approx(100.0 * threshold, rel=1e-12)
    assert found[0] / found[1] == pytest.approx((1 + huge) / (1 + huge / 2), rel=1e-9)


def test_a_baseline_of_zero_bets_without_a_bound() -> None:
    """At b = 0 nothing can be lost, so every bet stakes its own L, and nothing divides by zero."""
    assert after(NO_EVIDENCE, uniform(1.0, 0.0), 1e9) == tuple(1.0 + bet for bet in BETS)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 10)), min_size=1, max_size=8),
    st.floats(0, 0.3),
)
def test_a_directed_pick_without_expectation_is_an_e_value(
    members: list[tuple[float, float]], slack: float
) -> None:
    """Over the picks that could have been made, each with its probability, while all is normal."""
    values, w = [value for value, _ in members], weights([spread for _, spread in members])
    baseline = min(1.0, math.fsum(values) / len(values) + slack)
    for bet in range(len(BETS)):
        factors = []
        for value, weight in zip(values, w, strict=True):
            step = weighted(value, 1.0 / weight, baseline)
            factors.append((weight / len(w)) * after((0.0,) * 5, step, 1e300)[bet])
            assert after((0.0,) * 5, step, 1e300)[bet] >= 0.05 - 1e-9
        assert math.fsum(factors) <= 1.0 + 1e-9


def test_a_step_in_expectation_is_an_e_value() -> None:
    """At the baseline each factor is 1 on average: 0/1 scores, exactly, in closed form."""
    baseline = 0.125
    worse = after(NO_EVIDENCE, uniform(1.0, baseline), 1e9)
    better = after(NO_EVIDENCE, uniform(0.0, baseline), 1e9)
    means = [baseline * w + (1 - baseline) * b for w, b in zip(worse, better, strict=True)]
    assert all(math.isclose(mean, 1.0, rel_tol=1e-12) for mean in means)
