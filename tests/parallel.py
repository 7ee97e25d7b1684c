"""The suite on several workers (pytest-xdist): how many, and what they begin with.

A worker takes whole files, and has a Redis of its own; the broker is one for all. ``-n0``: all in
one process.
"""

from __future__ import annotations

import os
import py_compile
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from zlib import crc32

import pytest
from _pytest.assertion import rewrite
from _pytest.assertion.rewrite import assertstate_key
from _pytest.terminal import TerminalReporter

#: Files that take a minute or more, the longest first: begun last they would be waited for.
LONGEST = (
    "tests/e2e/test_chaos.py",
    "tests/e2e/test_problems.py",
    "tests/e2e/test_alerting.py",
    "tests/e2e/test_poison_records.py",
    "tests/e2e/test_audits.py",
    "tests/e2e/test_runbooks.py",
    "tests/e2e/test_baselines.py",
    "tests/e2e/test_demo.py",
    "tests/e2e/test_outage.py",
    "tests/unit/rules/test_told_right.py",
    "tests/e2e/test_lost_offsets.py",
    "tests/e2e/test_fault_matrix.py",
    "tests/unit/rules/test_stories.py",
    "tests/e2e/test_rolling_restart.py",
    "tests/unit/judge/limits/test_shared_quota.py",
    "tests/e2e/test_shared_limits.py",
    "tests/e2e/test_kill.py",
    "tests/e2e/test_doctor.py",
    "tests/e2e/test_limits.py",
    "tests/e2e/test_traces.py",
)
#: Files that take half a minute: none of them is among the last.
LONG = frozenset(
    (
        "tests/e2e/test_access_rotation.py",
        "tests/e2e/test_audit_pages.py",
        "tests/e2e/test_auto_blocks.py",
        "tests/e2e/test_budget_alert.py",
        "tests/e2e/test_chains.py",
        "tests/e2e/test_composed.py",
        "tests/e2e/test_dashboards.py",
        "tests/e2e/test_dead_letters_commands.py",
        "tests/e2e/test_demo_stack.py",
        "tests/e2e/test_exporter_clock.py",
        "tests/e2e/test_forget.py",
        "tests/e2e/test_hostile_records.py",
        "tests/e2e/test_judge_faults.py",
        "tests/e2e/test_labelled_run.py",
        "tests/e2e/test_no_telemetry.py",
        "tests/e2e/test_planning.py",
        "tests/e2e/test_port.py",
        "tests/e2e/test_provider.py",
        "tests/e2e/test_rules.py",
        "tests/e2e/test_scans.py",
        "tests/e2e/test_status.py",
        "tests/e2e/test_topics.py",
        "tests/house/test_install.py",
        "tests/unit/judge/limits/test_rates.py",
        "tests/unit/plan/test_delay.py",
        "tests/unit/sampling/test_unbiasedness.py",
    )
)


class FailuresAtOnce:
    """Names a test when it has failed; what it said comes at the end, which a run may not see."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and isinstance(terminal, TerminalReporter):
            terminal.write_line(f" {report.nodeid} ({report.when}) failed")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What ``-n auto`` means: more than there are cores, for tests often wait.

    Two for each keep the cores busy. With more, what a test starts comes to nothing for seconds.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return 2 * (cores or 1)


def compile_share(config: pytest.Config) -> None:
    """Compile what of the code this worker shall compile for all of them.

    In a new checkout each would compile all of it, at the same time as the others, which takes
    longer than all else of its start. What is not compiled yet when it is needed is no trouble.
    """
    worker: dict[str, object] | None = getattr(config, "workerinput", None)
    if worker is None:
        return
    number, count = int(str(worker["workerid"]).removeprefix("gw")), int(str(worker["workercount"]))
    files = [path for top in ("monitor", "tests") for path in (config.rootpath / top).rglob("*.py")]
    for path in sorted(files)[number::count]:
        with suppress(OSError, SyntaxError, py_compile.PyCompileError):
            if path.name.startswith("test_") or path.name == "conftest.py":
                _rewrite(path, config)
            elif not (cached := Path(cache_from_source(str(path)))).exists():
                py_compile.compile(str(path), str(cached), doraise=True)


def _rewrite(path: Path, config: pytest.Config) -> None:
    """What pytest does when it imports a test: its assertions tell what they have compared."""
    pyc = rewrite.get_cache_dir(path) / f"{path.stem}{rewrite.PYC_TAIL}"
    if not pyc.exists() and rewrite.try_makedirs(pyc.parent):
        stat, code = rewrite._rewrite_test(path, config)
        rewrite._write_pyc(config.stash[assertstate_key], code, stat, pyc)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let workers begin with the files that take longest; one process keeps the usual order."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _turn(item.nodeid))


def _turn(nodeid: str) -> tuple[int, int]:
    """Behind the longest as by chance: tests that wait run beside others that compute."""
    file = nodeid.partition("::")[0]
    if file in LONGEST:
        return LONGEST.index(file), 0
    return len(LONGEST), crc32(file.encode()) // (2 if file in LONG else 1)
