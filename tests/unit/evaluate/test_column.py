"""Statistics of a column of scores: equal to numpy's, and plotted as they are counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.evaluate.column import described, histogram, whiskers
from monitor.evaluate.risks import RiskLimits, risk_signs

SCORES = st.lists(
    st.one_of(
        st.floats(0.0, 1.0),
        # As scores are: shares of a few claims.
        st.integers(1, 9).flatmap(lambda n: st.integers(0, n).map(lambda k: k / n)),
    ),
    min_size=2,
    max_size=200,
)


@given(SCORES)
def test_they_are_those_of_numpy(scores: list[float]) -> None:
    """Mean, median, extremes, sample deviation and quartiles, to 1e-12."""
    found, column = described(scores), np.array(scores)
    assert found is not None
    expected = (
        len(scores),
        *(column.mean(), np.median(column), column.min(), column.max()),
        column.std(ddof=1),
        *np.quantile(column, [0.25, 0.75]),
    )
    assert found == pytest.approx(tuple(map(float, expected)), abs=1e-12, rel=0)


@given(SCORES)
def test_a_histogram_counts_each_score_once(scores: list[float]) -> None:
    """In the part of [0, 1] where it lies, by numpy's bounds."""
    counts = histogram(scores)
    edges = np.array([part / 10 for part in range(11)])
    assert counts == tuple(np.histogram(scores, edges)[0].tolist())
    assert sum(counts) == len(scores)


@given(SCORES)
def test_whiskers_end_at_scores(scores: list[float]) -> None:
    """At scores that are there, around the box."""
    found = described(scores)
    assert found is not None
    low, high = whiskers(scores, found)
    assert {low, high} <= set(scores)
    assert low <= found.median <= high


def test_limits_of_risks_can_be_set() -> None:
    """What shows at the usual limits does not at wider ones; directions go by the metric."""
    scores = [0.0, 0.0, 0.0, 1.0, 1.0]
    found = described(scores)
    assert found is not None
    shown = [sign.name for sign in risk_signs(scores, found, False, RiskLimits())]
    assert shown == ["skew", "deviation", "bad_share"]
    wide = RiskLimits(skew=0.5, deviation=0.6, bad_share=0.5)
    assert list(risk_signs(scores, found, False, wide)) == []
    (bad,) = risk_signs(scores, found, True, wide)
    assert (bad.name, bad.value) == ("bad_share", 0.6)
    assert bad.meaning == "3 of 5 rows are below 0.5"
    neither = [sign.name for sign in risk_signs(scores, found, None, RiskLimits())]
    assert neither == ["skew", "deviation"]
