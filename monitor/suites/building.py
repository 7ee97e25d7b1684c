"""Raw tests, of a suite or of results, → tests; every mistake is collected with its place. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from monitor.errors import ConfigurationError
from monitor.evaluate.noise import is_one_passage
from monitor.suites.asserting import NotSupportedError, assertion_of
from monitor.suites.keys import (
    ASSERT_NOTED,
    ASSERT_REFUSED,
    ASSERT_USED,
    CONTEXT_TRANSFORM,
)
from monitor.suites.located import TreePath
from monitor.suites.model import (
    NOISE_MODES,
    SkippedAssertion,
    SuiteAssertion,
    SuiteNote,
    SuiteTest,
)

#: So many mistakes are told at once.
MOST_TOLD: Final = 10
_ONE_TEXT: Final = (
    "is one text, which counts as relevant, so nothing in it is noise: give contextChunks, or "
    "config.noiseContext"
)
LineOf = Callable[[TreePath], int | None]


@dataclass
class Mistakes:
    """What is wrong with a file, and what of it is not used; each thing is noted once."""

    file: str
    found: list[str] = field(default_factory=list)
    notes: dict[str, SuiteNote] = field(default_factory=dict)

    def add(self, path: TreePath, why: object, line: int | None, file: str | None = None) -> None:
        """One mistake, at a path."""
        where = ".".join(map(str, path))
        place = (file or self.file) + ("" if line is None else f":{line}")
        self.found.append(f"{place}: {where}{': ' if where else ''}{why}")

    def note(self, name: str, why: str, line: int | None) -> None:
        """One key that is not used."""
        self.notes.setdefault(f"{name} {why}", SuiteNote(f"{name}: {why}", line))

    def keys(
        self,
        raw: Mapping[str, Any],
        path: TreePath,
        line_of: LineOf,
        file: str | None = None,
        *,
        used: frozenset[str],
        noted: Mapping[str, str],
        refused: Mapping[str, str],
    ) -> None:
        """Look at the keys of an object: what is neither used nor known is a mistake."""
        for key in raw:
            line = line_of((*path, key))
            if key in noted:
                self.note(key, noted[key], line)
            elif key in refused:
                self.add((*path, key), f"is not supported: {refused[key]}", line, file)
            elif key not in used:
                known = ", ".join(sorted(used))
                self.add((*path, key), f"is not known; expected {known}", line, file)

    def require_none(self) -> None:
        """Raises ``ConfigurationError`` that tells them all, up to a number."""
        if not self.found:
            return
        more = len(self.found) - MOST_TOLD
        rest = f"; and {more} more" if more > 0 else ""
        raise ConfigurationError("; ".join(self.found[:MOST_TOLD]) + rest)


@dataclass(frozen=True)
class SuiteTestPlace:
    """Where a test stands, and what its answer is.

    ``skips``: assertions that are not ours are left out by name, and are no mistakes. So are those
    whose type has a reason in ``left``. ``transformed`` has by contextTransform what it gave.
    """

    name: str
    path: TreePath
    line_of: LineOf
    response: str
    skips: bool
    file: str | None = None
    left: Mapping[str, str] = field(default_factory=dict)
    transformed: Mapping[str, Any] = field(default_factory=dict)


def built(
    asserts: Sequence[Any],
    variables: Mapping[str, Any],
    source: SuiteTestPlace,
    mistakes: Mistakes,
) -> SuiteTest:
    """The test. ``asserts`` are raw, and ``variables`` those of the test with its defaults."""
    found: list[SuiteAssertion] = []
    skipped: list[SkippedAssertion] = []
    keys = {"used": ASSERT_USED | ASSERT_REFUSED.keys(), "noted": ASSERT_NOTED, "refused": {}}
    for path, raw in _flat(asserts, source, mistakes):
        line = source.line_of(path)
        try:
            one = _one(raw, variables, source, line)
            mistakes.keys(raw, path, source.line_of, source.file, **keys)  # type: ignore[arg-type]
            found.append(one)
            if one.metric == NOISE_MODES["irrelevant"] and is_one_passage(one.answer.passages):
                mistakes.note("context", _ONE_TEXT, line)
        except NotSupportedError as error:
            if source.skips:
                skipped.append(SkippedAssertion(str(raw.get("type")), str(error), line))
                continue
            at = path if error.key is None else (*path, error.key)
            mistakes.add(at, f"{error.why}{error.instead}", source.line_of(at), source.file)
        except ValueError as error:
            mistakes.add(path, error, line, source.file)
    line = source.line_of(source.path)
    return SuiteTest(source.name, tuple(_shared(found)), tuple(skipped), line, source.file)


def _one(
    raw: Mapping[str, Any], variables: Mapping[str, Any], source: SuiteTestPlace, line: int | None
) -> SuiteAssertion:
    type_ = raw.get("type")
    if isinstance(type_, str) and type_ in source.left:
        raise NotSupportedError(f"{type_}: {source.left[type_]}")
    transform = raw.get(CONTEXT_TRANSFORM)
    given = source.transformed.get(transform) if isinstance(transform, str) else None
    return assertion_of(raw, variables, source.response, line, given)


def _flat(
    asserts: Sequence[Any], source: SuiteTestPlace, mistakes: Mistakes
) -> Iterator[tuple[TreePath, Mapping[str, Any]]]:
    for number, raw in enumerate(asserts):
        path = (*source.path, "assert", number)
        if isinstance(raw, dict):
            yield path, raw
        else:
            mistakes.add(path, "expected an object with type", source.line_of(path), source.file)


def _shared(found: Sequence[SuiteAssertion]) -> Iterator[SuiteAssertion]:
    """One that needs no reference is asked with that of another one: the answer is judged once."""
    with_reference = {
        replace(each.answer, reference=None): each.answer
        for each in found
        if each.answer.reference is not None
    }
    for each in found:
        answer = with_reference.get(each.answer) if each.answer.reference is None else None
        yield each if answer is None else replace(each, answer=answer)
