"""``--fail-if`` of files: what can never hold, or is misspelt, is no gate."""

from __future__ import annotations

import pytest

from monitor.errors import ConfigurationError
from monitor.evaluate.gates import parse


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("faithfulness<nan", "found 'nan', expected a number from 0 to 1"),
        ("faithfulness<inf", "found 'inf', expected a number from 0 to 1"),
        ("faithfulness<-1", "found '-1', expected a number from 0 to 1"),
        ("faithfulness>2", "found '2', expected a number from 0 to 1"),
        ("noise_sensitivity_relevant>20", "found '20', expected a number from 0 to 1"),
        ("faithfulness<0.8.1", "found '0.8.1', expected a number"),
        ("faithfulness<0", "'faithfulness<0' never holds: every value is from 0 to 1"),
        ("faithfulness_upper>1", "'faithfulness_upper>1' never holds"),
        ("noise-sensitivity-relevant>0.1", "did you mean noise_sensitivity_relevant?"),
        ("Faithfulness<0.9", "found 'Faithfulness', did you mean faithfulness?"),
        ("faithfulness_lowr<0.9", "did you mean faithfulness_lower?"),
        ("faithfulness≥0.9", "'≥' is no operator, expected one of <, <=, >, >=: did you mean >=?"),
        ("faithfulness == 1", "'==' is no operator, expected one of"),
        ("x<0.9", "found 'x', expected one of faithfulness"),
        ("faithfulness", "expected NAME<NUMBER, like faithfulness<0.8"),
    ],
)
def test_what_is_no_gate_is_named(text: str, said: str) -> None:
    """A gate that lets everything pass is worse than none."""
    with pytest.raises(ConfigurationError) as error:
        parse(text)
    assert str(error.value).startswith("--fail-if: ")
    assert said in str(error.value)


@pytest.mark.parametrize("text", ["faithfulness<1", "hallucination > 0", "faithfulness_min<=.5"])
def test_bounds_of_the_scale_are_gates(text: str) -> None:
    """Whatever is below 1, or above 0."""
    assert parse(text).text == text
