"""Verdicts as workflow commands of GitHub Actions, which shows them at the lines of the file. Pure.

``::error file=…,line=…,title=…::…``, escaped as GitHub's own toolkit does it.
"""

from __future__ import annotations

from collections.abc import Iterator

from monitor.suites.verdicts import SuiteTestVerdict, SuiteVerdict


def workflow_commands(found: SuiteVerdict) -> Iterator[str]:
    """An error for each test that does not pass, and a notice for what is not used."""
    for test in found.tests:
        file = test.test.file or found.suite.file
        if test.status in ("failed", "error"):
            yield _command("error", file, _line(test), test.test.name, "\n".join(test.reasons()))
        for each in test.skipped:
            yield _command("notice", file, each.line, test.test.name, f"not checked: {each.type}")
    for note in found.notes:
        yield _command("notice", found.suite.file, note.line, "not used", note.text)


def _line(test: SuiteTestVerdict) -> int | None:
    bad = (each.assertion.line for each in test.assertions if each.status != "passed")
    return next((line for line in bad if line is not None), test.test.line)


def _command(kind: str, file: str, line: int | None, title: str, message: str) -> str:
    """One command.

    >>> _command("error", "a,b.yaml", 7, "100 %: bad", "one: two")
    '::error file=a%2Cb.yaml,line=7,title=100 %25%3A bad::one: two'
    """
    place = "" if line is None else f",line={line}"
    return f"::{kind} file={_property(file)}{place},title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
