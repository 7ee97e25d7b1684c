"""A role whose clock is a file.

``python -m tests.e2e.clocked export`` takes the settings of ``rag-monitor export``, with ``score``
those of ``rag-monitor score``, and the epoch seconds of now from the file that ``CLOCKED_BY``
names: what several processes say at one time can be held against one another, and time goes on
when a test says so.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from monitor import logs
from monitor.__main__ import main
from monitor.app import Monitor, Role, stop_on_signals
from monitor.config import load

#: Of the environment; the monitor itself would take one with its own prefix for a setting.
CLOCK = "CLOCKED_BY"


def set_to(clock: Path, now: float) -> None:
    """Let it be this time, in one step, for all that go by this clock."""
    fresh = clock.with_suffix(".new")
    fresh.write_text(repr(now), "utf-8")
    fresh.replace(clock)


def role() -> None:
    """Run it until a signal ends it."""
    roles: list[Role] = ["score" if sys.argv[1] == "score" else "export"]
    settings, clock = load(os.environ, None, {}), Path(os.environ[CLOCK])
    logs.configure(settings.log.level, settings.log.format)

    async def serve() -> None:
        stop = asyncio.Event()
        stop_on_signals(stop)
        await Monitor(settings, lambda: float(clock.read_text("utf-8"))).run(roles, stop)

    asyncio.run(serve())


if __name__ == "__main__":
    main(role)
