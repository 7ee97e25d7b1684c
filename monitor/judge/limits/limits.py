"""What admits a judgement: so many at a time, each with a deadline from its admission."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
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
        self._held_back = 0
        self._urgent = deque[asyncio.Future[None]]()
        self._given_back = asyncio.Event()
        self._deadline_s = deadline_s
        # In one order for all, or two that hold one each would wait for each other.
        self._groups = [sorted(group, key=id) for group in (provider_gates, *others)]
        self._aside = set[int]()

    @property
    def places(self) -> int:
        """How many may be under way now."""
        return self.concurrency - self._held_back

    def begin_with(self, places: int) -> None:
        """Admit no more at a time than so many, until ``admit_all``; before anybody is admitted."""
        self._held_back = max(0, self.concurrency - places)
        self._slots = asyncio.Semaphore(self.places)

    def admit_all(self) -> None:
        """Admit as many at a time as may be."""
        held_back, self._held_back = self._held_back, 0
        for _ in range(held_back):
            self._leave()

    @property
    def is_silent(self) -> bool:
        """Whether judging pauses: a circuit is open, and no other model is there instead."""
        groups = [self._groups[number] for number in self._usable()]
        states = [{provider_gate.state for provider_gate in group} for group in groups]
        away = {ProviderState.CIRCUIT_OPEN, ProviderState.STOPPED}
        return all(each & away for each in states) and ProviderState.CIRCUIT_OPEN in set().union(
            *states
        )

    def set_aside(self, number: int, *, aside: bool) -> None:
        """Prefer all other models to this one, as long as any of them does not refuse; or again."""
        (self._aside.add if aside else self._aside.discard)(number)

    def is_aside(self, number: int) -> bool:
        """Whether others are preferred to this model, whatever the order says."""
        return number in self._aside

    @property
    def next_model(self) -> int:
        """The number of the model that a judgement would be admitted for now, or wait for."""
        return next(self._answering(), self._awaited())

    @asynccontextmanager
    async def admitted(
        self, *, first: bool = False, model: int | None = None
    ) -> AsyncIterator[None]:
        """Wait for a place; hold it while inside. ``first``: before all that wait for one.

        For the ``model`` of that number, if one is given; raises ``ModelUnanswered`` where that
        does not answer.
        """
        try:
            async with self._place(first=first), AsyncExitStack() as stack:
                if model is None:
                    before = _CHOSEN.set(await self._entered(stack))
                else:
                    await self._enter(stack, model, lambda: True)
                    before = _CHOSEN.set(model)
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
            number = self.next_model
            with suppress(ModelUnanswered):
                await self._enter(stack, number, self._others_answer)
                return number

    async def _enter(self, stack: AsyncExitStack, number: int, leaves: Callable[[], bool]) -> None:
        async with AsyncExitStack() as entered:
            for provider_gate in self._groups[number]:
                await entered.enter_async_context(provider_gate.judgement(leaves))
            await stack.enter_async_context(entered.pop_all())

    def _usable(self) -> Sequence[int]:
        """The models in order of preference; those set aside only where all others refuse."""
        kept = [number for number in range(len(self._groups)) if number not in self._aside]
        usable = any(not _refuses(self._groups[number]) for number in kept)
        return kept if usable else range(len(self._groups))

    def _answering(self) -> Iterator[int]:
        return (i for i in self._usable() if all(p.answers for p in self._groups[i]))

    def _awaited(self) -> int:
        """Who is waited for where none answers: rather one that is away than one that refuses."""
        return next((i for i in self._usable() if not _refuses(self._groups[i])), 0)

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
