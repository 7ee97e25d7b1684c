"""V: answers that repeat each other, and answers that do not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.stats.estimate import estimate_beside
from monitor.stats.sums import Sums, terms
from monitor.stats.windows import RollingSums

DAY_S = 86_400
LATER = {"1d": DAY_S}


def plain(x: float) -> Sums:
    """A slot of one, judged."""
    return terms(1, 1.0, 1.0, 0.0, 0.0, x, False)


def series(scores: list[float], every_s: float = 10.0) -> RollingSums:
    """One after another."""
    found = RollingSums(60, LATER)
    for number, x in enumerate(scores):
        found.add(number * every_s, plain(x), +1)
    found.advance(len(scores) * every_s)
    return found


def in_runs(length: int, seed: int = 1, n: int = 8_000, shift: float = 0.0) -> list[float]:
    """Scores of 0 and 1 in runs of the same; in the later half ``shift`` more of 1."""
    rng = random.Random(seed)
    runs = [rng.random() < 0.3 + shift * (2 * i >= n // length) for i in range(n // length)]
    return [float(x) for x in runs for _ in range(length)]


def test_independent_scores_have_none() -> None:
    """One time in twenty chance gives more than 1."""
    found = [series(in_runs(1, seed)).dependence() for seed in range(20)]
    print(f"V of independent scores: {sorted(round(v, 2) for v in found)}")
    assert sum(v == 1.0 for v in found) >= 17


@pytest.mark.parametrize("length", [2, 5, 10])
def test_runs_count_as_often_as_they_say_something_new(length: int) -> None:
    """Runs of five alike are worth a fifth of their number."""
    found = [series(in_runs(length, seed)).dependence() for seed in range(10)]
    print(f"V of runs of {length}: {sorted(round(v, 2) for v in found)}")
    assert 0.75 * length < sum(found) / len(found) < 1.3 * length


def test_a_change_for_the_worse_is_little_dependence() -> None:
    """It concerns one group of neighbours, which counts for four times the others at most."""
    found = [series(in_runs(1, seed, shift=0.4)).dependence() for seed in range(10)]
    print(f"V where the mean rises from 0.3 to 0.7: {sorted(round(v, 2) for v in found)}")
    assert sum(found) / len(found) < 3.0


def test_few_scores_tell_nothing() -> None:
    """Below four groups of batches V is 1, whatever they look like: one may be an incident."""
    assert series(in_runs(10, n=1_000)).dependence() == 1.0
    assert series(in_runs(10, n=4_000)).dependence() > 1.0


def test_an_interval_is_as_wide_as_what_is_new_says() -> None:
    """A fifth of the number: √5 as wide, about."""
    found = series(in_runs(5))
    alone = estimate_beside(found.window("1d"), 1.0, None)
    beside = estimate_beside(found.window("1d"), 1.0, None, 5.0)
    assert alone.upper is not None
    assert alone.lower is not None
    assert beside.upper is not None
    assert beside.lower is not None
    assert (beside.upper - beside.lower) / (alone.upper - alone.lower) == pytest.approx(
        5**0.5, rel=0.02
    )
    assert beside.samples == alone.samples


@given(st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_the_same_bits_in_any_order(seed: int) -> None:
    """Slots come in any order, are asked for in between, go again and are dropped."""
    rng = random.Random(seed)
    scores = in_runs(4, rng.randrange(100), n=4_800)
    slots = [(number * 8.5, plain(x)) for number, x in enumerate(scores)]
    ordered = RollingSums(60, LATER)
    for time, slot in slots:
        ordered.add(time, slot, +1)
    ordered.advance(slots[-1][0])
    ordered.drop_before(3_600)

    mixed = RollingSums(60, LATER)
    more = [(rng.uniform(0, 40_000), plain(rng.random())) for _ in range(200)]
    steps = [(*one, +1) for one in slots + more]
    rng.shuffle(steps)
    mixed.advance(rng.uniform(0, 40_000))
    for number, (time, slot, sign) in enumerate(steps):
        mixed.add(time, slot, sign)
        if number % 500 == 0:
            mixed.dependence()
    for time, slot in more:
        mixed.add(time, slot, -1)
    mixed.dependence()
    mixed.advance(slots[-1][0])
    mixed.drop_before(3_600)
    assert mixed.dependence() == ordered.dependence() > 1.0
