"""Learned baselines: the formula, the order that does not matter, and what rare segments get."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.baseline import MOST_SEGMENTS, Baseline, ScoredPick, Tolerance, learned

PICKS = st.lists(
    st.builds(
        ScoredPick, st.sampled_from(["", "acme", "zen"]), st.floats(0.2, 5.0), st.floats(0.0, 1.0)
    ),
    min_size=1,
    max_size=50,
)


def must_learn(picks: list[ScoredPick]) -> Baseline:
    """The baseline, which must be there."""
    found = learned(picks)
    assert found is not None
    return found


@given(PICKS, st.randoms(use_true_random=False))
def test_any_order_learns_the_same_bits(picks: list[ScoredPick], rng: random.Random) -> None:
    """Learning is a function of the set of picks."""
    other = list(picks)
    rng.shuffle(other)
    assert learned(other) == learned(picks)


@given(PICKS)
def test_the_formula_in_exact_arithmetic(picks: list[ScoredPick]) -> None:
    """Mean, SE and the mean of a segment agree with fractions."""
    exact = [(pick.segment, Fraction(pick.u), Fraction(pick.value)) for pick in picks]
    total = sum(u for _, u, _ in exact)
    mean = sum(u * x for _, u, x in exact) / total
    square = (sum((u * (x - mean)) ** 2 for _, u, x in exact) + 1) / total**2
    found = must_learn(picks)
    assert found.mean == pytest.approx(float(mean), abs=1e-12)
    assert found.se**2 == pytest.approx(float(square), rel=1e-9)
    for name in {pick.segment for pick in picks} - {""}:
        weight = sum(u for segment, u, _ in exact if segment == name)
        drawn = sum(u * x for segment, u, x in exact if segment == name)
        assert found.segments[name] == pytest.approx(float((drawn + 5 * mean) / (weight + 5)))


def test_rare_and_empty_segments_have_the_mean() -> None:
    """Beyond the twenty most frequent (ties by name) a segment has no mean of its own."""
    names = [f"s{i:02}" for i in range(MOST_SEGMENTS + 2)]
    picks = [ScoredPick(name, 1.0, 1.0) for name in names] + [
        ScoredPick("s21", 1.0, 0.0),
        ScoredPick("", 1.0, 0.0),
    ]
    found = must_learn(picks)
    assert sorted(found.segments) == [*names[:19], "s21"]
    assert found.of("s20") == found.of("") == found.of("new") == found.overall()


def test_nothing_learned_from_nothing() -> None:
    """Without a scored pick there is no baseline, rather than one of 0."""
    assert learned([]) is None


def test_a_baseline_is_at_most_one() -> None:
    """Mean, SE and tolerance together never ask for more than the worst score."""
    assert Baseline(0.9, 0.08, {"a": 0.99}).of("a", Tolerance(0.1)) == 1.0
    assert Baseline(0.9, 0.08, {}).overall(Tolerance(0.1)) == 1.0
