"""What people's audits say of a judge's errors, and the mean that they correct."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from monitor.stats.correction import (
    LATEST,
    LEAST_SLOPE,
    LEAST_STRATIFIED,
    LEAST_UNIFORM,
    LEAST_WRONG,
    Audited,
    Corrected,
    JudgeErrors,
    NotCorrected,
    corrected,
    corrected_estimate,
    corrected_over_audits,
    has_moved,
    judge_errors,
)
from monitor.stats.estimate import Estimate, estimate
from monitor.stats.sums import ZERO, Sums, as_worse, terms
from tests.stages.corrections import audits_of

VALUES = (0.0, 0.0, 0.0, 0.25, 0.5, 1.0)
SCORES = st.sampled_from(VALUES)
WEIGHTS = (0.5, 1.0, 1.0, 4.0)
#: What the judge says instead, where it is wrong.
SLIPS = (*[None] * 12, 0.0, 0.25, 1.0)


def audited(people: float, slip: float | None, weight: float) -> Audited:
    """An audit of a judge that is mostly right."""
    return Audited(people if slip is None else slip, people, weight)


#: Each of one draw: lists are long, and what is drawn of three takes three times as long.
EACH = [audited(*parts) for parts in product(VALUES, SLIPS, WEIGHTS)]
AUDITS = st.lists(st.sampled_from(EACH), min_size=100, max_size=160)
MEANS = st.floats(0, 1)
VARIANCES = st.floats(0, 0.05)


def known(audits: Sequence[Audited]) -> JudgeErrors:
    """The errors, of audits that are enough."""
    found = judge_errors(audits, least=LEAST_STRATIFIED)
    assert isinstance(found, JudgeErrors)
    return found


def numbers(errors: JudgeErrors) -> list[float]:
    """All fields in a row."""
    return [*errors[:4], *errors.squares, errors.effective, errors.audits]


@given(AUDITS)
def test_the_line_is_that_of_weighted_least_squares(audits: list[Audited]) -> None:
    """As numpy fits it; h̄, S_hh and k as they are defined."""
    found = judge_errors(audits)
    assume(isinstance(found, JudgeErrors))
    assert isinstance(found, JudgeErrors)
    judge, people, weight = (np.array(column) for column in zip(*audits, strict=True))
    beta, alpha = np.polyfit(people, judge, 1, w=np.sqrt(weight))
    assert (found.alpha, found.beta) == pytest.approx((alpha, beta), abs=1e-9)
    assert found.people == pytest.approx(np.average(people, weights=weight))
    assert found.spread == pytest.approx(np.cov(people, ddof=0, aweights=weight))
    assert found.effective == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert found.audits == len(audits)


@given(AUDITS, MEANS, VARIANCES)
def test_the_interval_is_that_of_the_formula(
    audits: list[Audited], mean: float, variance: float
) -> None:
    """Var = [Var(θ̂) + k/(k − 2)·(Σg² + (1 + (θ̂_c − h̄)²/S_hh)/(4n²))]/β², audit by audit.

    Each residual is divided by 1 less its leverage; clipped to [0, 1].
    """
    errors = judge_errors(audits)
    assume(isinstance(errors, JudgeErrors))
    assert isinstance(errors, JudgeErrors)
    alpha, beta, people, spread, _, k, n = errors
    total = sum(one.weight for one in audits)
    value = (mean - alpha) / beta
    of_audits = sum(
        (
            one.weight
            / total
            * (one.judge - alpha - beta * one.people)
            / (1 - min(0.9, one.weight / total * (1 + (one.people - people) ** 2 / spread)))
            * (1 + (value - people) * (one.people - people) / spread)
        )
        ** 2
        for one in audits
    )
    half_error = (1 + (value - people) ** 2 / spread) / (4 * n**2)
    within = variance + k / (k - 2) * (of_audits + half_error)
    half = t_975(int(k) - 2) * math.sqrt(within) / beta
    expected = [min(1.0, max(0.0, x)) for x in (value, value - half, value + half)]
    assert corrected(errors, mean, variance) == pytest.approx(expected, abs=1e-6)


def t_975(df: int) -> float:
    """Student's quantile, by scipy."""
    return float(stats.t.ppf(0.975, df))


@given(AUDITS, st.sampled_from([0.125, 2.0, 1024.0]), MEANS, VARIANCES)
def test_a_common_factor_of_the_weights_says_nothing(
    audits: list[Audited], factor: float, mean: float, variance: float
) -> None:
    """Only how audits weigh beside each other counts: errors, both corrections, the warning."""
    times = [one._replace(weight=one.weight * factor) for one in audits]
    before, after = judge_errors(audits), judge_errors(times)
    if isinstance(before, JudgeErrors):
        assert isinstance(after, JudgeErrors)
        assert numbers(after) == pytest.approx(numbers(before), abs=1e-12)
    else:
        assert after == before
    spans = [corrected_over_audits(each, mean, variance) for each in (audits, times)]
    if isinstance(spans[0], Corrected):
        assert spans[1] == pytest.approx(spans[0], abs=1e-9)
    else:
        assert spans[1] == spans[0]
    assert has_moved(times) == has_moved(audits)


@given(st.lists(SCORES, min_size=100, max_size=160), MEANS, VARIANCES)
def test_a_judge_that_is_always_right_changes_nothing(
    values: list[float], mean: float, variance: float
) -> None:
    """α = 0, β = 1, and no mean is moved, in any window or in the audited span."""
    audits = [Audited(value, value, 1.0) for value in values]
    assume(sum(value > 0 for value in values) >= LEAST_WRONG and len(set(values)) > 1)
    errors = known(audits)
    assert (errors.alpha, errors.beta) == pytest.approx((0.0, 1.0), abs=1e-9)
    assert sum(errors.squares) == pytest.approx(0.0, abs=1e-12)
    found, span = corrected(errors, mean, variance), corrected_over_audits(audits, mean, variance)
    assert isinstance(span, Corrected)
    assert found.value == pytest.approx(mean, abs=1e-9)
    assert span.value == pytest.approx(mean, abs=1e-9)


@given(AUDITS, MEANS, VARIANCES, VARIANCES)
def test_less_is_known_of_a_window_that_is_less_sure(
    audits: list[Audited], mean: float, variance: float, more: float
) -> None:
    """The interval holds the value, stays in [0, 1], and grows with the variance of the mean."""
    errors = judge_errors(audits)
    assume(isinstance(errors, JudgeErrors))
    assert isinstance(errors, JudgeErrors)
    narrow, wide = (corrected(errors, mean, each) for each in (variance, variance + more))
    assert 0 <= wide.lower <= narrow.lower <= narrow.value <= narrow.upper <= wide.upper <= 1
    assert narrow.value == wide.value


def test_errors_beyond_any_number_correct_nothing() -> None:
    """Whoever may write a record may write such ones: no page fails for that."""
    strange = known(audits_of(300))._replace(spread=5e-324, squares=(1e6, 0.0, 1e6))
    assert corrected(strange, 0.1, 0.01)[1:] == (0.0, 1.0)


def test_false_alarms_and_misses_are_taken_out() -> None:
    """Of a judge with both, the mean of a window that is twice as bad as the audits is found."""
    errors = known(audits_of(4_000))
    assert (errors.alpha, errors.beta) == pytest.approx((0.05, 0.8), abs=0.01)
    twice = 0.05 + 0.8 * 0.4
    assert corrected(errors, twice, 0.0).value == pytest.approx(0.4, abs=0.01)


def right_and_wrong(right: int, wrong: int, weight: float = 1.0) -> list[Audited]:
    """A judge without errors; wrong ones with a weight of their own."""
    return [Audited(0.0, 0.0, 1.0)] * right + [Audited(1.0, 1.0, weight)] * wrong


@pytest.mark.parametrize(
    ("audits", "least", "reason"),
    [
        (right_and_wrong(89, 10), LEAST_UNIFORM, NotCorrected.TOO_FEW),
        (right_and_wrong(39, 10), LEAST_STRATIFIED, NotCorrected.TOO_FEW),
        (right_and_wrong(191, 9), LEAST_UNIFORM, NotCorrected.TOO_FEW_WRONG),
        (right_and_wrong(90, 10, weight=1_000.0), LEAST_UNIFORM, NotCorrected.UNEVEN),
        ([Audited(0.5, 1.0, 1.0)] * 100, LEAST_UNIFORM, NotCorrected.NO_BETTER_THAN_CHANCE),
        (
            [Audited(0.5, float(n % 2), 1.0) for n in range(100)],
            LEAST_UNIFORM,
            NotCorrected.NO_BETTER_THAN_CHANCE,
        ),
        (
            [Audited(0.29 * (n % 2), float(n % 2), 1.0) for n in range(100)],
            LEAST_UNIFORM,
            NotCorrected.NO_BETTER_THAN_CHANCE,
        ),
    ],
)
def test_why_there_is_no_correction(
    audits: list[Audited], least: int, reason: NotCorrected
) -> None:
    """Each reason; one people's value for all says as little of a judge as a slope below 0.3."""
    assert judge_errors(audits, least=least) is reason


def test_just_enough_is_enough() -> None:
    """At each bound itself there are errors."""
    assert known(right_and_wrong(90, 10)).audits == LEAST_UNIFORM
    assert known(right_and_wrong(40, 10)).audits == LEAST_STRATIFIED
    weak = [Audited(0.31 * (n % 2), float(n % 2), 1.0) for n in range(100)]
    assert known(weak).beta > LEAST_SLOPE


def test_the_audited_span_needs_fewer_audits_but_no_uneven_ones() -> None:
    """50 of them, wrong ones or not; then the mean of all right ones stays what it was."""
    span = corrected_over_audits(right_and_wrong(50, 0), 0.0, 0.0)
    assert isinstance(span, Corrected)
    assert (span.value, span.lower) == (0.0, 0.0)
    assert 0 < span.upper < 0.03, "none among 50 does not mean none"
    assert corrected_over_audits(right_and_wrong(49, 0), 0.0, 0.0) is NotCorrected.TOO_FEW
    uneven = right_and_wrong(90, 10, weight=1_000.0)
    assert corrected_over_audits(uneven, 0.0, 0.0) is NotCorrected.UNEVEN


def window(*values: float, failed: int = 0) -> Sums:
    """Slots of one interaction each, with larger meaning worse."""
    found = ZERO
    for x in (*values, *[None] * failed):
        one = terms(1, 1.0, 1.0, 0.0, 0.0, x, failed=x is None)
        found = found.plus(one)
    return found


@pytest.mark.parametrize("better", [True, False, None])
def test_a_window_is_corrected_in_the_direction_of_its_metric(better: bool | None) -> None:
    """80 right ones and 20 wrong: by the errors of the judge, turned back with both bounds."""
    errors = known(audits_of(300))
    found = estimate(window(*[0.0] * 80, *[1.0] * 20), ZERO, better)
    assert found.value == pytest.approx(as_worse(0.2, better))
    worse = corrected(errors, 0.2, 0.2 * 0.8 / 100)
    one = corrected_estimate(found, errors, better)
    assert one is not None
    assert one.lower < one.value < one.upper
    back = [as_worse(each, better) for each in one]
    assert sorted(back) == pytest.approx(sorted(worse))


def test_what_is_missing_widens_the_corrected_bounds() -> None:
    """Of 100 picks 20 failed: (1 − ρ)·lower and (1 − ρ)·upper + ρ; up to 5 % nothing is widened."""
    errors, values = known(audits_of(300)), ([0.0] * 60, [1.0] * 20)
    found = estimate(window(*values[0], *values[1], failed=20), ZERO, None)
    one = corrected_estimate(found, errors, None)
    worse = corrected(errors, found.value or 0.0, found.variance or 0.0)
    assert one is not None
    assert one == pytest.approx((worse.value, 0.8 * worse.lower, 0.8 * worse.upper + 0.2))
    few = estimate(window(*values[0], *values[1], failed=4), ZERO, None)
    assert corrected_estimate(few, errors, None) == corrected(
        errors, few.value or 0.0, few.variance or 0.0
    )


def test_nothing_scored_is_nothing_corrected() -> None:
    """Neither an empty window nor one of failures has a mean."""
    for found in (estimate(ZERO, ZERO, None), estimate(window(failed=3), ZERO, None)):
        assert corrected_estimate(found, known(audits_of(300)), None) is None
    assert (
        corrected_estimate(Estimate(0.5, 0.4, 0.6, 9.0, 0.0), known(audits_of(300)), None) is None
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_judge_with_many_more_false_alarms_has_moved(seed: int) -> None:
    """From 2 % to 30 % within the latest 50; one that is as ever has not, at 1 %."""
    before = audits_of(150, false_alarms=0.02, seed=seed)
    assert has_moved(before + audits_of(LATEST, false_alarms=0.30, seed=100 + seed)) is True
    assert has_moved(before + audits_of(LATEST, false_alarms=0.02, seed=100 + seed)) is False


def test_too_few_audits_say_nothing_of_a_move() -> None:
    """Of the latest 50, or of those before; nor do those on which people say the same of all."""
    audits = audits_of(2 * LATEST, false_alarms=0.02)
    assert has_moved(audits) is not None
    assert has_moved(audits[1:]) is None
    assert has_moved([]) is None
    assert has_moved([*audits[:LATEST], *right_and_wrong(LATEST, 0)]) is None
