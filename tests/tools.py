"""Tests that need a tool which is not there are skipped, counted and listed; or they fail.

With ``REQUIRE_TOOLS=1``, as CI has it, no skip of any kind is accepted.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
# Name and how to get it, by the reason given to pytest, which is all that a report keeps of a skip.
_MISSING: dict[str, tuple[str, str]] = {}


def tools_required() -> bool:
    """Whether a missing tool is a failure."""
    return os.environ.get("REQUIRE_TOOLS") == "1"


def requires_tool(name: str, missing: str | None, how: str) -> None:
    """Skip the test, or fail it under ``REQUIRE_TOOLS=1``, when ``missing`` says what is missing.

    To be called in a fixture (of any scope) or in a test; ``how`` says how to get the tool.
    """
    if not missing:
        return
    reason = f"{name}: {missing}"
    _MISSING[reason] = (name, how)
    if tools_required():
        pytest.fail(f"{reason}; get it by {how}", pytrace=False)
    pytest.skip(reason)


def locked_tools() -> Path:
    """The Python of ``.venv-tools``; only where it is installed: a test fetches nothing."""
    folder = Path(os.environ.get("RAG_MONITOR_TOOLS", _ROOT)) / ".venv-tools"
    lock = (_ROOT / "requirements" / "tools.txt").read_bytes()
    wanted = f"{hashlib.sha256(lock).hexdigest()} {sys.version_info[:2]}"
    stamp = folder / "stamp"
    current = stamp.exists() and stamp.read_text("utf-8") == wanted
    requires_tool("locked tools", None if current else f"no {folder}", "make sbom")
    return folder / "bin" / "python"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note the tool on the report; turn other skips into failures where tools are required."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        tool = _MISSING.get(str(call.excinfo.value)) if call.excinfo else None
        if tool is not None:
            report.user_properties.append(("missing_tool", tool))
        _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module that skips itself is a failure too where tools are required."""
    report = yield
    if report.skipped:
        _refuse_skip(report)
    return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if tools_required():
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"no skip is accepted under REQUIRE_TOOLS=1: {reason}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> Generator[None, None, None]:
    """End the summary with a table of the tools that tests were skipped for."""
    yield
    skipped: Counter[tuple[str, str]] = Counter(
        tuple(value)  # a worker of pytest-xdist may have sent it as a list
        for report in terminalreporter.stats.get("skipped", [])
        for name, value in getattr(report, "user_properties", [])
        if name == "missing_tool"
    )
    if skipped:
        terminalreporter.section("missing tools")
        for row in _table(skipped):
            terminalreporter.write_line(row)


def _table(skipped: Counter[tuple[str, str]]) -> list[str]:
    rows = [("tool", "tests skipped", "how to get it")]
    rows += [(name, str(count), how) for (name, how), count in sorted(skipped.items())]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows]
