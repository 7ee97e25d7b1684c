"""Does the judge fail more? Held against scipy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from monitor.stats.failures import fails_more, tail


@given(st.integers(0, 60), st.integers(0, 2_000), st.integers(0, 60), st.integers(1, 200))
def test_the_tail_is_that_of_scipy(
    failed_before: int, more_before: int, failed: int, more: int
) -> None:
    """The same upper tail of the hypergeometric distribution."""
    before, since = failed_before + more_before, failed + more
    total, marked = before + since, failed_before + failed
    want = hypergeom.sf(failed - 1, total, marked, since)
    assert tail(failed, since, marked, total) == pytest.approx(want, abs=1e-9, rel=1e-6)


def test_what_is_said_of_judges() -> None:
    """Six of 96 against 0.4 % is more; one of 96 is not; with nothing to compare it is unknown."""
    assert fails_more(8, 2_000, 6, 96) == "more"
    assert fails_more(8, 2_000, 1, 96) == "normal"
    assert fails_more(8, 2_000, 0, 96) == "normal"
    assert fails_more(0, 0, 5, 10) == fails_more(5, 10, 0, 0) == "unknown"


def test_a_judge_that_always_failed_does_not_fail_more() -> None:
    """All failed before and since: the probability of at least as many is 1."""
    assert fails_more(50, 50, 20, 20) == "normal"
