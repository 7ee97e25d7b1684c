"""The metrics on examples whose value is known, and the reasons for having no value."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from monitor.metrics.catalogue import CATALOGUE, defined_for, score_all
from monitor.records import Judgement, Unscored

#: Those whose reasons are compared case by case; a count by sets compares all of them.
FIRST = (
    "faithfulness",
    "noise_sensitivity_relevant",
    "noise_sensitivity_irrelevant",
    "incorrect_claims",
    "hallucination",
)
JUDGE = dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], "x")


def judgement(
    a: list[list[bool]],
    t: list[bool] | None = None,
    g: list[list[bool]] | None = None,
    passages: int = 2,
    changed: dict[str, Any] | None = None,
) -> Judgement:
    """A judgement from A[C, n], T[C] (None: no reference) and G[R, n]."""
    g = g or []
    verdicts = {
        "response_by_passage": a,
        "response_by_context": [any(row) for row in a],
        "response_by_reference": t or [],
        "reference_by_passage": g,
        "reference_by_response": [True] * len(g),
    }
    return Judgement.model_validate(
        {
            "claims": {"response": ["claim"] * len(a), "reference": ["claim"] * len(g)},
            "passages": passages,
            "has_reference": t is not None,
            "verdicts": verdicts | (changed or {}),
            "judge": JUDGE,
        }
    )


def test_insurer_example() -> None:
    """One of three claims is incorrect and supported by a relevant passage: 1/3 and 0."""
    scores = score_all(
        judgement(
            [[True, False], [True, False], [True, False]], [True, True, False], [[True, False]]
        )
    )
    assert scores["noise_sensitivity_relevant"] == 1 / 3
    assert scores["noise_sensitivity_irrelevant"] == 0.0
    assert scores["incorrect_claims"] == 1 / 3
    assert scores["hallucination"] == 0.0


def test_super_bowl_example() -> None:
    """The only claim is supported by the only passage: faithfulness 1."""
    assert score_all(judgement([[True]], passages=1))["faithfulness"] == 1.0


@pytest.mark.parametrize(
    ("birthday_supported", "expected"),
    [pytest.param(True, 1.0, id="14 March"), pytest.param(False, 0.5, id="20 March")],
)
def test_einstein_example(birthday_supported: bool, expected: float) -> None:
    """Born in Germany is supported; the wrong birthday is not."""
    found = judgement([[True], [birthday_supported]], passages=1)
    assert score_all(found)["faithfulness"] == expected


def test_python_and_javascript_example() -> None:
    """An incorrect claim from an irrelevant passage: 0 relevant, 0.5 irrelevant, 0.5 incorrect."""
    scores = score_all(judgement([[True, False], [False, True]], [True, False], [[True, False]]))
    assert scores["incorrect_claims"] == 0.5
    assert scores["noise_sensitivity_relevant"] == 0.0
    assert scores["noise_sensitivity_irrelevant"] == 0.5


def test_a_claim_of_both_passages_is_relevant_only() -> None:
    """An incorrect claim that a relevant and an irrelevant passage support counts once."""
    scores = score_all(judgement([[True, True]], [False], [[True, False]]))
    assert scores["noise_sensitivity_relevant"] == 1.0
    assert scores["noise_sensitivity_irrelevant"] == 0.0


def test_a_claim_of_several_passages_together_is_faithful_and_not_of_one() -> None:
    """A claim that only the passages together support is faithful; incorrect, it hallucinates."""
    scores = score_all(
        judgement(
            [[False, False]], [False], [[True, False]], changed={"response_by_context": [True]}
        )
    )
    assert scores["faithfulness"] == 1.0
    assert scores["hallucination"] == 1.0


@pytest.mark.parametrize(
    ("found", "reasons"),
    [
        pytest.param(
            judgement([], passages=0),
            ["NO_CONTEXTS", "NO_CONTEXTS", "NO_CONTEXTS", "NO_REFERENCE", "NO_CONTEXTS"],
            id="nothing at all",
        ),
        pytest.param(
            judgement([[]], [True], [[]], passages=0),
            ["NO_CONTEXTS", "NO_CONTEXTS", "NO_CONTEXTS", 0.0, "NO_CONTEXTS"],
            id="no contexts",
        ),
        pytest.param(
            judgement([[True, False]]),
            [1.0, "NO_REFERENCE", "NO_REFERENCE", "NO_REFERENCE", "NO_REFERENCE"],
            id="no reference",
        ),
        pytest.param(
            judgement([]),
            ["NO_CLAIMS", "NO_REFERENCE", "NO_REFERENCE", "NO_REFERENCE", "NO_REFERENCE"],
            id="neither claims nor reference",
        ),
        pytest.param(judgement([], []), ["NO_CLAIMS"] * 5, id="no claims on either side"),
        pytest.param(
            judgement([[True, False]], [False]),
            [1.0, "NO_REFERENCE_CLAIMS", "NO_REFERENCE_CLAIMS", 1.0, 0.0],
            id="a reference without claims",
        ),
    ],
)
def test_nothing_to_score_is_a_named_reason(found: Judgement, reasons: list[object]) -> None:
    """What was never there is named first; a metric that does not need it still has a value."""
    given = score_all(found)
    scores = [given[name] for name in FIRST]
    assert scores == reasons
    assert [isinstance(x, Unscored) for x in scores] == [isinstance(x, str) for x in reasons]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("response_by_passage", [[True, False]]),
        ("response_by_passage", [[True], [False]]),
        ("response_by_context", [True, False, True]),
        ("response_by_reference", [True]),
        ("response_by_reference", []),
        ("reference_by_passage", [[True]]),
        ("reference_by_passage", []),
        ("reference_by_response", [True, True]),
    ],
)
def test_a_verdict_list_of_the_wrong_length_is_refused(field: str, wrong: object) -> None:
    """No metric can be wrong in silence: the judgement cannot be made, and the field is named."""
    with pytest.raises(ValidationError, match=field):
        judgement([[True, False]] * 2, [True, False], [[True, False]], changed={field: wrong})


def test_needs_of_the_catalogue_are_the_reasons_of_the_functions() -> None:
    """A metric says NO_CONTEXTS or NO_REFERENCE exactly where the catalogue says it needs them."""
    without_contexts = score_all(judgement([[]], [True], [[]], passages=0))
    without_reference = score_all(judgement([[True, False]]))
    for name, metric in CATALOGUE.items():
        assert metric.name == name
        assert (without_contexts[name] is Unscored.NO_CONTEXTS) == metric.needs_contexts
        assert (without_reference[name] is Unscored.NO_REFERENCE) == metric.needs_reference
        assert defined_for(metric, "without_reference") == (not metric.needs_reference)
        assert defined_for(metric, "with_reference")


def test_the_names_and_directions_are_the_contracts() -> None:
    """Rules, dashboards and drift depend on them; of ``self_knowledge`` neither way is a fault."""
    assert {name: metric.higher_is_better for name, metric in CATALOGUE.items()} == {
        "faithfulness": True,
        "faithfulness_by_passage": True,
        "noise_sensitivity_relevant": False,
        "noise_sensitivity_irrelevant": False,
        "incorrect_claims": False,
        "hallucination": False,
        "self_knowledge": None,
        "claim_precision": True,
        "claim_recall": True,
        "claim_f1": True,
        "context_recall": True,
        "context_precision": True,
        "context_utilization": True,
        "irrelevant_context_reliance": False,
        "answered": True,
        "retrieved": True,
        "answer_relevance": True,
    }


def test_every_entry_says_what_is_usual_and_when_it_says_nothing() -> None:
    """A range within [0, 1], and words for everything."""
    for metric in CATALOGUE.values():
        low, high = metric.typical
        assert 0.0 <= low < high <= 1.0
        assert all((metric.formula, metric.meaning, metric.same_as, metric.says_nothing))
        assert metric.meaning.endswith(".")
