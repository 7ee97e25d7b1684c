"""Rules by attribute, and the first case that matches."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.sampling.rules import (
    EVERYTHING,
    MOST_CHARACTERS,
    MOST_NAMES,
    Filter,
    FirstMatch,
    RuleCase,
    compiled,
)
from tests.stages.records import JSON_VALUES, TEXTS, attributed

SCALARS = TEXTS | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 2.5])


class Rule(NamedTuple):
    """A rule as it is configured."""

    attribute: str
    operator: str
    operand: Any


def holds(rule: Rule, **attributes: Any) -> bool:
    """Whether the rule matches an interaction with these attributes."""
    return compiled(rule)(attributed(**attributes))


@given(wanted=SCALARS, found=SCALARS)
def test_equal_values_are_equal_in_json(wanted: Any, found: Any) -> None:
    """A truth value is no number, and a text is neither; 1 and 1.0 are one number."""
    alike = isinstance(wanted, bool) == isinstance(found, bool) and wanted == found
    assert holds(Rule("a", "equals", wanted), a=found) == alike


@given(wanted=st.lists(SCALARS, min_size=1, max_size=4), found=JSON_VALUES)
def test_in_is_equals_with_any(wanted: list[Any], found: Any) -> None:
    """Whatever is found, ``in`` says what the single comparisons say together."""
    singly = any(holds(Rule("a", "equals", each), a=found) for each in wanted)
    assert holds(Rule("a", "in", tuple(wanted)), a=found) == singly


@given(found=st.lists(SCALARS, max_size=4), wanted=SCALARS)
def test_a_list_matches_by_one_element(found: list[Any], wanted: Any) -> None:
    """Tags are lists."""
    singly = any(holds(Rule("a", "equals", wanted), a=each) for each in found)
    assert holds(Rule("a", "equals", wanted), a=found) == singly


@pytest.mark.parametrize(
    ("attributes", "there"),
    [({"a": 0}, True), ({"a": ""}, True), ({"a": []}, True), ({"a": None}, False), ({}, False)],
)
def test_exists_means_there_and_not_null(attributes: dict[str, Any], there: bool) -> None:
    """``exists: false`` is the opposite."""
    assert holds(Rule("a", "exists", True), **attributes) is there
    assert holds(Rule("a", "exists", False), **attributes) is not there


@pytest.mark.parametrize(
    ("pattern", "found", "matches"),
    [
        ("^gpt-", "gpt-4o", True),
        ("^gpt-", "my gpt-4o", False),
        ("gpt", "my gpt-4o", True),
        ("^[0-9]+$", 42, False),
        ("^[0-9]+$", "42", True),
        ("x", ["ax", 7], True),
        ("", None, False),
        ("[[a]", "[", True),
    ],
)
def test_a_regex_searches_texts(pattern: str, found: Any, matches: bool) -> None:
    """Anywhere in the text, unless it is anchored; a number is no text."""
    assert holds(Rule("a", "regex", pattern), a=found) is matches


def test_a_regex_sees_the_beginning_of_a_text() -> None:
    """So that one long text does not hold up the event loop."""
    assert holds(Rule("a", "regex", "x"), a="-" * (MOST_CHARACTERS - 1) + "x")
    assert not holds(Rule("a", "regex", "x"), a="-" * MOST_CHARACTERS + "x")


def test_no_text_makes_a_regex_run_for_ever() -> None:
    """The textbook case of exponential backtracking: an answer, where Python's takes years."""
    assert not holds(Rule("a", "regex", "^(a+)+$"), a="a" * (MOST_CHARACTERS - 1) + "!")
    assert holds(Rule("a", "regex", "b"), a="\ud800 b"), "half a character"


@pytest.mark.parametrize(
    "attributes",
    [
        {"a.b.c": 1},
        {"a": {"b": {"c": 1}}},
        {"a.b": {"c": 1}},
        {"a": {"b.c": 1}},
        {"a": 7, "a.b": {"c": 1}},
        {"a": {"b": "no mapping"}, "a.b": {"c": 1}},
    ],
)
def test_a_path_is_found_however_it_is_nested(attributes: dict[str, Any]) -> None:
    """Logs write ``llm.model`` as one key or as two."""
    assert holds(Rule("a.b.c", "equals", 1), **attributes)
    assert holds(Rule("attributes.a.b.c", "equals", 1), **attributes)
    assert not holds(Rule("a.b", "equals", 1), **attributes)
    assert not holds(Rule("a.b.c.d", "exists", True), **attributes)


def test_the_application_is_the_interactions_own() -> None:
    """An attribute of that name is another thing."""
    named = attributed("bot").model_copy(update={"attributes": {"application": "attribute"}})
    assert compiled(Rule("application", "equals", "bot"))(named)
    assert not compiled(Rule("application", "equals", "attribute"))(named)
    assert compiled(Rule("attributes.application", "equals", "attribute"))(named)


@given(
    attributes=st.dictionaries(st.sampled_from(["a", "b", "a.b", "c"]), JSON_VALUES, max_size=4),
    path=st.sampled_from(["a", "a.b", "a.b.c", "application"]),
    operator=st.sampled_from(["equals", "in", "exists", "regex"]),
)
def test_whatever_is_logged_a_rule_answers(
    attributes: dict[str, Any], path: str, operator: str
) -> None:
    """Attributes come from traffic: no value of theirs is an error."""
    operand = {"equals": "x", "in": ("x", 1), "exists": True, "regex": "^x"}[operator]
    one = attributed().model_copy(update={"attributes": attributes})
    assert compiled(Rule(path, operator, operand))(one) in (True, False)


RULES = st.lists(st.builds(Rule, st.just("a"), st.just("equals"), st.integers(0, 3)), max_size=3)


@given(include=RULES, exclude=RULES, found=st.integers(0, 3))
def test_a_filter_lets_through_what_it_should(
    include: list[Rule], exclude: list[Rule], found: int
) -> None:
    """One of the included, if there are any, and none of the excluded; it says what held it."""
    against = Filter.of(include, exclude).against(attributed(a=found))
    if include and found not in [rule.operand for rule in include]:
        assert against == "include"
    else:
        bad = [n for n, rule in enumerate(exclude) if rule.operand == found]
        assert against == (f"exclude.{bad[0]}" if bad else None)


def test_no_rules_let_everything_through() -> None:
    """Also an interaction without attributes."""
    assert EVERYTHING.against(attributed()) is None


def case(names: str, then: str, *rules: Rule) -> RuleCase[str]:
    """A case for names that match a regular expression."""
    return RuleCase(re.compile(names).fullmatch, tuple(map(compiled, rules)), then)


def test_the_first_case_that_matches_wins() -> None:
    """By name and rules, in the order given; without one, what is left over."""
    acme = Rule("tenant", "equals", "acme")
    chosen = FirstMatch(
        [case("bot|cat", "acme", acme), case("bo.*", "bo"), case("bot", "never")], "rest"
    )
    assert chosen(attributed("bot", tenant="acme")) == "acme"
    assert chosen(attributed("bot", tenant="globex")) == "bo"
    assert chosen(attributed("cat", tenant="acme")) == "acme"
    assert chosen(attributed("cat")) == "rest"
    assert chosen(attributed("robot")) == "rest"


def test_all_rules_of_a_case_must_match() -> None:
    """Beside the name."""
    chosen = FirstMatch([case("b", "yes", Rule("x", "equals", 1), Rule("y", "equals", 1))], "no")
    assert chosen(attributed("b", x=1, y=1)) == "yes"
    assert chosen(attributed("b", x=1)) == "no"


def test_a_name_is_looked_up_once() -> None:
    """Where the name alone decides, the patterns are not asked again."""
    asked: list[str] = []

    def named(name: str) -> bool:
        asked.append(name)
        return True

    chosen = FirstMatch([RuleCase(named, (), "x")], "rest")
    assert [chosen(attributed("bot")) for _ in range(3)] == ["x"] * 3
    assert asked == ["bot"]


def test_names_from_traffic_take_no_endless_memory() -> None:
    """More applications than are remembered still get their answer."""
    chosen = FirstMatch([case("bot-.*", "bot")], "rest")
    one = attributed()
    for n in range(MOST_NAMES + 10):
        assert chosen(one.model_copy(update={"application": f"bot-{n}"})) == "bot"
    assert len(chosen._by_name) == MOST_NAMES
