"""What one model's provider bears: who asks it, asks here first."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager, suppress
from enum import StrEnum
from functools import partial
from typing import Protocol

from monitor.errors import JudgeFailed
from monitor.judge.limits.adaptive_window import AdaptiveConcurrency
from monitor.judge.limits.breaker import Breaker, BreakerSettings
from monitor.judge.limits.deadline import asking
from monitor.judge.limits.quota import LocalQuota, PerMinute, Quota, Reservation
from monitor.judge.limits.retry_after import LONGEST_BACKOFF_S, RetryAfter
from monitor.judge.provider.faults import CallFailed, Fault
from monitor.judge.provider.refusals import Action
from monitor.runtime.logs import logger


class ProviderState(StrEnum):
    """What is done about a model; the worst that holds."""

    JUDGING = "judging"
    WAITING = "waiting"
    CIRCUIT_OPEN = "circuit_open"
    STOPPED = "stopped"


def worst(states: Iterable[ProviderState]) -> ProviderState:
    """The one that is furthest from judging; at least one must be given."""
    return max(states, key=tuple(ProviderState).index)


class StateObserver(Protocol):
    """Who is told of a model's state."""

    def shown_by(self, model: str, state: Callable[[], ProviderState]) -> None:
        """Ask ``state`` whenever the state is to be shown."""

    def changed(self, model: str, state: ProviderState) -> None:
        """It pauses, or goes on."""


class ModelUnanswered(Exception):
    """The model does not answer for now, and another one does."""


class Call:
    """One question to a model: a request within the limits, or several, one after the other.

    ``tokens`` are those that the request under way has used, None where nobody says. ``settle`` is
    told them when it has ended; ``clock`` gives monotonic seconds.
    """

    def __init__(
        self,
        reserve: Callable[[], Awaitable[Reservation]],
        settle: Callable[[Reservation, int | None], None],
        clock: Callable[[], float],
    ) -> None:
        self._reserve, self._settle, self._clock = reserve, settle, clock
        self._request = ExitStack()
        self.tokens: int | None = None
        #: When the request under way was made; None while it waits for the limits.
        self.began: float | None = None

    async def begin(self) -> None:
        """Make a request, once the limits allow it."""
        reservation = await self._reserve()
        self.tokens, self.began = None, self._clock()
        self._request.callback(lambda: self._settle(reservation, self.tokens))
        self._request.enter_context(asking(lambda: self.tokens != 0))

    async def again(self) -> None:
        """Make another one: that before says nothing of the model, but counts in the limits."""
        self.end()
        await self.begin()

    def end(self) -> None:
        """The request has ended, if there is one."""
        self._request.close()
        self.began = None

    def failed(self, fault: Fault) -> None:
        """It gave no reply; what is refused before anything was computed has used nothing."""
        if fault.action is not Action.RETRY and self.tokens is None:
            self.tokens = 0


class ProviderGate:
    """The state of one model, shared by all that ask it.

    Judgements come in through ``judgement`` and wait there while the provider is away, has asked
    for patience, or bears no more of them. Their calls go through ``call``, which turns them away
    while judging has stopped, but for one probe at a time. ``clock`` gives monotonic seconds.
    """

    def __init__(
        self,
        model: str,
        breaker_settings: BreakerSettings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
        observe: StateObserver | None = None,
        quota: Quota | None = None,
    ) -> None:
        self.model = model
        self._quota = quota or LocalQuota(PerMinute(), clock)
        self._clock, self._observe = clock, observe
        self._breaker = Breaker(breaker_settings or BreakerSettings())
        self._window = AdaptiveConcurrency()
        self._retry_after = RetryAfter(clock, rng or random.Random())
        self._under_way = 0
        #: All that was ever asked of the model.
        self.requests = self.tokens = 0
        self._moved = asyncio.Event()
        self._reported = ProviderState.JUDGING
        if observe is not None:
            observe.shown_by(model, lambda: self.state)

    @property
    def state(self) -> ProviderState:
        """The worst that holds now."""
        if self._breaker.stopped is not None:
            return ProviderState.STOPPED
        if self._breaker.is_open:
            return ProviderState.CIRCUIT_OPEN
        waits = self._quota.waiting or self._retry_after.left_s > 0
        return ProviderState.WAITING if waits else ProviderState.JUDGING

    @property
    def answers(self) -> bool:
        """Whether judgements may begin, or soon; also when it is time to find out."""
        breaker = self._breaker
        if self._retry_after.is_too_long:
            return False  # its calls are turned away
        silent = breaker.is_open or breaker.stopped is not None
        return not silent or breaker.may_probe(self._clock())

    async def aclose(self) -> None:
        """Give back connections."""
        await self._quota.aclose()

    def count(self, tokens: int) -> None:
        """One request more was made, and has used so many tokens."""
        self.requests += 1
        self.tokens += tokens

    @asynccontextmanager
    async def judgement(self, leaves: Callable[[], bool] = lambda: False) -> AsyncIterator[None]:
        """Wait until the provider bears one more; it is one more while inside.

        Raises ``ModelUnanswered`` instead of waiting for one that does not answer, where the caller
        ``leaves``.
        """
        probe = await self._admission(leaves)
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if probe and self._breaker.stopped is None:  # else probes are single calls
                self._breaker.probed(self._clock())
            self._move()

    @asynccontextmanager
    async def call(self, task: str = "", size: int = 0) -> AsyncIterator[Call]:
        """A request of ``size`` bytes, made inside, or several; how the last one ends is noted.

        Waits for the limits. Raises ``CallFailed`` where none may be made.
        """
        probe = await self._turn()
        call = Call(partial(self._reserved, task, size), self._settle, self._clock)
        try:
            await call.begin()
            try:
                async with self._noted(call):
                    yield call
            finally:
                call.end()
        finally:
            if probe:
                self._breaker.probed(self._clock())
            self._move()

    def _settle(self, reservation: Reservation, tokens: int | None) -> None:
        self.count(tokens or 0)
        if tokens is not None:
            self._quota.settle(reservation, tokens)

    @asynccontextmanager
    async def _noted(self, call: Call) -> AsyncIterator[None]:
        try:
            yield
        except JudgeFailed as failure:
            if call.began is None:
                pass  # turned away before its next request
            elif isinstance(failure, CallFailed):
                self._failed(failure.fault, call.began)
                call.failed(failure.fault)
            else:  # an answer, if a bad one
                self._worked(call.began)
            raise
        else:
            if call.began is not None:
                self._worked(call.began)

    async def _reserved(self, task: str, size: int) -> Reservation:
        """What the limits allow, when the provider asks for no patience."""
        while True:
            await self._retry_after.waited()
            reservation = await self._quota.take(task, size)
            if not self._quota.waiting:
                self._move()  # the next judgement may begin
            if self._retry_after.left_s <= 0:
                return reservation
            self._quota.give_back(reservation)

    async def _admission(self, leaves: Callable[[], bool]) -> bool:
        """Whether the judgement that may begin now is the circuit's probe."""
        while True:
            now, breaker = self._clock(), self._breaker
            if not self.answers and leaves():
                raise ModelUnanswered
            if breaker.stopped is not None and breaker.probing:
                await self._until(None)  # or all would go on at once when it is answered
            elif breaker.stopped is not None:
                return False  # its calls are turned away: it fails at once, and offsets go on
            elif now < self._retry_after.until:
                # Others may answer before that, and nobody tells us.
                await self._until(min(self._retry_after.until, now + LONGEST_BACKOFF_S))
            elif breaker.is_open:
                if breaker.may_probe(now):
                    breaker.probing = True
                    return True
                await self._until(None if breaker.probing else breaker.probe_at)
            elif self._under_way >= self._window.size or self._quota.waiting:
                await self._until(None)
            else:
                return False

    async def _turn(self) -> bool:
        """Whether this call is the probe of a judge that has stopped."""
        breaker = self._breaker
        while breaker.stopped is not None:
            if breaker.may_probe(self._clock()):
                breaker.probing = True
                return True
            if not breaker.probing:
                raise CallFailed(breaker.stopped)
            await self._until(None)
        return False

    def _worked(self, began: float) -> None:
        self._retry_after.worked()
        self._breaker.worked(began)
        self._window.worked(self._under_way, began)

    def _failed(self, fault: Fault, began: float) -> None:
        now, breaker = self._clock(), self._breaker
        asked = breaker.stopped is None and not breaker.is_open
        breaker.failed(fault, began, now)
        if asked and (breaker.stopped is not None or breaker.is_open):
            self._window.begin_again(now)
        elif fault.action is Action.WAIT:
            self._window.refused(began, now)
        if fault.action is Action.WAIT:
            self._retry_after.refused(fault, began, now)

    async def _until(self, then: float | None) -> None:
        """Wait until ``then``, or until something moves."""
        timeout_s = None if then is None else max(0.0, then - self._clock())
        # Not wait_for: before Python 3.12 it swallows a cancellation that comes with the event.
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._moved.wait()

    def _move(self) -> None:
        """Wake all that wait, and say what has changed."""
        self._moved.set()
        self._moved = asyncio.Event()
        found = ProviderState.JUDGING if self.state is ProviderState.WAITING else self.state
        if found is self._reported:
            return
        self._reported = found
        why = self._breaker.stopped
        note = {} if why is None else {"reason": why.reason, "found": why.note}
        logger().warning("judge_state", model=self.model, state=found.value, **note)
        if self._observe is not None:
            self._observe.changed(self.model, found)
