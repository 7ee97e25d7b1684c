"""Verdicts in words, for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from monitor.suites.verdicts import SuiteVerdict

_MARKS: Final = {"passed": "✓", "failed": "✗", "error": "!", "skipped": "–"}


def lines(found: SuiteVerdict) -> Iterator[str]:
    """A line a test, below those that do not pass why, and what is not used."""
    yield found.suite.file
    for test in found.tests:
        yield f"  {_MARKS[test.status]} {test.test.name}"
        if test.status == "passed":
            yield from (f"      {each.words}" for each in test.assertions)
        yield from (f"      {reason}" for reason in test.reasons())
        yield from (f"      not checked: {each.why}" for each in test.skipped)
    for note in found.notes:
        place = "" if note.line is None else f":{note.line}"
        yield f"  note: {found.suite.file}{place}: {note.text}"


def one_line(found: Sequence[SuiteVerdict]) -> str:
    """How many tests passed and did not."""
    counts = {status: sum(each.counts[status] for each in found) for status in _MARKS}
    said = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
    number = sum(counts.values())
    return f"{number} test{'s' if number != 1 else ''}: {said or 'none'}"
