"""A suite in YAML → its tests. Pure: what it refers to is read by its caller."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from monitor.suites.answers import RESPONSE, numbered, text_of
from monitor.suites.building import Mistakes, SuiteTestPlace, built
from monitor.suites.keys import (
    FILE_NOTED,
    FILE_REFUSED,
    FILE_USED,
    OPTION_REFUSED,
    OPTION_USED,
    TEST_NOTED,
    TEST_REFUSED,
    TEST_USED,
)
from monitor.suites.located import Located, TreePath, parsed
from monitor.suites.model import Suite, SuiteTest
from monitor.suites.promptfoo import PromptfooAnswer, answers_to
from monitor.suites.templates import filled

#: Begins the name of a file that stands in the place of its content.
REFERENCE: Final = "file://"
ReadReference = Callable[[str], str]


class _Defaults(NamedTuple):
    variables: Mapping[str, Any]
    asserts: Sequence[Any]


def suite(
    text: str,
    file: str,
    read: ReadReference,
    answers: Sequence[PromptfooAnswer] = (),
    *,
    skips: bool = False,
) -> Suite:
    """The suite. ``read`` gives the text of a file that is referred to, or raises ``ValueError``.

    ``answers`` are those of promptfoo, for tests without a response. ``skips``: assertions that are
    not ours are left out by name.

    Raises ``ConfigurationError`` with every mistake, its line and its path.
    """
    mistakes = Mistakes(file)
    try:
        found = parsed(text)
    except ValueError as error:
        mistakes.add((), error, None)
        found = Located({}, {})
    mistakes.require_none()
    tests = tuple(_SuiteReading(mistakes, found, read, answers, skips).tests())
    mistakes.require_none()
    if not tests:
        mistakes.add((), "there is no test in it", None)
    mistakes.require_none()
    return Suite.of(file, tests, mistakes.notes.values())


@dataclass
class _SuiteReading:
    mistakes: Mistakes
    located: Located
    read: ReadReference
    answers: Sequence[PromptfooAnswer]
    skips: bool

    def tests(self) -> Iterator[SuiteTest]:
        tree, line_of = self.located.tree, self.located.line
        if not isinstance(tree, dict):
            self.mistakes.add((), "expected an object with tests", None)
            return
        self.mistakes.keys(
            tree, (), line_of, used=FILE_USED, noted=FILE_NOTED, refused=FILE_REFUSED
        )
        defaults = self._defaults(tree.get("defaultTest") or {})
        for place in self._raw(tree.get("tests"), ("tests",)):
            yield from self._test(place, defaults)

    def _raw(self, found: Any, path: TreePath) -> Iterator[_RawTest]:
        """Each test, also of files that are referred to."""
        if isinstance(found, str):
            yield from self._of_file(found, path)
        elif not isinstance(found, list):
            self.mistakes.add(path, "expected a list of tests", self.located.line(path))
        else:
            for number, each in enumerate(found):
                if isinstance(each, str):
                    yield from self._of_file(each, (*path, number))
                else:
                    yield _RawTest(each, (*path, number), self.located, None)

    def _of_file(self, name: str, path: TreePath) -> Iterator[_RawTest]:
        line = self.located.line(path)
        try:
            inner = parsed(self.read(name.removeprefix(REFERENCE)))
        except ValueError as error:
            self.mistakes.add(path, error, line)
            return
        if not isinstance(inner.tree, list):
            self.mistakes.add(path, f"{name}: expected a list of tests", line)
            return
        beside = posixpath.dirname(self.mistakes.file)
        file = posixpath.join(beside, name.removeprefix(REFERENCE))
        for number, each in enumerate(inner.tree):
            yield _RawTest(each, (number,), inner, file)

    def _defaults(self, raw: Any) -> _Defaults:
        path = ("defaultTest",)
        if isinstance(raw, str):
            try:
                raw = parsed(self.read(raw.removeprefix(REFERENCE))).tree
            except ValueError as error:
                self.mistakes.add(path, error, self.located.line(path))
        if not isinstance(raw, dict):
            self.mistakes.add(path, "expected an object", self.located.line(path))
            return _Defaults({}, ())
        self._look(raw, path, self.located, None)
        variables = self._variables(raw.get("vars") or {}, path, self.located)
        return _Defaults(variables, raw.get("assert") or [])

    def _look(
        self, raw: Mapping[str, Any], path: TreePath, located: Located, file: str | None
    ) -> None:
        self.mistakes.keys(
            *(raw, path, located.line, file),
            used=TEST_USED,
            noted=TEST_NOTED,
            refused=TEST_REFUSED,
        )
        options = raw.get("options") or {}
        noted = dict.fromkeys(set(options) - OPTION_USED - set(OPTION_REFUSED), "it is not used")
        self.mistakes.keys(
            *(options, (*path, "options"), located.line, file),
            used=OPTION_USED,
            noted=noted,
            refused=OPTION_REFUSED,
        )

    def _variables(self, raw: Any, path: TreePath, located: Located) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if not isinstance(raw, dict):
            self.mistakes.add((*path, "vars"), "expected an object", located.line(path))
            return found
        for name, value in raw.items():
            try:
                found[name] = self._loaded(value)
            except ValueError as error:
                place = (*path, "vars", name)
                self.mistakes.add(place, error, located.line(place))
        return found

    def _loaded(self, value: Any) -> Any:
        """The content of a file in the place of its name; raises ``ValueError``."""
        if isinstance(value, dict):
            return {key: self._loaded(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._loaded(each) for each in value]
        if not isinstance(value, str) or not value.startswith(REFERENCE):
            return value
        name = value.removeprefix(REFERENCE)
        text = self.read(name)
        if name.endswith(".json"):
            return json.loads(text)
        if name.endswith((".yaml", ".yml")):
            return parsed(text).tree
        return text

    def _test(self, place: _RawTest, defaults: _Defaults) -> Iterator[SuiteTest]:
        raw, path, located, file = place
        if not isinstance(raw, dict):
            self.mistakes.add(path, "expected an object with vars and assert", located.line(path))
            return
        self._look(raw, path, located, file)
        variables = {**defaults.variables, **self._variables(raw.get("vars") or {}, path, located)}
        variables = {
            name: value if name == RESPONSE else filled(value, variables)
            for name, value in variables.items()
        }
        own, options = raw.get("assert") or [], raw.get("options") or {}
        inherited = [] if options.get("disableDefaultAsserts") else defaults.asserts
        asserts = self._asserts([*own, *inherited], path, located)
        if not asserts:
            self.mistakes.add((*path, "assert"), "there is none", located.line(path), file)
            return
        for name, response in self._responses(raw, variables, place):
            source = SuiteTestPlace(name, path, located.line, response, self.skips, file)
            yield built(asserts, variables, source, self.mistakes)

    def _asserts(self, asserts: Sequence[Any], path: TreePath, located: Located) -> list[Any]:
        found = []
        for each in asserts:
            try:
                found.append(self._loaded(each))
            except ValueError as error:
                self.mistakes.add((*path, "assert"), error, located.line(path))
        return found

    def _responses(
        self, raw: Mapping[str, Any], variables: Mapping[str, Any], place: _RawTest
    ) -> Iterator[tuple[str, str]]:
        """The name of the test and its answer; several where promptfoo has several."""
        path, line = place.path, place.located.line(place.path)
        name = _name(raw, variables, path)
        given = variables.get(RESPONSE, raw.get("providerOutput"))
        if given is not None:
            try:
                # An empty answer is one: the test fails with its reason, and the others go on.
                empty = isinstance(given, str) and not given.strip()
                yield name, given if empty else text_of(given, f"vars.{RESPONSE}")
            except ValueError as error:
                self.mistakes.add(path, error, line, place.file)
            return
        found = list(answers_to(variables, self.answers))
        if not found:
            why = "has no answer to these vars" if self.answers else "or --responses RESULTS"
            lead = f"vars.{RESPONSE}: missing"
            said = f"{lead}: --responses {why}" if self.answers else f"{lead}: give it, {why}"
            self.mistakes.add(path, said, line, place.file)
        for answer in found:
            yield f"{name}{f' [{answer.label}]' if len(found) > 1 else ''}", answer.output


class _RawTest(NamedTuple):
    """A test as it stands in a file; ``file`` is None for the suite itself."""

    raw: Any
    path: TreePath
    located: Located
    file: str | None


def _name(raw: Mapping[str, Any], variables: Mapping[str, Any], path: TreePath) -> str:
    if isinstance(raw.get("description"), str) and raw["description"].strip():
        return str(raw["description"])
    return numbered(int(path[-1]), variables)
