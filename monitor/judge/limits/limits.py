"""What admits a judgement: so many at a time, each with a deadline from its admission."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar

from monitor.judge.limits.deadline import Deadline
from monitor.judge.limits.provider_gate import ModelUnanswered, ProviderGate, ProviderState

#: Which of the models the current judgement was admitted for.
_CHOSEN: ContextVar[int] = ContextVar("chosen", default=0)


def chosen() -> int:
    """The number of the models, in order of preference, that the current judgement begins with."""
    return _CHOSEN.get()


class Limits:
    """Concurrency and deadline (seconds) of judgements; waiting does not count as judging.

    ``provider_gates`` are those of the models that are asked: what they bear is a limit, too.
    ``others`` are those of models that are asked instead, in order, while the first do not answer.
    """

    def __init__(
        self,
        concurrency: int,
        deadline_s: float,
        provider_gates: Sequence[ProviderGate] = (),
        others: Sequence[Sequence[ProviderGate]] = (),
    ) -> None:
        self.concurrency = concurrency
        #: Seconds that places were held for, all together.
        self.busy_s = 0.0
        self._slots = asyncio.Semaphore(concurrency)
        self._urgent = deque[asyncio.Future[None]]()
        self._given_back = asyncio.Event()
        self._deadline_s = deadline_s
        # In one order for all, or two that hold one each would wait for each other.
        self._groups = [sorted(group, key=id) for group in (provider_gates, *others)]

    @property
    def is_silent(self) -> bool:
        """Whether judging pauses: a circuit is open, and no other model is there instead."""
        states = [{provider_gate.state for provider_gate in group} for group in self._groups]
        away = {ProviderState.CIRCUIT_OPEN, ProviderState.STOPPED}
        return all(each & away for each in states) and ProviderState.CIRCUIT_OPEN in set().union(
            *states
        )

    @asynccontextmanager
    async def admitted(self, *, first: bool = False) -> AsyncIterator[None]:
        """Wait for a place; hold it while inside. ``first``: before all that wait for one."""
        try:
            async with self._place(first=first), AsyncExitStack() as stack:
                before = _CHOSEN.set(await self._entered(stack))
                try:
                    yield
                finally:
                    _CHOSEN.reset(before)
        finally:  # also when a waiter gave up that was just let in
            self._given_back.set()

    @asynccontextmanager
    async def _place(self, *, first: bool) -> AsyncIterator[None]:
        if first and self._slots.locked():
            await self._next_place()
        else:
            await self._slots.acquire()
        try:
            yield
        finally:
            self._leave()

    async def _next_place(self) -> None:
        """Wait for the next place that is given back."""
        place = asyncio.get_running_loop().create_future()
        self._urgent.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it was just given
                self._leave()
            raise

    def _leave(self) -> None:
        """Give a place back: to who is to come first, or to those that wait."""
        while self._urgent:
            place = self._urgent.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._slots.release()

    async def _entered(self, stack: AsyncExitStack) -> int:
        """Wait for the first models that answer; their number.

        Whoever waits for one that then falls silent goes to the next.
        """
        while True:
            number = next(self._answering(), self._awaited())
            with suppress(ModelUnanswered):
                async with AsyncExitStack() as entered:
                    for provider_gate in self._groups[number]:
                        await entered.enter_async_context(
                            provider_gate.judgement(self._others_answer)
                        )
                    await stack.enter_async_context(entered.pop_all())
                    return number

    def _answering(self) -> Iterator[int]:
        return (i for i, group in enumerate(self._groups) if all(p.answers for p in group))

    def _awaited(self) -> int:
        """Who is waited for where none answers: rather one that is away than one that refuses."""
        return next((i for i, group in enumerate(self._groups) if not _refuses(group)), 0)

    def _others_answer(self) -> bool:
        """Without those that refuse: to find out takes one call, and all would go there."""
        return any(not _refuses(self._groups[i]) for i in self._answering())

    @asynccontextmanager
    async def admitted_last(self) -> AsyncIterator[None]:
        """The same for what can wait: a place is taken only once nobody else waits for one."""
        while self._slots.locked():
            self._given_back.clear()
            await self._given_back.wait()
        async with self.admitted():  # at once: the place is free
            yield

    def deadline(self) -> Deadline:
        """Raises ``TimeoutError`` inside when a judgement takes too long.

        What its calls wait for requests and tokens a minute is not counted.
        """
        return Deadline(self._deadline_s)


def _refuses(group: Sequence[ProviderGate]) -> bool:
    return any(provider_gate.state is ProviderState.STOPPED for provider_gate in group)
