"""Waiting for the requests and tokens a minute that a model may be asked: first come, first go."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from monitor.judge.limits.deadline import held
from monitor.judge.limits.rates import WINDOW_S, Rate, Taken, TokenEstimate

#: A sixth of the window may see one and a half times its part.
PARTS, BURST = 6, 1.5
#: How much later than the others a request is believed to come in: a new connection, a full loop.
LATEST_S = 2.0


@dataclass(frozen=True, slots=True)
class PerMinute:
    """Limits of one model; None: unlimited."""

    requests: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one call has taken: of requests and of tokens, each of several windows.

    ``reserved`` are the tokens taken of a limit that replicas share; None: none.
    """

    task: str
    size: int
    requests: tuple[Taken, ...] = ()
    tokens: tuple[Taken, ...] = ()
    reserved: int | None = None


class Quota(Protocol):
    """Where calls wait for their share."""

    @property
    def waiting(self) -> int:
        """Calls that wait."""

    async def take(self, task: str, size: int) -> Reservation:
        """Wait for one request and the tokens of ``size`` bytes of messages."""

    def settle(self, reservation: Reservation, tokens: int) -> None:
        """The call used so many tokens. Never told, it used what was estimated."""

    def give_back(self, reservation: Reservation) -> None:
        """The call was not made."""

    def used_ratio(self, limit: str) -> float:
        """Used share of ``requests_per_minute`` or ``tokens_per_minute``."""

    async def aclose(self) -> None:
        """Give back connections."""


class EasedShare:
    """A share that becomes larger when it has been for a whole window, and smaller at once.

    What others have taken by theirs counts for so long with whoever counts a sliding window.

    >>> share = EasedShare(60.0)
    >>> [share.at(now, part) for now, part in [(0, 0.5), (1, 1.0), (60, 1.0), (61, 1.0), (62, 0.5)]]
    [0.5, 0.5, 0.5, 1.0, 0.5]
    """

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._since: deque[tuple[float, float]] = deque()

    def at(self, now: float, share: float) -> float:
        """The least share of the window that ends now; ``share`` holds from now on."""
        since = self._since
        while since and since[-1][1] > share:
            since.pop()
        if not since or since[-1][1] < share:
            since.append((now, share))
        while len(since) > 1 and since[1][0] <= now - self._window_s:
            since.popleft()
        return since[0][1]


class LocalQuota:
    """A ``Quota`` of this process alone; ``clock`` gives monotonic seconds.

    A minute's worth is not spent at once: of any ten seconds at most one and a half times their
    part, since providers may look at less than a minute. ``share`` is the part of the limits that
    this process keeps to, over 0 and up to 1; a larger one holds a window later. ``inherits``: its
    first call is made as if the part had been taken evenly over the window before, since another
    process may have: one that was killed, or one whose part it takes over.
    """

    def __init__(
        self,
        limits: PerMinute,
        clock: Callable[[], float],
        window_s: float = WINDOW_S,
        share: Callable[[], float] = lambda: 1.0,
        *,
        inherits: bool = False,
    ) -> None:
        self._clock, self._share, self._inherits = clock, share, inherits
        self._eased = EasedShare(window_s)
        self._requests = _rates(limits.requests, window_s)
        self._tokens = _rates(limits.tokens, window_s)
        self._estimates: dict[str, TokenEstimate] = {}
        self._quickest_s = float("inf")
        self._first = asyncio.Lock()
        self._settled = asyncio.Event()
        self._opens_at = float("-inf")
        self.waiting = 0

    async def take(self, task: str, size: int) -> Reservation:
        """Wait for it; the deadline of the judgement does not run meanwhile."""
        if not self._requests and not self._tokens:
            return Reservation(task, size)
        self.waiting += 1
        try:
            with held(self.left_s):
                async with self._first:
                    return await self.room(task, size)
        finally:
            self.waiting -= 1

    def settle(self, reservation: Reservation, tokens: int) -> None:
        """Put the actual tokens in the place of the estimate, and the time at which it came in.

        A request that took longer than others may have come in late, and is counted from then.
        """
        self._estimate(reservation.task).learn(reservation.size, tokens)
        now = self._clock()
        for taken in reservation.tokens:
            taken.amount = tokens
        for taken in (*reservation.requests, *reservation.tokens):
            self._quickest_s = min(self._quickest_s, now - taken.at)
            late_s = now - self._quickest_s - taken.at
            taken.at += min(max(late_s, 0.0), LATEST_S)
        self._settled.set()

    def give_back(self, reservation: Reservation) -> None:
        """Nothing was taken."""
        for taken in (*reservation.requests, *reservation.tokens):
            taken.amount = 0
        self._settled.set()

    def used_ratio(self, limit: str) -> float:
        """Of the minute that ends now, by this process, of its share."""
        rates = self._requests if limit == "requests_per_minute" else self._tokens
        return rates[0].used(self._clock()) / rates[0].limit if rates else 0.0

    async def aclose(self) -> None:
        """Nothing to give back."""

    def left_s(self) -> float:
        """Seconds until the next call can go, unless one gives back some of what it has taken."""
        return self._opens_at - self._clock()

    def estimate(self, task: str, size: int) -> int:
        """Tokens to reserve."""
        return self._estimate(task).of(size)

    def note(self, task: str, size: int) -> Reservation:
        """It is taken, whether or not there was room."""
        now, tokens = self._clock(), self.estimate(task, size)
        return Reservation(
            task,
            size,
            tuple(rate.take(now, 1) for rate in self._requests),
            tuple(rate.take(now, tokens) for rate in self._tokens),
        )

    def fill(self) -> None:
        """As if the whole share had been taken evenly over the last window."""
        self._scale()
        now = self._clock()
        for rate in (*self._requests[:1], *self._tokens[:1]):
            rate.fill(now)

    def _scale(self) -> None:
        share = self._eased.at(self._clock(), self._share())
        for rate in (*self._requests, *self._tokens):
            rate.scale(share)

    async def room(self, task: str, size: int) -> Reservation:
        """Wait for it; callers come one at a time."""
        if self._inherits:  # not before the first call: a share is known by then
            self._inherits = False
            self.fill()
        while True:
            self._scale()
            now, tokens = self._clock(), self.estimate(task, size)
            waits = [rate.wait_s(now, 1) for rate in self._requests]
            waits += [rate.wait_s(now, tokens) for rate in self._tokens]
            if max(waits) <= 0:
                return self.note(task, size)
            self._opens_at = now + max(waits)
            self._settled.clear()
            # Not wait_for: before Python 3.12 it swallows a cancellation that comes with the event.
            with suppress(TimeoutError):
                async with asyncio.timeout(max(waits)):
                    await self._settled.wait()

    def _estimate(self, task: str) -> TokenEstimate:
        return self._estimates.setdefault(task, TokenEstimate())


def _rates(limit: int | None, window_s: float) -> tuple[Rate, ...]:
    """That of the whole window first, then that of a burst."""
    if limit is None:
        return ()
    burst = Rate(math.ceil(limit * BURST / PARTS), window_s / PARTS)
    return Rate(limit, window_s), burst
