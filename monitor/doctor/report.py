"""What a check says: one line, and what all lines together mean."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class CheckStatus(StrEnum):
    """How bad it is. ``FAIL``: the monitor cannot run, or would say something wrong."""

    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"


class ReportLine(NamedTuple):
    """One finding: ``check`` on ``target``; ``mend`` says what to do and is empty if nothing is."""

    check: str
    target: str
    status: CheckStatus
    found: str
    mend: str = ""


def ok(check: str, target: str, found: str, mend: str = "") -> ReportLine:
    """A line that needs no attention; ``mend`` is then a hint."""
    return ReportLine(check, target, CheckStatus.OK, found, mend)


def warn(check: str, target: str, found: str, mend: str) -> ReportLine:
    """A line that the monitor can live with."""
    return ReportLine(check, target, CheckStatus.WARN, found, mend)


def fail(check: str, target: str, found: str, mend: str) -> ReportLine:
    """A line that has to be mended."""
    return ReportLine(check, target, CheckStatus.FAIL, found, mend)


def exit_code(lines: Iterable[ReportLine]) -> int:
    """1 when any line is a FAIL, else 0.

    >>> exit_code([ok("port", "127.0.0.1:9750", "free")])
    0
    """
    return int(any(line.status is CheckStatus.FAIL for line in lines))


def percent(part: int, whole: int) -> str:
    """A share for people; what is neither none nor all is never shown as such.

    >>> percent(0, 7), percent(1, 1000), percent(1, 3), percent(999, 1000), percent(7, 7)
    ('0 %', '<1 %', '33 %', '>99 %', '100 %')
    """
    if part in (0, whole):
        return "100 %" if part else "0 %"
    rounded = round(100 * part / whole)
    return "<1 %" if rounded < 1 else ">99 %" if rounded > 99 else f"{rounded} %"


def span(seconds: float) -> str:
    """A length of time for people, in its largest whole unit.

    >>> span(0.4), span(90), span(7200), span(259_200)
    ('0 s', '90 s', '2 h', '3 d')
    """
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"
