"""An event loop whose clock can be put forward: what is slow takes no time of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Ended = TypeVar("Ended")


class SkippingLoop(asyncio.SelectorEventLoop):
    """One whose clock is ahead by all that was skipped."""

    skipped_s = 0.0

    def time(self) -> float:
        return super().time() + self.skipped_s


async def skip(seconds: float) -> None:
    """So much later at once, with all that was to happen until then.

    Raises ``TypeError`` in any other loop.
    """
    loop = asyncio.get_running_loop()
    if not isinstance(loop, SkippingLoop):
        raise TypeError("this loop cannot skip")
    loop.skipped_s += seconds
    await asyncio.sleep(0)


def run_skipping(main: Coroutine[Any, Any, Ended]) -> Ended:
    """What it returns, in such a loop of its own."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(main)
