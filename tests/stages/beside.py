"""A judge server in a thread of its own: it answers while the caller's event loop is held up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers.judge_server import JudgeServer


@contextmanager
def served(server: JudgeServer) -> Iterator[JudgeServer]:
    """The server, while inside."""
    is_ready, loops = threading.Event(), list[tuple[asyncio.AbstractEventLoop, asyncio.Event]]()

    async def serve() -> None:
        async with server:
            end = asyncio.Event()
            loops.append((asyncio.get_running_loop(), end))
            is_ready.set()
            await end.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), name="judge server")
    thread.start()
    assert is_ready.wait(30)
    try:
        yield server
    finally:
        ((loop, end),) = loops
        loop.call_soon_threadsafe(end.set)
        thread.join()
