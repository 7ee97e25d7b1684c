"""JSON in texts, and names with dots: put right before a mapping looks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import MessageRejected
from monitor.ingest.formats.reshaping import Reshaping, Step, unflattened

FLAT = {
    "openinference.span.kind": "CHAIN",
    "input.value": "q",
    "retrieval.documents.0.document.content": "x",
    "retrieval.documents.10.document.content": "z",
    "retrieval.documents.2.document.content": "y",
    "retrieval.documents.2.document.score": 0.5,
}


def test_names_with_dots_become_objects_and_lists() -> None:
    """In the order of their numbers."""
    assert unflattened(FLAT) == {
        "openinference": {"span": {"kind": "CHAIN"}},
        "input": {"value": "q"},
        "retrieval": {
            "documents": [
                {"document": {"content": "x"}},
                {"document": {"content": "y", "score": 0.5}},
                {"document": {"content": "z"}},
            ]
        },
    }


@given(st.dictionaries(st.text("ab.01", max_size=6), st.integers() | st.just({"a": 1})))
def test_no_value_is_lost(flat: dict[str, Any]) -> None:
    """Whatever the names are: what has no place in a tree keeps its name."""

    def leaves(value: Any) -> int:
        if isinstance(value, dict):
            return sum(map(leaves, value.values()))
        return sum(map(leaves, value)) if isinstance(value, list) else 1

    assert leaves(unflattened(flat)) == leaves(flat)


def test_steps_work_on_each_others_results() -> None:
    """JSON within names with dots, and names with dots within JSON."""
    inner = {"attributes": json.dumps({"input.value": json.dumps({"q": "Q"})})}
    steps = Reshaping(
        (Step(("attributes",)), Step(("attributes", "input", "value"))), Step(("attributes",))
    )
    assert steps.applied(inner) == {"attributes": {"input": {"value": {"q": "Q"}}}}
    # What is an object already stays one.
    assert steps.applied({"attributes": {"input": {"value": 1}}})


@pytest.mark.parametrize(
    ("step", "record", "said"),
    [
        (
            Reshaping((Step(("a", "b")),)),
            {"a": {"c": 1}},
            "parse a.b: found nothing, expected a value; a has: c",
        ),
        (Reshaping((Step(("a",)),)), {"a": "{"}, "parse a: found a text of 1 characters"),
        (
            Reshaping((Step(("a",)),)),
            {"a": "eyJhIjogMX0="},
            "expected JSON in it (it seems to be JSON in Base64)",
        ),
        (
            Reshaping(unflatten=Step(("a",))),
            {"b": 1},
            "unflatten a: found nothing, expected a value; the record has: b",
        ),
        (Reshaping(unflatten=Step(("a",))), {"a": 5}, "unflatten a: found a number"),
        (Reshaping(unflatten=Step(())), {"." * 21: 5}, "at most 20 names with dots"),
    ],
)
def test_what_cannot_be_put_right_is_named(
    step: Reshaping, record: dict[str, Any], said: str
) -> None:
    """With its place, and with what is there."""
    with pytest.raises(MessageRejected) as caught:
        step.applied(record)
    assert said in str(caught.value)


def test_a_step_may_find_nothing_where_that_is_said() -> None:
    """As with fields."""
    steps = Reshaping((Step(("a",), is_optional=True),), Step(("b",), is_optional=True))
    assert steps.applied({"c": 1}) == {"c": 1}
