"""The stack beside a running demo: started with it, watched, and ended with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from monitor.demo.stack.notification import Notification
from monitor.demo.stack.receiver import Receiver
from monitor.demo.stack.servers import missing_programs
from monitor.demo.stack.stack import Shipped, Stack, read_shipped
from monitor.errors import ConfigurationError

LOOK_EVERY_S: Final = 0.5


def prepared(deploy: Path) -> Shipped:
    """The shipped configuration; raises ``ConfigurationError`` when it or a program is missing."""
    if missing := missing_programs():
        raise ConfigurationError(f"the stack needs Prometheus and Alertmanager: {missing}")
    return read_shipped(deploy)


@asynccontextmanager
async def beside(
    shipped: Shipped,
    rules: Mapping[str, str],
    target: str,
    report: Callable[[Notification], None],
) -> AsyncIterator[Stack]:
    """A stack that is about to run, and whose addresses are known; on leaving it has ended.

    ``report`` is called with each notification that arrives. Raises as ``Stack.start`` and
    ``Stack.check`` do.
    """
    receiver, over = Receiver(report), asyncio.Event()
    await receiver.start()
    try:
        with TemporaryDirectory(prefix="rag-monitor-stack-") as place:
            stack = Stack(Path(place), shipped, rules, receiver.url)
            stack.scrape([target])
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(_keep(stack, over))
                try:
                    yield stack
                finally:
                    over.set()
                    await asyncio.wait({keeping})
    finally:
        await receiver.stop()


async def _keep(stack: Stack, over: asyncio.Event) -> None:
    """Run it until ``over``; it never outlives this."""
    starting = asyncio.ensure_future(asyncio.to_thread(stack.start))
    try:
        # Not cancelled half-way: a thread that goes on would start what nobody ends.
        await asyncio.shield(starting)
        while not over.is_set():
            stack.check()
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), LOOK_EVERY_S)
    finally:
        await asyncio.wait({starting})
        await asyncio.to_thread(stack.stop)
