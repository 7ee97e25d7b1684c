"""Objectives: breached on the better end of the interval, and never on too few."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from monitor.exporter.scores.aggregator import OTHER, SegmentKey, SeriesEstimate, SeriesKey
from monitor.exporter.serve.objectives import Objective, objective_states, promised_by, status_of
from monitor.stats.estimate import Estimate, estimate
from monitor.stats.sums import ZERO, Sums, terms

HIGH = Objective("faithfulness", "1h", 0.9, minimum_samples=30)
LOW = Objective("noise_sensitivity_irrelevant", "1h", 0.1, minimum_samples=30)
UNIT = st.floats(0, 1)
KEY = SeriesKey("faithfulness", "bot", "offline@1")


def found_of(value: float, samples: float = 50.0) -> Estimate:
    """An estimate of so many answers that are right or wrong."""
    return Estimate(value, value, value, samples, 0.0, samples)


@given(UNIT, st.integers(30, 400))
def test_the_better_end_decides(wrong: float, answers: int) -> None:
    """Of 99.9 %: what is worse by chance oftener than one time in 1,000 is no breach."""
    number = round(wrong * answers)
    is_worse = binomtest(number, answers, 0.1, alternative="greater").pvalue < 0.001
    said = "breached" if is_worse else "met"
    assert status_of(HIGH, found_of(1 - number / answers, answers)) == said
    assert status_of(LOW, found_of(number / answers, answers)) == said


@pytest.mark.parametrize(("wrong", "said"), [(2, "met"), (3, "met"), (4, "breached")])
def test_two_wrong_of_thirty_are_chance_where_one_in_a_hundred_may_be(
    wrong: int, said: str
) -> None:
    """They come one time in 28, and three of them one time in 300."""
    strict = replace(HIGH, bound=0.99)
    assert status_of(strict, found_of(1 - wrong / 30, 30)) == said


@pytest.mark.parametrize(
    ("samples", "said"), [(29.9, "unknown"), (30.0, "breached"), (0.0, "unknown")]
)
def test_too_few_say_nothing(samples: float, said: str) -> None:
    """However bad they are."""
    assert status_of(HIGH, found_of(0.15, samples)) == said


@pytest.mark.parametrize("q", [1.0, 0.3, 1 / 3, 0.05])
def test_exactly_enough_are_enough_at_any_sampling_rate(q: float) -> None:
    """Weights of 1/q are no whole numbers, and their rounding does not count one away."""
    slot = terms(m=1, q=q, u=1.0, f_mean=0.0, f=0.0, value_as_worse=1.0, failed=False)
    window = reduce(Sums.plus, [slot] * 30, ZERO)
    assert status_of(HIGH, estimate(window, window, higher_is_better=True)) == "breached"


def test_nothing_scored_is_not_a_promise_kept() -> None:
    """Without an estimate it is unknown."""
    assert status_of(HIGH, Estimate(None, None, None, 0.0, 1.0)) == "unknown"


def test_each_series_is_held_against_its_own_promises() -> None:
    """By metric, window and application, for every judge; segments and the rest are left alone."""
    bad = found_of(0.15)
    other_judge = KEY._replace(judge="llm@2")
    estimates = [
        SeriesEstimate(KEY, "1h", bad),
        SeriesEstimate(KEY, "5m", bad),
        SeriesEstimate(other_judge, "1h", found_of(0.9)),
        SeriesEstimate(KEY._replace(application="shop"), "1h", bad),
        SeriesEstimate(KEY._replace(metric="hallucination"), "1h", bad),
        SeriesEstimate(SegmentKey(*KEY, "acme"), "1h", bad),
        SeriesEstimate(KEY._replace(application=OTHER), "1h", bad),
    ]
    found = list(objective_states(estimates, promised_by([(re.compile("b.t"), [HIGH, LOW])])))
    assert [(one.key, one.status) for one in found] == [(KEY, "breached"), (other_judge, "met")]


def test_one_objective_a_metric_and_window() -> None:
    """Entries are not combined; what they leave open the shared ones say, the first of them."""
    lax, other = replace(HIGH, bound=0.1), replace(HIGH, window="5m")
    own = [(re.compile("a|b.*"), [HIGH]), (re.compile("b1|c"), [LOW])]
    everyone = re.compile(".*")
    promised = promised_by(own, [(everyone, [lax]), (re.compile("c"), [LOW]), (everyone, [other])])
    assert promised("a") == promised("b1") == [HIGH, other]
    assert promised("c") == [LOW, lax, other]
    assert promised("ab") == [lax, other]
    assert promised_by([])("a") == []
