"""The drift detector's recursion against its formula, and its guarantees on the way."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.sampling.picks import weights
from monitor.stats.drift import (
    BETS,
    NO_EVIDENCE,
    Deviation,
    DriftEvidence,
    after,
    ceiling,
    closing,
    directed,
    factors,
    quiet_after,
    threshold_closing_at,
    threshold_scaled_at,
    uniform,
    until_open,
    weighted,
)
from tests.benchmarks.drifting.ours import Detectors
from tests.benchmarks.drifting.streams import STANDARD

UNIT = st.floats(0.0, 1.0)
#: A learned baseline is above the mean by two standard errors of 1,000 slots.
MEAN, MARGIN = 0.09, 0.015


def closed(*bets: float) -> DriftEvidence:
    """No alarm, and so much evidence."""
    a, b, c, d, e = bets
    return DriftEvidence((a, b, c, d, e), is_open=False, reached=0.0)


def exact_after(
    evidence: list[Fraction], d: Fraction, reach: Fraction, starts: int
) -> list[Fraction]:
    """The formula in exact arithmetic, without the ceiling."""
    return [
        (starts + r) * (1 + min(Fraction(bet), Fraction("0.95") / reach) * d)
        for bet, r in zip(BETS, evidence, strict=True)
    ]


@given(st.lists(UNIT | st.none(), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_evidence_follows_the_formula(values: list[float | None], baseline: float) -> None:
    """R_L ← (1 + R_L)·(1 + min(L, 0.95/b)·(x − b)), to rounding, where no ceiling is near.

    A pick without a value adds no start, and changes nothing.
    """
    found = NO_EVIDENCE
    exact = [Fraction(0)] * len(BETS)
    for value in values:
        found = after(found, uniform(value, baseline), 1e300)
        x = Fraction(baseline if value is None else value)
        starts = int(value is not None)
        exact = exact_after(exact, x - Fraction(baseline), Fraction(baseline), starts)
    assert found.bets == pytest.approx([float(r) for r in exact], rel=1e-12)


@given(UNIT, UNIT)
def test_no_factor_is_below_a_twentieth(value: float, baseline: float) -> None:
    """One slot, however good, leaves at least a twentieth of the evidence."""
    grown = after(closed(*[10.0] * 5), uniform(value, baseline), 1e9)
    assert min(grown.bets) >= 11.0 * 0.05 * (1 - 1e-12)


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
    assert min(found.bets) >= 0.05 * (1 - 1e-12)


@given(st.floats(1e3, 1e8), st.floats(1.0, 1e6))
def test_evidence_never_passes_the_ceiling(threshold: float, excess: float) -> None:
    """Above it all bets are scaled down together: their ratios stay, their mean is the ceiling."""
    huge = threshold * 200.0 * excess
    found = after(
        closed(huge, huge / 2, huge / 4, huge / 8, huge * 3), Deviation(0.0, 0.5), threshold
    )
    assert found.is_open
    assert found.combined == pytest.approx(ceiling(threshold), rel=1e-12)
    assert found.bets[0] / found.bets[1] == pytest.approx((1 + huge) / (1 + huge / 2), rel=1e-9)


@given(st.lists(UNIT | st.none(), min_size=1, max_size=60), st.floats(2.0, 50.0))
def test_an_alarm_is_open_from_the_threshold_to_its_closing(
    values: list[float | None], threshold: float
) -> None:
    """The bit follows R; with its end nothing is left of the evidence."""
    found, is_open = NO_EVIDENCE, False
    for value in values:
        found = after(found, uniform(value, 0.1), threshold)
        ends = is_open and found.reached < closing(threshold)
        is_open = found.reached >= threshold or (is_open and not ends)
        assert found.is_open is is_open
        assert (found.bets == (0.0,) * 5) is (ends or found.reached == 0.0)


def test_openings_come_once_in_a_threshold_of_slots_at_most() -> None:
    """Not only the first one from a start: with the renewal each takes A slots on average.

    At exactly the baseline, 0/1 scores, A = 300. An alarm that is open takes time, too.
    """
    rng, threshold, slots = random.Random(1), 300.0, 150_000
    found, openings = NO_EVIDENCE, 0
    for _ in range(slots):
        was_open = found.is_open
        found = after(found, uniform(float(rng.random() < 0.1), 0.1), threshold)
        openings += found.is_open and not was_open
    print(f"{openings} openings, at most {slots / threshold:.0f} promised")
    assert 40 < openings <= slots / threshold


def test_an_alarm_seldom_ends_while_twice_as_much_is_wrong() -> None:
    """At most once in 10,000 judged, at a learned baseline, which is above the mean by its margin.

    300 runs of 1,000 slots, from the change on.
    """
    runs, rng = 300, np.random.default_rng(1)
    detectors, baseline = Detectors(runs, 1e4), np.full(runs, MEAN + MARGIN)
    ends, slots = 0, 0
    for _ in range(1_000):
        was_open = detectors.is_open
        detectors.step(STANDARD(rng, runs, 2 * MEAN) - baseline, baseline)
        ends += int((was_open & ~detectors.is_open).sum())
        slots += int(was_open.sum())
    print(f"{ends} ends in {slots} judged")
    assert slots > 200_000
    assert ends <= slots / 10_000


@pytest.mark.parametrize("threshold", [1_260.0, 1e4, 1.8e6])
def test_an_alarm_ends_soon_after_what_it_told_of(threshold: float) -> None:
    """In nine of ten within 250 judged, also at the least threshold that there is by default.

    It is that of 60 judged a day with three metrics: evidence of nothing is not far below it.
    """
    runs, rng = 200, np.random.default_rng(2)
    detectors, baseline = Detectors(runs, threshold), np.full(runs, MEAN + MARGIN)
    for _ in range(600):
        detectors.step(STANDARD(rng, runs, 2 * MEAN) - baseline, baseline)
    assert detectors.is_open.sum() > 0.9 * runs
    for _ in range(250):
        detectors.step(STANDARD(rng, runs, MEAN) - baseline, baseline)
    assert detectors.is_open.sum() <= 0.1 * runs


@given(st.floats(1.0, 1e9))
def test_the_greatest_threshold_at_which_an_alarm_goes_on(evidence: float) -> None:
    """It goes on there, and not at one that is greater; the least without scaling likewise."""
    greatest, least = threshold_closing_at(evidence), threshold_scaled_at(evidence)
    assert closing(greatest * (1 - 1e-9)) <= evidence < closing(greatest * (1 + 1e-9))
    assert ceiling(least * (1 + 1e-9)) >= evidence


def test_a_baseline_of_zero_bets_without_a_bound() -> None:
    """At b = 0 nothing can be lost, so every bet stakes its own L, and nothing divides by zero."""
    found = after(NO_EVIDENCE, uniform(1.0, 0.0), 1e9)
    assert found.bets == tuple(1.0 + bet for bet in BETS)


def test_picks_that_fail_are_no_evidence() -> None:
    """However many they are, of all kinds: nothing grows without a value."""
    found = NO_EVIDENCE
    for _ in range(1_000):
        for step in (
            uniform(None, 0.1), weighted(None, 2.0, 0.1), directed(None, 2.0, 0.1, 0.1, 0.1, 0.1)
        ):  # fmt: skip
            found = after(found, step, 1e9)
    assert found.combined == 0.0


@given(st.lists(UNIT, min_size=1, max_size=30), st.floats(1.0, 20.0))
def test_scores_that_repeat_each_other_count_to_the_power_of_one_in_v(
    values: list[float], dependence: float
) -> None:
    """R_L ← (1 + R_L)·factor^(1/V)."""
    found = NO_EVIDENCE
    for value in values:
        step = uniform(value, 0.1)
        factors = after(NO_EVIDENCE, step, 1e300).bets
        grown = [
            (1.0 + r) * f ** (1.0 / dependence) for r, f in zip(found.bets, factors, strict=True)
        ]
        found = after(found, step, 1e300, dependence)
        assert found.bets == pytest.approx(grown, rel=1e-12)


@given(UNIT | st.none(), st.floats(0.2, 5.0), UNIT, UNIT, st.floats(0.0, 0.5))
def test_a_margin_is_a_higher_baseline(
    value: float | None, u: float, f: float, baseline: float, margin: float
) -> None:
    """Held against more, a slot is what it were held against a baseline that is higher."""
    more, f = baseline + margin, min(f, 0.25 / u)
    pairs = [
        (uniform(value, baseline), uniform(value, more)),
        (weighted(value, u, baseline), weighted(value, u, more)),
        (
            directed(value, u, 0.1, f, baseline, baseline),
            directed(value, u, 0.1, f, more, more),
        ),
    ]
    for before, after_ in pairs:
        found = before.against_more(margin)
        assert found[:3] == pytest.approx(after_[:3], abs=1e-12)


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
            factor = after(NO_EVIDENCE, step, 1e300).bets[bet]
            factors.append((weight / len(w)) * factor)
            assert factor >= 0.05 - 1e-9
        assert math.fsum(factors) <= 1.0 + 1e-9


def test_a_step_in_expectation_is_an_e_value() -> None:
    """At the baseline each factor is 1 on average: 0/1 scores, exactly, in closed form."""
    baseline = 0.125
    worse = after(NO_EVIDENCE, uniform(1.0, baseline), 1e9)
    better = after(NO_EVIDENCE, uniform(0.0, baseline), 1e9)
    means = [
        baseline * w + (1 - baseline) * b for w, b in zip(worse.bets, better.bets, strict=True)
    ]
    assert all(math.isclose(mean, 1.0, rel_tol=1e-12) for mean in means)


@pytest.mark.parametrize("threshold", [50.0, 1e4])
def test_many_slots_at_once_are_those_one_by_one(threshold: float) -> None:
    """To the last bit, with slots without a value, until an alarm opens."""
    draw = random.Random(7).random
    values = [None if draw() < 0.1 else draw() for _ in range(400)]
    slots = [uniform(value, 0.5) for value in values]
    found, evidence = None, NO_EVIDENCE
    for number, slot in enumerate(slots, 1):
        evidence = after(evidence, slot, threshold)
        if evidence.is_open:
            found = number
            break
    assert until_open(NO_EVIDENCE.bets, map(factors, slots), threshold) == (found, evidence.bets)
    assert (found is None) == (threshold > 50.0)


@pytest.mark.parametrize("threshold", [5.0, 50.0, 1e4])
def test_quiet_is_what_one_by_one_no_alarm_is_open_after(threshold: float) -> None:
    """To the last bit, at the ceiling and after alarms that ended, too."""
    draw = random.Random(8).random
    evidence, slots, seen = NO_EVIDENCE, list[Deviation](), set[bool]()
    for number in range(1_200):
        value = None if draw() < 0.1 else 1.0 if draw() < number % 300 / 300 else 0.3
        slots.append(uniform(value, 0.4))
        evidence = after(evidence, slots[-1], threshold)
        if number % 300 < 60:  # after the worst: here an alarm ends
            quiet = quiet_after(map(factors, slots), threshold)
            assert quiet == (None if evidence.is_open else evidence.bets)
            seen.add(evidence.is_open)
    assert seen == {False, True}
    assert evidence.combined == pytest.approx(ceiling(threshold), rel=1e-9)
