"""Standard output that nobody reads any more."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: What is written behind the end is flushed when the process ends.
WRITES = """
import sys
from monitor.runtime.standard_output import discard_output
sys.stdin.read()
try:
    print("a line", flush=True)
except BrokenPipeError:
    {}
print("and another")
"""


@pytest.mark.parametrize(("then", "is_fine"), [("discard_output()", True), ("pass", False)])
def test_what_is_written_later_is_no_error(then: str, *, is_fine: bool) -> None:
    """Without it Python complains, and has an exit code for that."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES.format(then)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.close()  # only now it writes
        complaint = process.stderr.read()
    assert (process.returncode == 0, complaint == "") == (is_fine, is_fine)
