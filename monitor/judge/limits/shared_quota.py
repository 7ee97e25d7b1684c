"""Limits that all replicas share, and what holds while they cannot: each keeps to its part."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, Protocol

from monitor.errors import MonitorError
from monitor.judge.limits.deadline import held
from monitor.judge.limits.quota import LocalQuota, PerMinute, Reservation
from monitor.judge.limits.rates import WINDOW_S
from monitor.runtime.logs import logger

#: How long the store is left alone after it failed.
PAUSE_S = 2.0
#: Why it failed where it held what cannot be true.
ABSURD: Final = "absurd"
#: And where each time that was waited for was put off when it came.
PUT_OFF: Final = "put_off"
#: How long one call waits for the store, in times of what it would wait for with this replica's
#: part alone, or as a part of the window if that is more. By chance one in some thousand waits
#: longer, where all replicas ask all the time.
MOST_PARTS: Final = 8
LEAST: Final = 0.1
#: How many windows it takes until a time is believed again that is further away than that.
DISTRUST: Final = 10


class LimiterFailed(MonitorError):
    """The shared store did not answer; ``reason`` is a label value."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Limiter(Protocol):
    """One limit, kept where all replicas see it."""

    #: What is taken at once, or less. The same for all, or whoever asks for more never gets it.
    step: int

    async def take(self, cost: int) -> float:
        """0 when it was taken, else seconds until it is worth asking again.

        Raises ``LimiterFailed``.
        """


class QuotaObserver(Protocol):
    """Who is told how the shared store does."""

    def shared(self, model: str, yes: bool) -> None:
        """Whether the limits of this model are shared."""

    def failed(self, reason: str) -> None:
        """A request to the store failed."""


class SharedQuota:
    """A ``Quota`` of all replicas. Without the store each keeps to its ``share``: never to nothing.

    The change itself must exceed no limit. So whoever falls back behaves as if its part had been
    taken evenly over the last minute, whoever took it; and for a minute after the store is back,
    which may have forgotten everything, both limits hold. ``clock`` gives monotonic seconds.
    """

    def __init__(
        self,
        model: str,
        limits: PerMinute,
        limiters: tuple[Limiter | None, Limiter | None],
        observe: QuotaObserver,
        clock: Callable[[], float],
        share: Callable[[], float],
        window_s: float = WINDOW_S,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._model, self._observe, self._clock = model, observe, clock
        self._requests, self._tokens = limiters
        self._limits, self._share = limits, share
        self._window_s, self._close = window_s, close
        self._own = LocalQuota(limits, clock, window_s, share)
        self._first = asyncio.Lock()
        self._away = False
        self._ask_at = self._both_until = self._opens_at = float("-inf")
        self._replaced_at = self._trusts_at = float("-inf")
        self._wait_left_s = 0.0
        #: Tokens that calls have used beyond what was taken for them, or less.
        self._debt = 0
        self.waiting = 0
        observe.shared(model, True)

    async def take(self, task: str, size: int) -> Reservation:
        """Wait for it; the deadline of the judgement does not run meanwhile."""
        self.waiting += 1
        try:
            with held(self.left_s):
                async with self._first:
                    return await self._room(task, size)
        finally:
            self.waiting -= 1

    def settle(self, reservation: Reservation, tokens: int) -> None:
        """What was taken too much or too little is made up for by the next calls."""
        self._own.settle(reservation, tokens)
        if reservation.reserved is not None:
            self._debt += tokens - reservation.reserved

    def give_back(self, reservation: Reservation) -> None:
        """The next call has it."""
        self._own.give_back(reservation)
        self._debt -= reservation.reserved or 0

    def used_ratio(self, limit: str) -> float:
        """Of the minute that ends now, by this process, of its part of the whole."""
        return self._own.used_ratio(limit)

    async def aclose(self) -> None:
        """Close the store."""
        if self._close is not None:
            await self._close()

    def left_s(self) -> float:
        """Seconds until the next call can go, at the earliest."""
        return max(self._own.left_s(), self._opens_at - self._clock())

    async def _room(self, task: str, size: int) -> Reservation:
        reservation: Reservation | None = None
        now = self._clock()
        if self._away and now < self._ask_at:
            return await self._own.room(task, size)
        if now < self._both_until:
            reservation = await self._own.room(task, size)
        try:
            taken = await self._shared_again(task, size)
        except LimiterFailed as failure:
            self._fall_back(failure)
            return reservation or await self._own.room(task, size)
        self._is_back()
        return replace(reservation or self._own.note(task, size), reserved=taken)

    async def _shared_again(self, task: str, size: int) -> int:
        """As ``_shared``; where it held what cannot be true it is as good as one that forgot it.

        Whoever kept to its part instead would do so beside the others, who have all of it. Only
        when that happens again within a window is there no relying on it.
        """
        try:
            return await self._shared(task, size)
        except LimiterFailed as failure:
            now = self._clock()
            if failure.reason != ABSURD or self._away:
                raise
            before, self._replaced_at = self._replaced_at, now
            if now < before + self._window_s:
                raise
        self._observe.failed(ABSURD)
        self._both_until = now + self._window_s
        logger().warning(
            "limits_replaced",
            model=self._model,
            reason=ABSURD,
            what="limits.redis held an impossible value, which was removed: its clock was "
            "set back, or another program writes keys with limits.redis.prefix",
        )
        return await self._shared(task, size)

    async def _shared(self, task: str, size: int) -> int:
        """The tokens that were reserved of the limit of all."""
        estimate = self._own.estimate(task, size)
        self._wait_left_s = self._longest_wait_s(max(0, self._debt) + estimate)
        if self._requests is not None:
            await self._taken(self._requests, 1)
        if self._tokens is None:
            return estimate
        self._debt += estimate
        try:
            while self._debt >= 1:
                self._debt -= await self._taken(self._tokens, self._debt)
        except BaseException:
            self._debt -= estimate
            raise
        return estimate

    async def _taken(self, limiter: Limiter, wanted: int) -> int:
        amount = min(limiter.step, wanted)
        while True:
            wait_s = await limiter.take(amount)
            if wait_s <= 0:
                return amount
            if not wait_s <= self._window_s:  # nothing of a minute's limit is that far away
                raise LimiterFailed(ABSURD)
            self._wait_left_s -= wait_s
            if self._wait_left_s < 0:
                self._trusts_at = self._clock() + DISTRUST * self._window_s
                raise LimiterFailed(PUT_OFF)
            self._opens_at = self._clock() + wait_s
            await asyncio.sleep(wait_s)

    def _longest_wait_s(self, tokens: int) -> float:
        """How many seconds a call of so many tokens waits for the store, all its waits together.

        A window more, where no time was put off lately: what is that far away may be true, where
        the clock was set back, or other replicas had a smaller limit.
        """
        wanted = (1, self._limits.requests), (tokens, self._limits.tokens)
        parts = max(amount / limit for amount, limit in wanted if limit) / self._share()
        trusted = 1.0 if self._clock() >= self._trusts_at else 0.0
        return self._window_s * (trusted + max(LEAST, MOST_PARTS * parts))

    def _fall_back(self, failure: LimiterFailed) -> None:
        self._ask_at = self._clock() + PAUSE_S
        self._observe.failed(failure.reason)
        if self._away:
            return
        self._away, self._debt = True, 0
        self._own.fill()
        self._observe.shared(self._model, False)
        logger().error(
            "limits_not_shared",
            model=self._model,
            reason=failure.reason,
            what="limits.redis: each replica keeps to its part of the limits",
        )

    def _is_back(self) -> None:
        if self._away:
            self._away = False
            self._both_until = self._clock() + self._window_s
            self._observe.shared(self._model, True)
            logger().info("limits_shared", model=self._model)
