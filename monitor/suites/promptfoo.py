"""What ``promptfoo eval -o results.json`` writes: answers, and the tests that they are of. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from monitor.errors import ConfigurationError
from monitor.suites.answers import QUESTIONS, numbered
from monitor.suites.building import Mistakes, SuiteTestPlace, built
from monitor.suites.keys import CONTEXT_TRANSFORM
from monitor.suites.model import Suite, SuiteTest

#: Types of ours that are something else there.
_LEFT: Final = MappingProxyType(
    {
        "answer-relevance": "promptfoo compares embeddings for it; ours is a yes or no of the "
        "judge, in a suite of ours"
    }
)


class PromptfooAnswer(NamedTuple):
    """One result: variables and raw test, the answer, and whose it is.

    ``output`` is empty where there is no answer; ``error`` says why. ``transformed`` has by
    contextTransform the context that it gave.
    """

    variables: Mapping[str, Any]
    test: Mapping[str, Any]
    output: str
    error: str
    label: str
    transformed: Mapping[str, Any]


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
    error = _no_answer(raw, response)
    provider, prompt = raw.get("provider") or {}, raw.get("prompt") or {}
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id") or ""
    label = prompt.get("label") or "" if isinstance(prompt, dict) else ""
    whose = ", ".join(filter(None, (provider, label)))
    return PromptfooAnswer(variables, test, said, error, whose, dict(_transformed(raw)))


def _no_answer(raw: Mapping[str, Any], response: Any) -> str:
    """Why there is none. A result's error may be that of a grader, who was given an empty one."""
    own = response.get("error") if isinstance(response, dict) else None
    is_there = isinstance(response, dict) and "output" in response
    error = own or ("" if is_there else raw.get("error"))
    if not error:
        return "promptfoo's answer is empty"
    return f"promptfoo has no answer: {error}".partition("\n")[0]


def _transformed(raw: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each contextTransform, and the context that graders were shown for it."""
    grading = raw.get("gradingResult")
    found = grading.get("componentResults") if isinstance(grading, dict) else None
    for each in found if isinstance(found, list) else ():
        found_in = each if isinstance(each, dict) else {}
        asked, shown = found_in.get("assertion"), found_in.get("metadata")
        if isinstance(asked, dict) and isinstance(shown, dict):
            transform, context = asked.get(CONTEXT_TRANSFORM), shown.get("context")
            if isinstance(transform, str) and isinstance(context, str | list):
                yield transform, context


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
        why = sorted({str(each.why) for test in tests for each in test.skipped})
        mistakes.add((), f"no assertion is checked here: {'; '.join(why) or 'there is none'}", None)
    mistakes.require_none()
    return Suite.of(file, tests, mistakes.notes.values())


def _test(answer: PromptfooAnswer, name: str, number: int, mistakes: Mistakes) -> SuiteTest:
    path = ("results", number)
    asserts = answer.test.get("assert") or []
    # Without an answer it is only looked whether any assertion is ours.
    source = SuiteTestPlace(
        *(name, path, lambda _: None, answer.output or "?"),
        skips=True,
        left=_LEFT,
        transformed=answer.transformed if answer.output else _any_transformed(asserts),
    )
    found = built(asserts, answer.variables, source, mistakes)
    if answer.output or not found.assertions:
        return found
    return replace(found, assertions=(), broken=answer.error)


def _any_transformed(asserts: Sequence[Any]) -> dict[str, Any]:
    """A context for each contextTransform: without an answer nothing was transformed."""
    found = (each.get(CONTEXT_TRANSFORM) for each in asserts if isinstance(each, dict))
    return {each: "?" for each in found if isinstance(each, str)}
