"""A role whose clock is a file.

``python -m tests.stages.clocked export`` takes the settings of ``rag-monitor export``, with
``score`` those of ``rag-monitor score``, and the epoch seconds of now from the file that
``CLOCKED_BY`` names: what several processes say at one time can be held against one another, and
time goes on when a test says so.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from monitor.__main__ import main
from monitor.app.process import Monitor, Role
from tests.stages.altered import serve

#: Of the environment; the monitor itself would take one with its own prefix for a setting.
CLOCK = "CLOCKED_BY"
#: Set, the file is the clock of the machine, too: what is written bears its time, and it is this
#: clock that is held against the brokers'.
MACHINE = "CLOCKED_MACHINE"


def set_to(clock: Path, now: float) -> None:
    """Let it be this time, in one step, for all that go by this clock."""
    fresh = clock.with_suffix(".new")
    fresh.write_text(repr(now), "utf-8")
    fresh.replace(clock)


def role() -> None:
    """Run it until a signal ends it."""
    clock = Path(os.environ[CLOCK])
    roles: list[Role] = ["score" if sys.argv[1] == "score" else "export"]

    def now() -> float:
        return float(clock.read_text("utf-8"))

    machine = now if MACHINE in os.environ else time.time
    serve(lambda settings: Monitor(settings, now, machine), roles)


if __name__ == "__main__":
    main(role)
