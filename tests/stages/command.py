"""``python -m monitor`` as a process, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.servers.forked import forks

ROOT = Path(__file__).parents[2]
#: Below that of pytest: `plan` takes 12 s of CPU, which may be minutes on a busy machine.
PATIENCE_S = 280


def rag_monitor(
    *arguments: str | Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; none of our variables comes in from outside.

    A process of its own, forked of one that has imported everything.
    """
    return forks().run([*map(str, arguments)], _environment(environ), PATIENCE_S)


def started(
    *arguments: str | Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The same by a start of Python, as people do it: for what the start itself has a part in."""
    return subprocess.run(
        [sys.executable, "-m", "monitor", *map(str, arguments)],
        cwd=ROOT,
        env=_environment(environ),
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def _environment(changes: Mapping[str, str] | None) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("RAG_MONITOR_")}
    return {**inherited, **(changes or {})}


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    """The error of a command, which is one line on stderr, without the program's name."""
    assert result.stdout == ""
    assert result.stderr.startswith("rag-monitor: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("rag-monitor: ").rstrip("\n")
