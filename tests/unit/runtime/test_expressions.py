"""Expressions of a mapping: dotted paths, JMESPath, what is said of both, where they end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.runtime.expressions import Expression, ExpressionFailed, Nothing
from tests.stages.records import JSON_VALUES

RECORD = {
    "turns": [{"by": "user", "text": "q"}, {"by": "bot", "text": "a"}],
    "docs": {"1": {"text": "x"}, "2": {"text": "y"}},
    "user-id": 7,
    "größe": 3,
    "none": None,
}
EXPRESSIONS = (
    ("turns.0.text", "q"),
    ("turns[1].text", "a"),
    ("user-id", 7),
    ("größe", 3),
    ("turns[*].text", ["q", "a"]),
    ("turns[?by=='bot'].text | [0]", "a"),
    ("docs.*.text", ["x", "y"]),
    ("turns[].other || turns[].text", ["q", "a"]),
    ("{a: none, b: turns[0].by}", {"a": None, "b": "user"}),
    ("'literal'", "literal"),
    ("@.none", None),
    ("turns.text", None),
    ("length(turns)", 2),
)


@pytest.mark.parametrize(("text", "found"), EXPRESSIONS)
def test_expressions_find_what_they_name(text: str, found: Any) -> None:
    """Bare paths with positions and other signs as well as JMESPath."""
    assert Expression(text).value(RECORD) == found


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("turns[0].other", "turns[0]", RECORD["turns"][0]),  # type: ignore[index]
        ("turns[5].text", "turns", RECORD["turns"]),
        ("other.text", "", RECORD),
        ("none.text", "", RECORD),
        ("turns[?by=='bot'].other | [0]", "turns[1]", RECORD["turns"][1]),  # type: ignore[index]
        ("docs.*.other", "docs[*]", {"text": "x"}),
        ("docs[*].text", "docs", RECORD["docs"]),
        ("other || none", "", RECORD),
    ],
)
def test_where_an_expression_ends(text: str, path: str, value: Any) -> None:
    """The deepest place that exists; of a projection the first item that lacks it."""
    expression = Expression(text)
    assert expression.value(RECORD) is None
    assert expression.end(RECORD) == Nothing(path, value)


@pytest.mark.parametrize(
    ("text", "path", "why"),
    [
        ("run.steps[?name=='x'].output | [0]", "run.steps", "none matches the filter"),
        ("run.steps[?name=='x'] | [0].output", "run.steps", "none matches the filter"),
        ("run.steps[?name=='a'].text | [0]", "run.steps[0]", ""),
        ("run.steps[?name=='a'] | [0].text", "run.steps[?][0]", ""),
        ("run.stages[?name=='x'].output | [0]", "run", ""),
        ("run.stages || answer", "run", ""),
        ("answer || run.steps[?name=='x'].output | [0]", "run.steps", "none matches the filter"),
        ("not_null(run.stages, answer)", "run", ""),
        ("length(run.stages)", "run", ""),
    ],
)
def test_a_filter_and_a_function_keep_the_place(text: str, path: str, why: str) -> None:
    """Of several places the deepest; a filter that nothing matches is said to be one."""
    record = {"run": {"steps": [{"name": "a", "output": "o"}, {"name": "b"}]}}
    end = Expression(text).end(record)
    assert (end.path, end.why) == (path, why)


@pytest.mark.parametrize("text", ["", "a b", "a[", "$.a", "foo(a)", "a..b", "docs[*].foo(@)"])
def test_what_is_no_expression_is_said_before_anything_is_read(text: str) -> None:
    """With the text as it was set."""
    with pytest.raises(ValueError, match=r"^found .*, expected JMESPath"):
        Expression(text)


@pytest.mark.parametrize("text", ["join(' ', turns)", "sum(docs)", "length(none)"])
def test_a_function_that_was_given_something_else_is_an_error(text: str) -> None:
    """And not nothing; its value is not quoted."""
    with pytest.raises(ExpressionFailed, match=r"^\w+\(\) was given \w+"):
        Expression(text).value(RECORD)


@given(JSON_VALUES, st.sampled_from([text for text, _ in EXPRESSIONS]))
def test_any_record_has_a_value_or_an_end(record: Any, text: str) -> None:
    """Whatever stands where something else was expected."""
    expression = Expression(text)
    try:
        found = expression.value(record)
    except ExpressionFailed:
        return
    if found is None:
        expression.end(record)
