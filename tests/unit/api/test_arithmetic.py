"""Results counted with as numbers, as code for ragas does."""

from __future__ import annotations

import pytest

from rag_monitor import Faithfulness, IncorrectClaims, MetricResult, NothingToScore


@pytest.fixture
def half() -> MetricResult:
    """Of two claims the passage has one."""
    return Faithfulness(judge="offline").score(
        user_input="When, and for how much?",
        response="The warranty lasts 24 months. Returning an item costs 5 euros.",
        retrieved_contexts=["The warranty lasts 24 months."],
    )


def test_a_result_is_counted_with(half: MetricResult) -> None:
    """On both sides, with numbers and with others, and where it is rounded and printed."""
    assert (half + 1, 1 + half, half - 1, 1 - half) == (1.5, 1.5, -0.5, 0.5)
    assert (half * 2, 2 * half, half / 2, 1 / half) == (1.0, 1.0, 0.25, 2.0)
    assert (half + half, half - half, sum([half, half])) == (1.0, 0.0, 1.0)
    assert half > 0.4
    assert 0.4 < half <= half
    assert max(half, 0.1) is half
    assert half == 0.5
    assert half != None  # noqa: E711 - as some write it
    assert half != "0.5"
    assert {half: 1}[0.5] == 1  # type: ignore[index]
    assert (round(half, 1), f"{half:.2f}", int(half)) == (0.5, "0.50", 0)
    assert half.to_dict() == {"metric": "faithfulness", "result": 0.5, "reason": None}


def test_a_result_is_neither_true_nor_false(half: MetricResult) -> None:
    """Whether 0 is good depends on the metric; nor is it added to a text."""
    with pytest.raises(TypeError, match="neither true nor false: compare it"):
        bool(half)
    with pytest.raises(TypeError, match="unsupported operand"):
        half + "1"


def test_nothing_is_no_number() -> None:
    """Without a value it is equal to None, and whoever counts with it is told."""
    nothing = IncorrectClaims(judge="offline").score(user_input="a?", response="It is red.")
    assert nothing == None  # noqa: E711 - as some write it
    assert nothing != 0.5
    for use in (lambda: nothing + 1, lambda: nothing < 1, lambda: round(nothing, 1)):
        with pytest.raises(NothingToScore, match="NO_REFERENCE"):
            use()
    assert nothing.to_dict()["reason"] == "NO_REFERENCE"
