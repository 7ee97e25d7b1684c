"""``python -m monitor`` as a real process, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[3]
#: Below that of pytest: `plan` takes 12 s of CPU, which may be minutes on a busy machine.
PATIENCE_S = 280


def rag_monitor(
    *arguments: str | Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; none of our variables comes in from outside."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("RAG_MONITOR_")}
    return subprocess.run(
        [sys.executable, "-m", "monitor", *map(str, arguments)],
        cwd=ROOT,
        env={**inherited, **(environ or {})},
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    """The error of a command, which is one line on stderr, without the program's name."""
    assert result.stdout == ""
    assert result.stderr.startswith("rag-monitor: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("rag-monitor: ").rstrip("\n")
