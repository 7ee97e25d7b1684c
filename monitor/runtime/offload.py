"""Work on the event loop that may not end when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

#: For cleaning up; then it is left to itself.
GRACE_S = 1.0

T = TypeVar("T")


async def isolated(work: Coroutine[Any, Any, T]) -> T:
    """The work's result. Cancelled, this ends within a second, whatever the work does.

    It is for libraries that may swallow a cancellation, or hang in it. What the work brings after
    that is dropped. Raises ``RuntimeError`` when the work was cancelled by something of its own:
    that is a bug, and no reason to hand it over.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not is_cancelling():
            raise RuntimeError("the work was cancelled from inside") from None
        task.cancel()
        task.add_done_callback(retrieved)
        await asyncio.wait({task}, timeout=GRACE_S)
        raise


def is_cancelling() -> bool:
    """Whether somebody has cancelled the current task."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def retrieved(task: asyncio.Task[Any]) -> None:
    """Take note of how a task has ended that nobody waits for."""
    if not task.cancelled():
        task.exception()
