"""The calibration of a screen against scipy's isotonic regression and a direct computation."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from monitor.stats.calibration import JudgedPick, isotonic, learned

VALUES = st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 5)), min_size=1, max_size=30)


@given(VALUES)
def test_isotonic_is_scipys(points: list[tuple[float, float]]) -> None:
    """Pooled as scipy pools them, with weights."""
    values, weights = zip(*points, strict=True)
    expected = isotonic_regression(np.array(values), weights=np.array(weights)).x
    assert np.allclose(isotonic(values, weights), expected, atol=1e-9)


def picks(rng: random.Random, count: int) -> list[JudgedPick]:
    """Values that grow with a signal of few different values, and some without a value."""
    found = []
    for _ in range(count):
        z = rng.choice([0.0, 0.0, 0.0, 0.0, 0.2, 0.5, 1.0])
        x = min(1.0, max(0.0, z * 0.6 + rng.gauss(0.1, 0.1)))
        values = {"m": x, "n": rng.random()} if rng.random() < 0.9 else {}
        found.append(JudgedPick(z, rng.choice([0.5, 1.0, 2.0]), values))
    return found


@pytest.mark.parametrize("count", [1, 10, 1_000])
def test_bins_have_drawn_means_and_spreads(count: int) -> None:
    """Computed again with numpy, bin by bin."""
    seen = picks(random.Random(count), count)
    found = learned(seen, ["m"])
    if found is None:
        pytest.fail("a metric had values")
    assert all(a < b for a, b in pairwise(found.edges))
    assert len(found.edges) <= 7
    has = [pick for pick in seen if "m" in pick.values]
    k = np.array([found.bin(pick.signal) for pick in has])
    u, x = np.array([p.u for p in has]), np.array([p.values["m"] for p in has])
    mean, bins = np.average(x, weights=u), range(len(found.spreads))
    variance = np.average((x - mean) ** 2, weights=u)
    n = np.array([u[k == b].sum() for b in bins])
    raw = [((u * x)[k == b].sum() + 2 * mean) / (n[b] + 2) for b in bins]
    f = isotonic_regression(raw, weights=n + 2).x
    squares = [(u * (x - f[b]) ** 2)[k == b].sum() + 2 * variance for b in bins]
    v = np.sqrt(np.array(squares) / (n + 2))
    assert np.allclose(found.expected["m"], f)
    average = (n * v).sum() / n.sum()
    assert np.allclose(found.spreads, v / average if average else 1.0)


def test_any_order_learns_the_same() -> None:
    """The bytes that are published depend on the set of picks."""
    seen = picks(random.Random(7), 300)
    other = seen[:]
    random.Random(8).shuffle(other)
    assert learned(seen, ["m", "n"]) == learned(other, ["m", "n"])


def test_spreads_are_averaged_over_the_alarmed_metrics() -> None:
    """The other metrics have an expectation, and no say in who is picked."""
    seen = picks(random.Random(9), 500)
    both, m, n = (learned(seen, names) for names in (["m", "n"], ["m"], ["n"]))
    assert both
    assert m
    assert n
    assert both.expected == m.expected == n.expected
    mean = [(a + b) / 2 for a, b in zip(m.spreads, n.spreads, strict=True)]
    assert all(math.isclose(a, b) for a, b in zip(both.spreads, mean, strict=True))


def test_a_signal_that_says_the_opposite_says_nothing() -> None:
    """Its bins have one value, the mean of both by how many picks there are, and by the prior."""
    wrong = [JudgedPick(0.0, 1.0, {"m": 1.0})] * 6 + [JudgedPick(1.0, 1.0, {"m": 0.0})] * 2
    found = learned(wrong, ["m"])
    assert found is not None
    assert found.expected["m"] == pytest.approx((0.75, 0.75))


def test_without_a_value_there_is_no_calibration() -> None:
    """Nothing was judged, or nothing that is alarmed."""
    assert learned([], ["m"]) is None
    assert learned([JudgedPick(0.5, 1.0, {"n": 0.5})], ["m"]) is None
