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


def asserting(*asserts: dict[str, Any], components: list[dict[str, Any]] | None = None) -> str:
    """The recorded results, of which the first has these assertions, and what graders were shown.

    Without ``vars.context``, as where a transform makes it.
    """
    found = tree()
    (one, _) = found["results"]["results"]
    one["testCase"]["assert"] = list(asserts)
    del one["vars"]["context"]
    one["gradingResult"] = {"componentResults": components or []}
    return json.dumps(found)


TRANSFORMED = {"type": "context-faithfulness", "threshold": 0.9, "contextTransform": "output.docs"}


@pytest.mark.parametrize("shown", ["Paris {{is}} a city.", ["Paris.", "Berlin."]])
def test_a_transformed_context_is_what_promptfoo_was_shown(shown: Any) -> None:
    """It stands in the results, as a text or a list, and is no template."""
    components = [{"assertion": TRANSFORMED, "metadata": {"context": shown}}, None, {}]
    text = asserting(TRANSFORMED, components=components)  # type: ignore[arg-type]
    first, _ = suite_of_results(text, "r").tests
    (one,) = first.assertions
    texts = [each.text for each in one.answer.passages]
    assert texts == ([shown] if isinstance(shown, str) else shown)


def test_what_was_transformed_and_is_not_there_is_left_out_by_name() -> None:
    """The others are judged all the same; without an answer it is an error as before."""
    other = {"type": "incorrect-claims", "value": "Paris.", "threshold": 0.5}
    hidden = {**other, "transform": "output.text"}
    first, second = suite_of_results(asserting(TRANSFORMED, hidden, other), "r").tests
    assert [each.metric for each in first.assertions] == ["incorrect_claims"]
    assert [each.why.partition(":")[0] for each in first.skipped] == [
        "contextTransform",
        "transform",
    ]
    assert second.assertions
    found = json.loads(asserting(TRANSFORMED))
    found["results"]["results"][0]["response"] = {"error": "timeout"}
    first, _ = suite_of_results(json.dumps(found), "r").tests
    assert first.broken == "promptfoo has no answer: timeout"


def test_the_answer_relevance_of_promptfoo_is_left_to_it() -> None:
    """It compares embeddings; a threshold for those says nothing about a yes or no."""
    text = asserting({"type": "answer-relevance", "threshold": 0.8})
    first, _ = suite_of_results(text, "r").tests
    assert first.assertions == ()
    (one,) = first.skipped
    assert one.why.startswith("answer-relevance: promptfoo compares embeddings for it")


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ({"output": ""}, "promptfoo's answer is empty"),
        ({"output": None, "tokenUsage": {}}, "promptfoo's answer is empty"),
        ({"output": "", "error": "timeout"}, "promptfoo has no answer: timeout"),
        (None, "promptfoo has no answer: API call error"),
        ({}, "promptfoo has no answer: API call error"),
    ],
)
def test_an_empty_answer_is_told_as_one(response: Any, said: str) -> None:
    """And not with the error of a grader that was given it."""
    found = tree()
    (one, _) = found["results"]["results"]
    one["response"], one["error"] = response, "API call error"
    first, _ = suite_of_results(json.dumps(found), "r").tests
    assert first.broken == said


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
