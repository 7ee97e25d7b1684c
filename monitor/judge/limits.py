"""What admits a judgement: so many at a time, each with a deadline from its admission."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from monitor.judge.deadline import Deadline
from monitor.judge.pressure import Pressure


class Limits:
    """Concurrency and deadline (seconds) of judgements; waiting does not count as judging.

    ``pressures`` are those of the models that are asked: what they bear is a limit, too.
    """

    def __init__(
        self, concurrency: int, deadline_s: float, pressures: Sequence[Pressure] = ()
    ) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._deadline_s = deadline_s
        # In one order for all, or two that hold one each would wait for each other.
        self._pressures = sorted(pressures, key=id)

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Wait for a place; hold it while inside."""
        async with self._slots, AsyncExitStack() as stack:
            for pressure in self._pressures:
                await stack.enter_async_context(pressure.judgement())
            yield

    def deadline(self) -> Deadline:
        """Raises ``TimeoutError`` inside when a judgement takes too long.

        What its calls wait for requests and tokens a minute is not counted.
        """
        return Deadline(self._deadline_s)
