"""Workers side by side: what they begin with, and that they do not get each other's ports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.parallel import LONG, LONGEST
from tests.servers.ports import free_ports

ROOT = Path(__file__).parents[2]
ASKING = """
import sys
from tests.servers.ports import free_ports
print(*free_ports(500), flush=True)
sys.stdin.read()
"""


def test_what_workers_begin_with_is_there() -> None:
    """A file that was renamed is renamed in the list, too."""
    assert [name for name in (*LONGEST, *LONG) if not (ROOT / name).is_file()] == []


def test_ports_of_processes_that_live_at_once_are_different() -> None:
    """None of 1,500 ports of three processes is given twice."""
    asked = [
        subprocess.Popen(
            [sys.executable, "-c", ASKING],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        found = [str(port) for port in free_ports(500)]
        for process in asked:
            assert process.stdout is not None
            found += process.stdout.readline().split()
    finally:
        for process in asked:
            process.communicate()
    assert len(found) == len(set(found)) == 1_500
