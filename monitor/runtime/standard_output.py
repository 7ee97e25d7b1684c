"""Standard output that nobody reads any more, as behind ``| head``: no error, and no complaint."""

from __future__ import annotations

import os
import sys


def discard_output() -> None:
    """From now on what is written to standard output goes nowhere.

    Call it after a ``BrokenPipeError``: what is written later would fail again when the process
    ends, which says so and changes its exit code.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
