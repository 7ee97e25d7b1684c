"""Rules by attribute as settings: where they come from, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.config import Rule, load
from monitor.errors import ConfigurationError


def refusal(rule: Any, tmp_path: Path) -> str:
    """What is said about one rule to include."""
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({"ingest": {"include": [rule]}}), encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        load({}, file)
    return str(caught.value)


@pytest.mark.parametrize(
    ("rule", "operator", "operand"),
    [
        ({"attribute": "tenant", "equals": "acme"}, "equals", "acme"),
        ({"attribute": "n", "equals": 0}, "equals", 0),
        ({"attribute": "flag", "equals": False}, "equals", False),
        ({"attribute": "tenant", "in": ["a", 1, True]}, "in", ("a", 1, True)),
        ({"attribute": "debug", "exists": True}, "exists", True),
        ({"attribute": "debug", "exists": False}, "exists", False),
        ({"attribute": "model.name", "regex": "^gpt-"}, "regex", "^gpt-"),
        ({"attribute": "application", "regex": "[[a]"}, "regex", "[[a]"),
    ],
)
def test_a_rule_has_one_operator(rule: dict[str, Any], operator: str, operand: Any) -> None:
    """It is read with its type, and written as it was given."""
    found = Rule.model_validate(rule)
    assert (found.operator, found.operand) == (operator, operand)
    assert type(found.operand) is type(operand)
    assert found.model_dump(mode="json") == rule


def test_rules_come_from_the_environment_as_json() -> None:
    """As a whole; and in parts, by number, where a list must not be written as one."""
    rules = [{"attribute": "a", "in": ["x", "y"]}, {"attribute": "b", "exists": True}]
    whole = load({"RAG_MONITOR_INGEST__EXCLUDE": json.dumps(rules)}).ingest.exclude
    parts = load(
        {
            "RAG_MONITOR_INGEST__EXCLUDE__0__ATTRIBUTE": "a",
            "RAG_MONITOR_INGEST__EXCLUDE__0__IN": "x,y",
            "RAG_MONITOR_INGEST__EXCLUDE__1__ATTRIBUTE": "b",
            "RAG_MONITOR_INGEST__EXCLUDE__1__EXISTS": "true",
        }
    ).ingest.exclude
    assert whole == parts
    assert [rule.operand for rule in whole] == [("x", "y"), True]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            {"attribute": "a", "eqals": 1},
            "ingest.include.0.eqals: unknown setting, did you mean equals?",
        ),
        (
            {"attribute": "a", "greater": 1},
            "ingest.include.0.greater: unknown setting, expected attribute, equals, in, exists, "
            "regex",
        ),
        (
            {"attribute": "a", "equals": 1, "regex": "x"},
            "ingest.include.0: found equals and regex, expected one of equals, in, exists, regex",
        ),
        (
            {"attribute": "a"},
            "ingest.include.0: found no operator, expected one of equals, in, exists, regex",
        ),
        ({"equals": 1}, "ingest.include.0.attribute: missing"),
        (
            {"attribute": "a", "in": []},
            "ingest.include.0.in: found an empty list, which nothing matches",
        ),
        ({"attribute": "a", "in": {"b": 1}}, "ingest.include.0.in: found a dict, expected a list"),
        (
            {"attribute": "a", "in": [["b"]]},
            "ingest.include.0.in: found a list, expected a text, a number, true or false",
        ),
        (
            {"attribute": "a", "equals": None},
            "ingest.include.0.equals: found nothing, expected a text, a number, true or false",
        ),
        (
            {"attribute": "a", "equals": float("nan")},
            "ingest.include.0.equals: found nan, expected a finite number",
        ),
        (
            {"attribute": "a", "exists": "perhaps"},
            "ingest.include.0.exists: found 'perhaps', expected a valid boolean",
        ),
        (
            {"attribute": "a", "regex": "("},
            "ingest.include.0.regex: found '(', no regular expression of RE2: missing ): (",
        ),
        (
            {"attribute": "a", "regex": "x{1001}"},
            "ingest.include.0.regex: found 'x{1001}', no regular expression of RE2: "
            "invalid repetition size: {1001}",
        ),
        (
            {"attribute": "a", "regex": "(?=a)"},
            "ingest.include.0.regex: found '(?=a)', no regular expression of RE2: invalid perl "
            "operator: (?=",
        ),
        (
            {"attribute": "a..b", "exists": True},
            "ingest.include.0.attribute: found 'a..b', expected a name or a path, like model.name",
        ),
        (
            {"attribute": "response", "regex": "sorry"},
            "ingest.include.0.attribute: response is no attribute: rules see attributes and "
            "application (an attribute of that name is attributes.response)",
        ),
        ("tenant=acme", "ingest.include.0: found a str, expected settings below it"),
    ],
)
def test_a_wrong_rule_is_said_with_its_path(rule: Any, message: str, tmp_path: Path) -> None:
    """By its number in the list, before anything is read."""
    assert refusal(rule, tmp_path).startswith(message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("tenant=acme", "expected a JSON list of objects"),
        ('{"attribute": "a", "exists": true}', "found dict, expected a list"),
        ("7", "found int, expected a list"),
    ],
)
def test_what_is_no_list_of_rules(value: str, message: str) -> None:
    """From the environment it is JSON."""
    with pytest.raises(ConfigurationError, match=f"^ingest.include: {message}$"):
        load({"RAG_MONITOR_INGEST__INCLUDE": value})


def test_no_number_may_be_left_out() -> None:
    """A gap is a mistyped number, or an entry that was forgotten."""
    with pytest.raises(ConfigurationError, match=r"^ingest.include: number 0 is missing"):
        load({"RAG_MONITOR_INGEST__INCLUDE__1__ATTRIBUTE": "a"})
