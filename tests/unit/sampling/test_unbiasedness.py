"""Estimates of picked interactions are those of all: 50 runs of the benchmark."""

from __future__ import annotations

import pytest

from tests.benchmarks.unbiasedness import BARS, CORRELATIONS, NO_WORSE, STEADY, World, row

RUNS = 50
#: So few runs are more than two standard errors off once in twenty times, and tell a variance of
#: 0.46 to 0.03: the benchmark has ten times as many, four times as long.
SEED = 5


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_estimates_are_unbiased_whatever_the_screen_is_worth(correlation: float) -> None:
    """Quality, share and blocks change midway, a fifth is unscored: within two standard errors."""
    found = row(SEED, RUNS, correlation)
    assert abs(found.off) <= 2
    assert abs(found.uniform_off) <= 2
    assert found.coverage >= 0.94
    assert found.uniform_coverage >= 0.94


@pytest.mark.parametrize("world", [STEADY, NO_WORSE], ids=["steady", "a fifth unscored"])
@pytest.mark.parametrize(("correlation", "most"), BARS.items())
def test_a_screen_that_is_worth_something_halves_the_variance(
    correlation: float, most: float, world: World
) -> None:
    """And one that is worth nothing adds next to none; also where share and blocks change."""
    assert row(SEED, RUNS, correlation, world).variance <= most
