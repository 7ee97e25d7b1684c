"""Estimates of picked interactions are those of all: 50 runs of the benchmark."""

from __future__ import annotations

import pytest

from tests.benchmarks.unbiasedness import BARS, CORRELATIONS, STEADY, row

RUNS = 50


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_estimates_are_unbiased_whatever_the_screen_is_worth(correlation: float) -> None:
    """Quality, share and blocks change midway, a fifth is unscored: within two standard errors."""
    found = row(3, RUNS, correlation)
    assert abs(found.off) <= 2
    assert abs(found.uniform_off) <= 2
    assert found.coverage >= 0.94
    assert found.uniform_coverage >= 0.94


@pytest.mark.parametrize(("correlation", "most"), BARS.items())
def test_a_screen_that_is_worth_something_halves_the_variance(
    correlation: float, most: float
) -> None:
    """And one that is worth nothing adds next to none."""
    assert row(3, RUNS, correlation, STEADY).variance <= most
