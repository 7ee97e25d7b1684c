"""Lines for people: status, check, target, what was found; below it what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby

from monitor.doctor.report import CheckStatus, ReportLine
from monitor.runtime.visible import lines_visible

#: Checks of one thing are one row as long as all is well: heading → checks.
_TOGETHER = {
    "broker": ("dns", "tcp", "tls", "kafka", "sasl"),
    "topic": ("topic", "partitions", "rights", "cleanup", "retention", "size"),
    "traffic": ("records", "decode", "ids", "contexts", "reference", "timestamps"),
}
_HEADINGS = {check: heading for heading, checks in _TOGETHER.items() for check in checks}
_COLOURS = {CheckStatus.OK: "32", CheckStatus.WARN: "33", CheckStatus.FAIL: "31"}
_STATUS, _CHECK = 6, 11


def rows(lines: Iterable[ReportLine], *, width: int, colour: bool) -> Iterable[str]:
    """The rows of a table, none wider than ``width`` unless a single word is."""
    for line in _joined(lines):
        yield from _row(line, width, colour)


def _joined(lines: Iterable[ReportLine]) -> Iterable[ReportLine]:
    """Checks of the same thing, all of them fine and without a hint, as one line."""
    for (target, heading), run in groupby(lines, _together):
        alike = list(run)
        if heading and len(alike) > 1:
            yield ReportLine(
                heading, target, CheckStatus.OK, "; ".join(line.found for line in alike)
            )
        else:
            yield from alike


def _together(line: ReportLine) -> tuple[str, str]:
    """Target and heading; no heading for a line that stands alone."""
    fine = line.status is CheckStatus.OK and not line.mend
    return line.target, _HEADINGS.get(line.check, "") if fine else ""


def _row(line: ReportLine, width: int, colour: bool) -> Iterable[str]:
    indent = " " * (_STATUS + _CHECK)
    text = lines_visible(f"{line.target}: {line.found}" if line.target else line.found)
    first = f"{line.status:<{_STATUS}}{line.check:<{_CHECK}}"
    wrapped = _wrapped(text, first, indent, width)
    if colour:
        mark = f"\x1b[{_COLOURS[line.status]}m{line.status}\x1b[0m"
        wrapped[0] = mark + wrapped[0][len(line.status) :]
    yield from wrapped
    for number, part in enumerate(line.mend.splitlines()):
        # Of YAML, line by line, the indentation stays.
        mark = f"{indent}→ " if not number else f"{indent}  "
        yield from _wrapped(part, mark, f"{indent}  ", width)


def _wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, len(first) + 20),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first]


def summary(lines: Sequence[ReportLine]) -> str:
    """The last row: how many of each, and what comes next."""
    counts = {status: sum(line.status is status for line in lines) for status in CheckStatus}
    counted = ", ".join(f"{n} {status}" for status, n in reversed(counts.items()) if n)
    if counts[CheckStatus.FAIL]:
        return f"{counted}: mend the FAIL lines, from the top, and look again"
    return f"{counted}: ready to run"
