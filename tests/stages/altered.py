"""Running a monitor that is the product but for what a test has changed in it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence

from monitor.app.process import Monitor, Role
from monitor.config import Settings, load
from monitor.runtime import logs
from monitor.runtime.shutdown import stop_on_signals


def serve(altered: Callable[[Settings], Monitor], roles: Sequence[Role]) -> None:
    """Run it with the settings of the environment, until a signal ends it."""
    settings = load(os.environ, None, {})
    logs.configure(settings.log.level, settings.log.format)

    async def run() -> None:
        stop = asyncio.Event()
        stop_on_signals(stop)
        await altered(settings).run(list(roles), stop)

    asyncio.run(run())
