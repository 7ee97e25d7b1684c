"""What admits a judgement: so many at a time, each with a deadline from its admission."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar

from monitor.judge.deadline import Deadline
from monitor.judge.pressure import Pressure

#: Which of the models the current judgement was admitted for.
_CHOSEN: ContextVar[int] = ContextVar("chosen", default=0)


def chosen() -> int:
    """The number of the models, in order of preference, that the current judgement begins with."""
    return _CHOSEN.get()


class Limits:
    """Concurrency and deadline (seconds) of judgements; waiting does not count as judging.

    ``pressures`` are those of the models that are asked: what they bear is a limit, too.
    ``others`` are those of models that are asked instead, in order, while the first do not answer.
    """

    def __init__(
        self,
        concurrency: int,
        deadline_s: float,
        pressures: Sequence[Pressure] = (),
        others: Sequence[Sequence[Pressure]] = (),
    ) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._deadline_s = deadline_s
        # In one order for all, or two that hold one each would wait for each other.
        self._groups = [sorted(group, key=id) for group in (pressures, *others)]

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Wait for a place; hold it while inside."""
        async with self._slots, AsyncExitStack() as stack:
            answering = (i for i, group in enumerate(self._groups) if all(p.answers for p in group))
            number = next(answering, 0)
            for pressure in self._groups[number]:
                await stack.enter_async_context(pressure.judgement())
            before = _CHOSEN.set(number)
            try:
                yield
            finally:
                _CHOSEN.reset(before)

    def deadline(self) -> Deadline:
        """Raises ``TimeoutError`` inside when a judgement takes too long.

        What its calls wait for requests and tokens a minute is not counted.
        """
        return Deadline(self._deadline_s)
