"""The estimate of a window, its interval and what widens it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from monitor.stats.estimate import Z95, Estimate, estimate, is_surely_worse, wilson
from monitor.stats.sums import ZERO, Sums, added_up, as_worse, segment_terms, terms


class Slot(NamedTuple):
    """The arguments of ``terms``."""

    m: int = 1
    q: float = 1.0
    u: float = 1.0
    f_mean: float = 0.0
    f: float = 0.0
    x: float | None = None
    failed: bool = False


# Dyadic numbers: every term is exact at 40 binary places, so that the oracle need not round. All
# combinations: what is drawn field by field takes several times as long.
M, Q, U = (1, 4, 16), (0.25, 1.0), (0.5, 1.0, 2.0)
F_MEAN, F, X = (0.0, 0.125), (0.0, 0.0625), (*[None] * 9, *(eighths / 8 for eighths in range(9)))
DYADIC_SLOTS = st.sampled_from([Slot(*parts) for parts in product(M, Q, U, F_MEAN, F, X)])


def total(slots: Iterable[Sums]) -> Sums:
    """The sum of some slots."""
    return added_up([*slots])


def plain(values: Sequence[float | None], failed: int = 0) -> Sums:
    """Slots of one interaction each, all judged; None is unscored."""
    slots = [Slot(x=value) for value in values] + [Slot(failed=True)] * failed
    return total(terms(*slot) for slot in slots)


def bounds(found: Estimate) -> tuple[float, float]:
    """The interval of an estimate that has one."""
    assert found.lower is not None
    assert found.upper is not None
    return found.lower, found.upper


def terms_of(slot: Slot) -> tuple[Fraction, Fraction, Fraction]:
    """W, G, H as fractions, from the definitions."""
    w = Fraction(slot.m) / Fraction(slot.q)
    a, x = (0, Fraction(0)) if slot.x is None else (1, Fraction(slot.x))
    g = Fraction(slot.f_mean) + Fraction(slot.u) * (a * x - Fraction(slot.f))
    return w, g, 1 - Fraction(slot.u) * (1 - a)


def d_of(slots: Sequence[Slot]) -> float | None:
    """D of a list of slots from its definition; None where it has none."""
    rows = [terms_of(slot) for slot in slots]
    wh = sum(w * h for w, _, h in rows)
    if wh <= 0:
        return None
    theta = sum(w * g for w, g, _ in rows) / wh
    p = min(Fraction(1), max(Fraction(0), theta))
    if p in (0, 1):
        return None
    share = wh / sum(w for w, _, _ in rows)
    spread = sum((w * (g - theta * h)) ** 2 for w, g, h in rows) / sum(w * w for w, _, _ in rows)
    return float(spread / (share * max(1, share) * p * (1 - p)))


def from_lists(slots: Sequence[Slot], horizon: Sequence[Slot]) -> Estimate:
    """The estimate of larger-is-worse scores from lists of slots, without sums of products."""
    rows = [terms_of(slot) for slot in slots]
    w_all, wh = sum(w for w, _, _ in rows), sum(w * h for w, _, h in rows)
    missing = float(sum(w for (w, _, _), s in zip(rows, slots, strict=True) if s.failed) / w_all)
    if wh <= 0 or all(slot.x is None for slot in slots):
        return Estimate(None, None, None, 0.0, missing)
    p = float(min(1, max(0, sum(w * g for w, g, _ in rows) / wh)))
    kish = float(w_all**2 / sum(w * w for w, _, _ in rows))
    is_settled = sum(slot.x is not None for slot in horizon) >= 500
    found = d_of(horizon) if is_settled else None
    long = 1.0 if found is None else found
    own = d_of(slots)
    n_eff = (
        min(1.0, float(wh / w_all)) * kish / min(1.5, max(0.05, long if own is None else own, long))
    )
    lower, upper = wilson(p, n_eff)
    if missing > 0.05:
        lower, upper = (1 - missing) * lower, 1 - (1 - missing) * (1 - upper)
    certain = wilson(0.0, n_eff)[1] / 2 / Z95
    variance = max(p * (1 - p) / n_eff, certain**2)
    return Estimate(p, lower, upper, float(wh / w_all) * kish, missing, n_eff, variance)


def numbers(found: Estimate) -> list[float | None]:
    """The fields, for a comparison with a tolerance."""
    rest = found.samples, found.missing_ratio, found.trials, found.variance
    return [found.value, found.lower, found.upper, *rest]


@pytest.mark.parametrize(
    ("successes", "n", "expected"),
    [
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0000, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ],
)
def test_wilson_agrees_with_published_intervals(
    successes: int, n: int, expected: tuple[float, float]
) -> None:
    """The score intervals without continuity correction in table I of Newcombe (1998)."""
    assert wilson(successes / n, n) == pytest.approx(expected, abs=5e-5)


def test_wilson_agrees_with_scipy() -> None:
    """The same bounds as ``binomtest(k, n).proportion_ci(method="wilson")``."""
    for n in (1, 5, 40):
        for k in range(n + 1):
            found = binomtest(k, n).proportion_ci(method="wilson")
            assert wilson(k / n, n) == pytest.approx((found.low, found.high), abs=1e-12)


@given(st.floats(0, 1), st.floats(0.1, 1e6))
def test_wilson_bounds_solve_the_equation_of_the_score_test(p: float, n: float) -> None:
    """At a bound b, p is 1.96 standard errors away, (p − b)² = z²·b(1 − b)/n; p lies between."""
    lower, upper = wilson(p, n)
    assert 0.0 <= lower <= p <= upper <= 1.0
    for bound in (lower, upper):
        assert (p - bound) ** 2 == pytest.approx(Z95**2 * bound * (1 - bound) / n, abs=1e-9)


@given(
    st.lists(DYADIC_SLOTS, min_size=1, max_size=12),
    st.lists(DYADIC_SLOTS, min_size=1, max_size=5),
    st.sampled_from([1, 600]),
)
def test_estimate_equals_the_definitions_on_lists(
    slots: list[Slot], others: list[Slot], times: int
) -> None:
    """Value, bounds and effective number as from the lists; long and short horizons."""
    horizon = others * times
    found = estimate(
        total(terms(*slot) for slot in slots), total(terms(*slot) for slot in horizon), None
    )
    assert numbers(found) == pytest.approx(numbers(from_lists(slots, horizon)), abs=1e-9)


@given(
    st.lists(DYADIC_SLOTS, min_size=1, max_size=10),
    st.lists(DYADIC_SLOTS, min_size=1, max_size=10),
)
def test_missing_picks_widen_as_defined(slots: list[Slot], failing: list[Slot]) -> None:
    """With failed picks among the slots, all five numbers are those of the definitions."""
    mixed = slots + [slot._replace(x=None, failed=True) for slot in failing]
    sums = total(terms(*slot) for slot in mixed)
    assert numbers(estimate(sums, sums, None)) == pytest.approx(
        numbers(from_lists(mixed, mixed)), abs=1e-9
    )


def test_missing_share_widens_only_above_five_per_cent() -> None:
    """One failed pick of 20 is tolerated; one of 19 lets both bounds allow for either value."""
    tolerated = estimate(plain([0.0, 1.0] * 9 + [0.5], failed=1), ZERO, None)
    widened = estimate(plain([0.0, 1.0] * 9, failed=1), ZERO, None)
    assert tolerated.missing_ratio == 0.05
    lower, upper = bounds(tolerated)
    assert lower + upper == pytest.approx(1.0)
    assert lower == pytest.approx(wilson(0.5, 19)[0])
    assert widened.missing_ratio == pytest.approx(1 / 19)
    unwidened = wilson(0.5, 18)
    assert bounds(widened) == pytest.approx(
        (18 / 19 * unwidened[0], 18 / 19 * unwidened[1] + 1 / 19)
    )


@pytest.mark.parametrize(
    ("window", "missing_ratio"),
    [
        pytest.param(ZERO, None, id="no pick"),
        pytest.param(plain([None, None]), 0.0, id="all unscored"),
        pytest.param(plain([], failed=3), 1.0, id="all failed"),
        pytest.param(plain([None], failed=1), 0.5, id="half failed, half unscored"),
        pytest.param(total([terms(*Slot(u=0.5))]), 0.0, id="unscored, with H above 0"),
        pytest.param(
            total([terms(*Slot(u=4.0)), terms(*Slot(u=1.0, x=0.5))]), 0.0, id="ΣWH below 0"
        ),
    ],
)
def test_nothing_scored_is_no_number(window: Sums, missing_ratio: float | None) -> None:
    """No value and no bounds, 0 samples, and a missing share only where there was a pick."""
    found = estimate(window, plain([0.5] * 600), higher_is_better=True)
    assert found == Estimate(None, None, None, 0.0, missing_ratio)


def test_picks_without_a_value_do_not_narrow_the_interval() -> None:
    """Ten scores among forty unscored picks are worth what ten scores alone are worth."""
    alone, among = plain([0.0, 1.0] * 5), plain([0.0, 1.0] * 5 + [None] * 40)
    assert bounds(estimate(among, ZERO, None)) == pytest.approx(wilson(0.5, 10))
    assert bounds(estimate(alone, ZERO, None)) == pytest.approx(wilson(0.5, 10))


@pytest.mark.parametrize("u", [0.5, 1.0, 4.0])
def test_a_segment_that_is_picked_less_than_others_is_not_worth_more(u: float) -> None:
    """All u equal: ten picks of a segment are ten or, where u is below 1, fewer."""
    slots = [segment_terms(1, 1.0, u, value, False) for value in [0.0, 1.0] * 5]
    assert bounds(estimate(total(slots), ZERO, None)) == pytest.approx(
        wilson(0.5, 10 * min(1.0, u))
    )


def test_spread_of_the_horizon_is_believed_from_500_scored_slots_on() -> None:
    """Scores of little spread narrow the interval, but only once 500 of them were seen."""
    window = plain([0.45, 0.55] * 5)
    below = estimate(window, plain([0.45, 0.55] * 249 + [0.5]), None)
    enough = estimate(window, plain([0.45, 0.55] * 250), None)
    assert bounds(below) == pytest.approx(wilson(0.5, 10))
    assert bounds(enough) == pytest.approx(wilson(0.5, 10 / 0.05))


def test_the_variance_is_that_of_the_interval() -> None:
    """p(1 − p)/n with its n; of a window without anything wrong half of Wilson's width by 1.96."""
    fifths = estimate(plain([0.0, 0.0, 0.0, 1.0, 0.0] * 40), ZERO, None)
    assert fifths.variance == pytest.approx(0.2 * 0.8 / 200)
    for value in (0.0, 1.0):
        found = estimate(plain([value] * 20), ZERO, True)
        lower, upper = bounds(found)
        assert found.variance == pytest.approx(((upper - lower) / 2 / Z95) ** 2)
    assert estimate(plain([]), ZERO, None).variance is None


@given(st.lists(st.sampled_from([0.0, 0.0, 1e-9, 0.01, 1.0]), min_size=1, max_size=60))
def test_nothing_is_surer_than_a_window_without_anything_wrong(values: list[float]) -> None:
    """A trifle in it does not make a small window certain; without a horizon that would tell."""
    none, some = plain([0.0] * len(values)), plain(values)
    least, found = estimate(none, ZERO, None).variance, estimate(some, ZERO, None).variance
    assert least is not None
    assert found is not None
    assert found >= least - 1e-15


def test_a_metric_that_is_better_when_higher_is_turned_back() -> None:
    """Faithfulness 0.9 three times and 0.5 once: mean 0.8, and the bounds stay in order."""
    scores = [0.9, 0.9, 0.9, 0.5]
    worse = plain([as_worse(score, True) for score in scores])
    turned, same = estimate(worse, worse, True), estimate(worse, worse, False)
    assert turned.value == pytest.approx(0.8)
    assert same.value == pytest.approx(0.2)
    lower, upper = bounds(same)
    assert bounds(turned) == pytest.approx((1 - upper, 1 - lower))


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(0, 1)),
            st.floats(0, 1).map(lambda v: 0.2 + v),
            st.floats(0, 0.05),
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([0.3, 1.0]),
)
def test_screen_and_pick_are_unbiased(
    members: list[tuple[float | None, float, float]], q: float
) -> None:
    """Over all screenings and picks ΣWG averages Σa·x and ΣWH averages Σa, whatever f and w."""
    wg = wh = segment_wg = segment_wh = 0.0
    for chosen in range(1, 2 ** len(members)):
        slot = [member for i, member in enumerate(members) if chosen >> i & 1]
        m, f_mean = len(slot), sum(f for _, _, f in slot) / len(slot)
        screened = q**m * (1 - q) ** (len(members) - m)
        for x, w, f in slot:
            picked = w / sum(w for _, w, _ in slot)
            chance, u = screened * picked, 1 / (m * picked)
            sums = terms(m, q, u, f_mean, f, x, False)
            part = segment_terms(m, q, u, x, False)
            wg, wh = wg + chance * sums.wg, wh + chance * sums.wh
            segment_wg, segment_wh = segment_wg + chance * part.wg, segment_wh + chance * part.wh
    scored = [x for x, _, _ in members if x is not None]
    expected = [sum(scored), len(scored)] * 2
    found = [term / 2**40 for term in (wg, wh, segment_wg, segment_wh)]
    assert found == pytest.approx(expected, abs=1e-8)


def faulty_shares(rng: random.Random, mean: float, count: int) -> list[float]:
    """Shares of bad claims: 1 + Poisson(4) claims, a rate per interaction with ICC 1/3."""
    shares = []
    for _ in range(count):
        claims, product = 1, rng.random()
        while product > math.exp(-4):
            claims, product = claims + 1, product * rng.random()
        rate = rng.betavariate(2 * mean, 2 * (1 - mean))
        shares.append(sum(rng.random() < rate for _ in range(claims)) / claims)
    return shares


@pytest.mark.parametrize("mean", [0.08, 0.3])
@pytest.mark.parametrize("n", [5, 20, 50])
@pytest.mark.parametrize("long_horizon", [False, True])
def test_interval_covers_the_mean(n: int, mean: float, long_horizon: bool) -> None:
    """At least 94 % of the intervals of small windows hold the mean of what they are drawn from."""
    rng = random.Random(20_261_120)
    shares = faulty_shares(rng, mean, 5_000)
    slots = [terms(*Slot(x=share)) for share in shares]
    truth = sum(shares) / len(shares)
    horizon = total(slots) if long_horizon else ZERO
    found = [estimate(total(rng.choices(slots, k=n)), horizon, None) for _ in range(4_000)]
    covered = sum(lower <= truth <= upper for lower, upper in map(bounds, found))
    assert covered / len(found) >= 0.94


@given(
    st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.2, 0.5, 1.0]), min_size=500, max_size=600),
    st.integers(1, 60),
    st.floats(1e-12, 1.0),
)
@settings(deadline=None, max_examples=50)
def test_an_answer_that_is_a_bit_wrong_lowers_no_bound(
    usual: list[float], n: int, worse: float
) -> None:
    """A window of nothing but zeros is as sure as one with a score next to zero, not less."""
    horizon = plain(usual)
    none, little = plain([0.0] * n), plain([*[0.0] * (n - 1), worse])
    zero, some = (estimate(window, horizon, None) for window in (none, little))
    assert bounds(zero)[1] <= bounds(some)[1] + 1e-9


@pytest.mark.parametrize("share", [0.05, 0.06, 0.3])
def test_the_failed_count_as_right_where_something_is_said_to_be_worse(share: float) -> None:
    """Above a twentieth of them: half wrong of the others is less of all."""
    found = Estimate(0.5, None, None, 200.0, share, 200.0)
    kept = 1.0 if share <= 0.05 else 1.0 - share
    edge = binomtest(100, 200).proportion_ci(0.998, method="exact").low * kept
    assert is_surely_worse(found, edge - 1e-6, None)
    assert not is_surely_worse(found, edge + 1e-6, None)
    assert not is_surely_worse(Estimate(1.0, None, None, 9.0, 0.5, 9.0), 0.6, None)
