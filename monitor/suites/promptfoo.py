"""What ``promptfoo eval -o results.json`` writes: answers, and the tests that they are of. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from monitor.errors import ConfigurationError
from monitor.suites.answers import QUESTIONS, numbered
from monitor.suites.building import Mistakes, SuiteTestPlace, built
from monitor.suites.model import Suite, SuiteTest


class PromptfooAnswer(NamedTuple):
    """One result: variables and raw test, the answer, and whose it is.

    ``output`` is empty where there is no answer; ``error`` says why.
    """

    variables: Mapping[str, Any]
    test: Mapping[str, Any]
    output: str
    error: str
    label: str


def results(text: str, file: str) -> list[PromptfooAnswer]:
    """The results, from JSON (any version of it) or JSON lines; raises ``ConfigurationError``."""
    found = list(map(_answer, _raw(text, file)))
    if not found:
        raise ConfigurationError(f"{file}: there is no result of promptfoo in it")
    return found


def _raw(text: str, file: str) -> list[Mapping[str, Any]]:
    try:
        tree = _json(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{file}: is no JSON: {error}") from None
    if isinstance(tree, dict) and "testCase" in tree:
        tree = [tree]
    while isinstance(tree, dict) and "results" in tree:
        tree = tree["results"]
    if not isinstance(tree, list) or not all(_is_result(each) for each in tree):
        raise ConfigurationError(
            f"{file}: expected what promptfoo eval -o results.json writes: results with vars and "
            "testCase"
        )
    return tree


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def _is_result(found: Any) -> bool:
    return isinstance(found, dict) and isinstance(found.get("testCase"), dict)


def _answer(raw: Mapping[str, Any]) -> PromptfooAnswer:
    test = raw["testCase"]
    variables = raw.get("vars") or test.get("vars") or {}
    response = raw.get("response") or {}
    output = response.get("output") if isinstance(response, dict) else response
    said = output if isinstance(output, str) else ""
    if not said and output is not None and output != "":
        said = json.dumps(output, ensure_ascii=False)
    error = str(raw.get("error") or "it is empty").partition("\n")[0]
    provider, prompt = raw.get("provider") or {}, raw.get("prompt") or {}
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id") or ""
    label = prompt.get("label") or "" if isinstance(prompt, dict) else ""
    return PromptfooAnswer(variables, test, said, error, ", ".join(filter(None, (provider, label))))


def answers_to(
    variables: Mapping[str, Any], answers: Sequence[PromptfooAnswer]
) -> Iterator[PromptfooAnswer]:
    """The answers to the question of a test: those with the same variables, as far as known."""
    names = [name for name in QUESTIONS if name in variables]
    for answer in answers:
        known = {name for name in variables if name in answer.variables}
        is_same = all(answer.variables[name] == variables[name] for name in known)
        if is_same and known.intersection(names) and answer.output:
            yield answer


def suite_of_results(text: str, file: str) -> Suite:
    """The tests of promptfoo's own suite, with the answers that it got.

    Assertions that are not ours are left to promptfoo, by name. A result without an answer is a
    broken test. Raises ``ConfigurationError``.
    """
    mistakes, tests = Mistakes(file), []
    found = results(text, file)
    several = len({answer.label for answer in found}) > 1
    for number, answer in enumerate(found):
        name = str(answer.test.get("description") or numbered(number, answer.variables))
        name += f" [{answer.label}]" if several else ""
        tests.append(_test(answer, name, number, mistakes))
    mistakes.require_none()
    kept = tuple(test for test in tests if test.assertions or test.broken is not None)
    if not kept:
        types = sorted({each.type for test in tests for each in test.skipped})
        mistakes.add((), f"no assertion is ours; there: {', '.join(types) or 'none'}", None)
    mistakes.require_none()
    return Suite.of(file, tests, mistakes.notes.values())


def _test(answer: PromptfooAnswer, name: str, number: int, mistakes: Mistakes) -> SuiteTest:
    path = ("results", number)
    asserts = answer.test.get("assert") or []
    # Without an answer it is only looked whether any assertion is ours.
    source = SuiteTestPlace(name, path, lambda _: None, answer.output or "?", skips=True)
    found = built(asserts, answer.variables, source, mistakes)
    if answer.output or not found.assertions:
        return found
    broken = f"promptfoo has no answer: {answer.error}"
    return replace(found, assertions=(), broken=broken)
