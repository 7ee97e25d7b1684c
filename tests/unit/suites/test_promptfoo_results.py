"""What promptfoo writes, as a suite, and as the answers to one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.errors import ConfigurationError
from monitor.suites.parsing import suite
from monitor.suites.promptfoo import results, suite_of_results

FILE = Path(__file__).parents[2] / "data/promptfoo/results.json"


def tree() -> dict[str, Any]:
    """The recorded results."""
    found: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return found


def test_recorded_results_are_a_suite() -> None:
    """Answers, thresholds and right answers as they stand; other types are named."""
    found = suite_of_results(FILE.read_text("utf-8"), "results.json")
    first, second = found.tests
    assert first.name == "capital of France"
    assert [(each.metric, each.threshold) for each in first.assertions] == [
        ("faithfulness", 0.9),
        ("context_recall", 0.8),
    ]
    (answer,) = {each.answer for each in first.assertions}
    assert answer.response == "Paris is the capital of France. Berlin is its largest city."
    assert answer.reference == "Paris is the capital of France."
    assert [each.type for each in first.skipped] == ["icontains"]
    assert [each.relevant for each in second.assertions[0].answer.passages] == [True, False]
    assert any("provider" in note.text for note in found.notes)


def test_a_result_without_a_name_has_its_question() -> None:
    """A number alone says nothing in the report of a build."""
    found = tree()
    (one, _) = found["results"]["results"]
    del one["testCase"]["description"]
    first, _ = suite_of_results(json.dumps(found), "r").tests
    assert first.name.startswith("test 1: ")
    assert one["vars"]["query"] in first.name


def test_other_forms_are_the_same() -> None:
    """JSON lines, and the list of results alone."""
    whole = suite_of_results(FILE.read_text("utf-8"), "r")
    raw = tree()["results"]["results"]
    lines = "\n".join(map(json.dumps, raw))
    assert suite_of_results(lines, "r") == whole
    assert suite_of_results(json.dumps(raw[0]), "r").tests == whole.tests[:1]


def test_a_result_without_an_answer_is_broken() -> None:
    """As where promptfoo does not know a type: it is no pass."""
    found = tree()
    (one, _) = found["results"]["results"]
    del one["response"]
    one["error"] = "Error: Unknown assertion type: noise-sensitivity\n    at runAssertion"
    first, _ = suite_of_results(json.dumps(found), "r").tests
    assert first.broken is not None
    assert first.broken.endswith("Unknown assertion type: noise-sensitivity")
    assert first.assertions == ()


def test_results_answer_a_suite() -> None:
    """By their variables; two providers make two tests, and a question without an answer none."""
    found = tree()
    first = found["results"]["results"][0]
    other = json.loads(json.dumps(first))
    other["provider"]["id"], other["response"]["output"] = "other-bot", "Lyon."
    found["results"]["results"].append(other)
    text = """
tests:
  - description: capital
    vars: {query: 'What is the capital of France?', context: file://c.txt}
    assert: [{type: noise-sensitivity, value: Paris.}]
"""
    context = first["vars"]["context"]
    answers = results(json.dumps(found), "r")
    tests = suite(text, "s.yaml", lambda _: context, answers).tests
    assert [test.name for test in tests] == [
        "capital [shop-bot, {{query}}]",
        "capital [other-bot, {{query}}]",
    ]
    assert [test.assertions[0].answer.response for test in tests] == [
        "Paris is the capital of France. Berlin is its largest city.",
        "Lyon.",
    ]
    with pytest.raises(ConfigurationError, match="--responses has no answer to these vars"):
        suite(text, "s.yaml", lambda _: "Another context.", answers)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ('{"tests": []}', "expected what promptfoo eval -o results.json writes"),
        ('{"results": {"results": []}}', "there is no result of promptfoo in it"),
        (
            '{"testCase": {"assert": [{"type": "contains"}]}, "vars": {"query": "q"}}',
            "no assertion",
        ),
    ],
)
def test_what_is_no_results_file_is_a_mistake(text: str, said: str) -> None:
    """One line with the file."""
    with pytest.raises(ConfigurationError, match=said):
        suite_of_results(text, "r.json")
