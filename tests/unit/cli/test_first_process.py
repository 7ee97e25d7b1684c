"""Process 1, as in every container: signals without a handler are lost on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
UNSHARE = [
    "unshare",
    "--pid",
    "--fork",
    *([] if os.getuid() == 0 else ["--user", "--map-root-user"]),
]
#: The command, which is told to end while it imports the rest of the program.
TOLD = """
import os, signal, sys, time

class Told:
    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname == "monitor.cli":
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.1)
            os._exit(9)  # it went on

sys.meta_path.insert(0, Told)
from rag_monitor.__main__ import main
main()
"""


def ran(*command: str) -> subprocess.CompletedProcess[str]:
    """As process 1 of a namespace of its own."""
    return subprocess.run(
        [*UNSHARE, *command], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def missing_namespace() -> str | None:
    """Why there is none to be had here; None where there is."""
    try:
        done = ran("true")
    except FileNotFoundError:
        return "no unshare on PATH"
    return None if done.returncode == 0 else f"not permitted: {done.stderr.strip()[-200:]}"


def test_sigterm_while_the_program_is_imported_ends_process_1_at_once() -> None:
    """A container that is stopped in its first second need not be killed."""
    if why := missing_namespace():
        pytest.skip(f"needs a process namespace: {why}")
    done = ran(sys.executable, "-c", TOLD)
    assert done.returncode == 143, done.stderr
