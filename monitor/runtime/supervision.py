"""What runs in the background ends the process when it fails, and says so: nothing ends unseen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from monitor.errors import MonitorError
from monitor.runtime.logs import logger

T = TypeVar("T")


async def supervised(what: str, work: Coroutine[Any, Any, T]) -> T:
    """The work's result; ``what`` names it where it fails.

    Raises what was foreseen (``MonitorError``) as it is, and ``RuntimeError`` for anything else,
    whose words may be those of an interaction: the log has its type and its places.
    """
    try:
        return await work
    except MonitorError:
        raise
    except Exception as error:  # noqa: BLE001 - raised again, without its words
        logger().error("task_failed", what=what, error=type(error).__name__, exc_info=error)
        raise RuntimeError(f"{what} failed with {type(error).__name__}") from None


@asynccontextmanager
async def meanwhile(*works: tuple[str, Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """The works go on while the block does, and end with it; each has its name before it.

    One that fails ends the block: an exception group with what ``supervised`` raises.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(supervised(what, work), name=what) for what, work in works]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
    finally:
        # A task that is cancelled before its first step never comes to its work, and Python would
        # warn of that. For all others this does nothing.
        for _, work in works:
            work.close()
