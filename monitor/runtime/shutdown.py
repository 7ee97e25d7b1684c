"""The end of what runs: signals that ask for it, and how much time it takes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any

from monitor.runtime.logs import logger

SECOND_INTERRUPT = 130
SHOW_CURSOR = "\x1b[?25h"


async def ended(task: asyncio.Task[Any]) -> None:
    """Cancel it; what goes wrong in its clean-up is told, and keeps nobody from stopping."""
    if task.done():
        return
    task.cancel()
    await asyncio.wait({task})
    error = None if task.cancelled() else task.exception()
    if error is not None:
        logger().error("unclean_stop", error=type(error).__name__, exc_info=error)


async def until(
    stop: asyncio.Event, work: Coroutine[Any, Any, object], *, grace_s: float = 0.0
) -> bool:
    """Whether the work ended by itself; when told to stop, it is cancelled.

    Work that watches the event itself gets ``grace_s`` seconds to come to its own end first.
    """
    task, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopping}, return_when="FIRST_COMPLETED")
        if grace_s and not task.done():
            await asyncio.wait({task}, timeout=grace_s)
        if not task.done():
            return False
        task.result()
        return True
    finally:
        stopping.cancel()
        await ended(task)  # its own clean-up comes first


def stop_on_signals(stop: asyncio.Event) -> None:
    """SIGTERM and Ctrl-C set ``stop``; a second Ctrl-C ends the process at once."""
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        if stop.is_set():  # the user does not want to wait for the drain
            if sys.stdout.isatty():
                print(SHOW_CURSOR, end="", flush=True)  # a live view may have hidden it
            os._exit(SECOND_INTERRUPT)
        stop.set()

    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, interrupted)
