"""Suites as they are written: what is used, what is named, and what is a mistake with its line."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from monitor.errors import ConfigurationError
from monitor.metrics.catalogue import CATALOGUE
from monitor.suites.model import Suite
from monitor.suites.parsing import suite

TEST = """
tests:
  - description: capital
    vars:
      query: What is the capital of France?
      response: Paris.
      context: Paris is the capital of France.
    assert:
      - type: noise-sensitivity
        value: Paris is the capital.
"""


def read(text: str, files: dict[str, str] | None = None, **options: Any) -> Suite:
    """The suite in a text, with the files that it refers to."""

    def content(name: str) -> str:
        if name not in (files or {}):
            raise ValueError(f"{name}: is not there")
        return (files or {})[name]

    return suite(text, "s.yaml", content, **options)


def mistake(text: str, files: dict[str, str] | None = None) -> str:
    """What is said of a suite with a mistake."""
    with pytest.raises(ConfigurationError) as error:
        read(text, files)
    return str(error.value)


def asserting(lines: str) -> str:
    """The test with another assertion."""
    return TEST.partition("      - type")[0] + "\n".join(
        f"      {each}" for each in lines.split("\n")
    )


def test_an_empty_answer_is_one_and_an_empty_question_is_none() -> None:
    """The answer is judged, and fails its own test; nobody can judge without a question."""
    (test,) = read(TEST.replace("response: Paris.", 'response: ""')).tests
    assert test.assertions[0].answer.response == ""
    found = mistake(TEST.replace("query: What is the capital of France?", 'query: ""'))
    assert "vars.query: found an empty text" in found


def test_noise_sensitivity_has_a_default() -> None:
    """Relevant mode and at most 0.2; a context that is one text is one relevant passage."""
    (test,) = read(TEST).tests
    (found,) = test.assertions
    assert (found.metric, found.threshold) == ("noise_sensitivity_relevant", 0.2)
    assert (test.name, test.line, found.line) == ("capital", 3, 9)
    assert [(each.text, each.relevant) for each in found.answer.passages] == [
        ("Paris is the capital of France.", True)
    ]
    assert found.answer.reference == "Paris is the capital."


@pytest.mark.parametrize("metric", CATALOGUE)
def test_every_metric_can_be_asserted(metric: str) -> None:
    """By its name with hyphens."""
    text = asserting(f"- type: {metric.replace('_', '-')}\n  value: Paris.\n  threshold: 0.5")
    (test,) = read(text).tests
    (found,) = test.assertions
    assert (found.metric, found.threshold) == (metric, 0.5)
    assert (found.answer.reference is None) == (not CATALOGUE[metric].needs_reference)


def test_defaults_variables_and_files_come_together() -> None:
    """defaultTest, {{variables}} that keep their kind, file:// for texts, values and tests."""
    text = """
defaultTest:
  vars: {where: France}
  assert: [{type: context-faithfulness, threshold: 0.9}]
tests:
  - vars:
      query: What is the capital of {{where}}?
      response: file://answer.txt
      contextChunks: file://chunks.json
    assert:
      - {type: noise-sensitivity, value: file://truth.txt, config: {mode: irrelevant,
         contextChunks: "{{contextChunks}}", noiseContext: "Noise of {{ where }}."}}
  - file://more.yaml
"""
    more = "- {vars: {query: Q, response: R, context: [a, b]}, assert: [{type: answered,"
    more += " threshold: 1}], options: {disableDefaultAsserts: true}}"
    files = {
        "answer.txt": "Paris.",
        "chunks.json": '[{"text": "Paris.", "relevant": true}, {"text": "Berlin."}]',
        "truth.txt": "Paris.",
        "more.yaml": more,
    }
    first, second = read(text, files).tests
    noisy, faithful = first.assertions
    assert [(each.text, each.relevant) for each in noisy.answer.passages] == [
        ("Paris.", True),
        ("Berlin.", None),
        ("Noise of France.", False),
    ]
    assert (noisy.metric, noisy.answer.response) == ("noise_sensitivity_irrelevant", "Paris.")
    assert noisy.answer.reference == "Paris."
    assert noisy.answer.user_input == "What is the capital of France?"
    assert faithful.metric == "faithfulness"
    assert [each.metric for each in second.assertions] == ["answered"]
    assert (first.file, second.file, second.line) == (None, "more.yaml", 1)
    assert [each.text for each in second.assertions[0].answer.passages] == ["a", "b"]


def test_an_answer_is_judged_once() -> None:
    """Assertions about one answer share its judgement, also those that need no reference."""
    text = asserting(
        "- {type: faithfulness, threshold: 0.9}\n"
        "- {type: noise-sensitivity, value: Paris.}\n"
        "- {type: noise-sensitivity, value: Paris., config: {mode: irrelevant}}"
    )
    assert len(read(text).answers()) == 1


def test_what_is_not_used_is_named_with_its_line() -> None:
    """Once each; the tests stay."""
    found = read(f"providers: [openai:gpt-4]\nprompts: ['{{{{query}}}}']\n{TEST}")
    assert [(note.line, note.text.partition(":")[0]) for note in found.notes] == [
        (1, "providers"),
        (2, "prompts"),
    ]
    one_text = asserting("- {type: noise-sensitivity, value: P., config: {mode: irrelevant}}")
    (note,) = read(one_text).notes
    assert "context: is one text" in note.text


MISTAKES = [
    (TEST.replace("noise-sensitivity", "noise-sensitivty"), "s.yaml:9: tests.0.assert.0: noise-se"),
    (TEST.replace("noise-sensitivity", "contains"), "contains is no type of ours; expected one of"),
    (TEST.replace("noise-sensitivity", "faithfulness"), "threshold: missing: without one this"),
    (f"{TEST}        threshold: 20\n", "threshold: found 20, expected a number from 0 to 1"),
    (f"{TEST}        threshold: '0.2'\n", "threshold: found '0.2', expected a number"),
    (f"{TEST}        transform: output\n", "s.yaml:11: tests.0.assert.0.transform: is not support"),
    (f"{TEST}        limit: 1\n", "tests.0.assert.0.limit: is not known; expected config"),
    (f"{TEST}        config: {{mode: both}}\n", "found 'both', expected relevant or irrelevant"),
    (f"{TEST}        config: {{noise: a}}\n", "config.noise: expected one of contextChunks"),
    (f"{TEST}        value: twice\n", "line 11: value is given twice"),
    (f"{TEST}    threshold: 0.5\n", "s.yaml:11: tests.0.threshold: is not supported"),
    (TEST.replace("response: Paris.", "answer: Paris."), "tests.0: vars.response: missing: give"),
    (TEST.replace("query: ", "asked: "), "found no question, expected one of query, question"),
    (TEST.replace("context: ", "document: "), "needs passages: vars.contextChunks, vars.context"),
    (
        TEST.replace("value: Paris is the capital.", "value: '{{truth}}'"),
        "{{truth}} is not in vars",
    ),
    (TEST.replace("value: Paris is the capital.", "value: '{{query|upper}}'"), "templates are not"),
    (TEST.replace("context: ", "context: file://no.txt #"), "tests.0.vars.context: no.txt: is not"),
    (TEST.replace("tests:", "test:"), "s.yaml:2: test: is not known; expected defaultTest, desc"),
    ("scenarios: []\n" + TEST, "s.yaml:1: scenarios: is not supported: write its tests out"),
    ("tests: []", "there is no test in it"),
    ("- a", "expected an object with tests"),
    ("tests: [", "not YAML in line 1"),
    ("tests: tests.csv", "tests.csv: is not there"),
    ("tests:\n  - {vars: {query: a, response: b}}", "tests.0.assert: there is none"),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_a_mistake_has_its_line_and_path(text: str, said: str) -> None:
    """And says what was expected, so that no test is left out without a word."""
    assert said in mistake(text)


def test_all_mistakes_are_told_at_once() -> None:
    """Up to ten; whoever mends a suite runs it once."""
    text = "tests:\n" + "".join(f"  - {{vars: {{query: q{n}}}, assert: [1]}}\n" for n in range(12))
    said = mistake(text)
    assert said.count("vars.response: missing") == 10
    assert "and 2 more" in said


def test_other_types_are_left_out_by_name_where_that_is_asked_for() -> None:
    """They are no mistakes then, and no passes either."""
    text = f"{TEST}      - {{type: llm-rubric, value: Polite}}\n"
    (test,) = read(text, skips=True).tests
    assert [each.type for each in test.assertions] == ["noise-sensitivity"]
    assert [(each.type, each.line) for each in test.skipped] == [("llm-rubric", 11)]
    transformed = f"{TEST}        contextTransform: output\n"
    (test,) = read(transformed, skips=True).tests
    assert [each.why.partition(":")[0] for each in test.skipped] == ["contextTransform"]
    # What is ours must be right, whatever is left out.
    with pytest.raises(ConfigurationError, match="expected a number from 0 to 1"):
        read(f"{TEST}        threshold: 20\n", skips=True)


def test_tests_of_one_name_are_told_apart() -> None:
    """CI servers take two of one name for one."""
    found = read(TEST + TEST.removeprefix("\ntests:\n")).tests
    assert [test.name for test in found] == ["capital", "capital (2)"]


def test_a_mistake_in_another_file_names_that() -> None:
    """Where the line is one of that file."""
    files = {
        "more.yaml": "- vars: {query: q, response: r}\n  limit: 1\n  assert: [{type: answered}]"
    }
    said = mistake("tests: file://more.yaml", files)
    assert "more.yaml:2: 0.limit: is not known" in said
    assert "more.yaml:3: 0.assert.0: threshold: missing" in said


def test_a_hostile_file_ends_as_a_mistake() -> None:
    """Aliases that grow, depth without end, and objects of Python."""
    grows = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in pairwise("abcdefg")
    )
    assert "too much of it" in mistake(grows)
    assert "too deep" in mistake("[" * 100 + "]" * 100)
    assert "too deep" in mistake("[" * 20_000)
    assert "not YAML" in mistake("tests: 2026-13-45")
    assert "not YAML" in mistake("tests: !!python/object/apply:os.system [ls]")
