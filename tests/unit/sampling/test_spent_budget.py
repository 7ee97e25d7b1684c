"""Estimates stay unbiased where the day's money is spent before the day is: 50 runs."""

from __future__ import annotations

import pytest

from tests.benchmarks.spent_budget import CORRELATIONS, rows
from tests.benchmarks.unbiasedness import COVERAGE


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_what_was_judged_speaks_for_the_hours_in_which_it_was_judged(correlation: float) -> None:
    """Dear judgements are the bad ones; a budget that refuses dear ones would be seen to."""
    found, candid = rows(1, 50, correlation)
    assert 0.6 <= found.part <= 0.95
    assert found.cost_correlation >= 0.8
    assert abs(found.off) <= 2
    assert abs(found.pooled_off) <= 2
    assert found.coverage >= COVERAGE
    assert candid.off < -2
