"""Tails of the binomial distribution, also of what is not whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc

from monitor.stats.binomial import at_least


@given(st.floats(0.1, 1e6), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_it_is_the_incomplete_beta_function(n: float, share: float, p: float) -> None:
    """As scipy has it."""
    x = share * n
    expected = 1.0 if x == 0.0 or p == 1.0 else float(betainc(x, n - x + 1.0, p))
    assert at_least(x, n, p) == pytest.approx(expected, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("p", [0.0, 1e-12, 0.5, 1.0 - 1e-12, 1.0])
def test_at_the_ends(p: float) -> None:
    """None is always reached; all of them by p to their number."""
    assert at_least(0.0, 7.0, p) == 1.0
    assert at_least(7.0, 7.0, p) == pytest.approx(p**7, rel=1e-9)
