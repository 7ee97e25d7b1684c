"""Waiting for the requests and tokens a minute that a model may be asked: first come, first go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from monitor.judge.deadline import held
from monitor.judge.rates import Rate, Taken, TokenEstimate


@dataclass(frozen=True, slots=True)
class PerMinute:
    """Limits of one model; None: unlimited."""

    requests: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """What one call has taken."""

    requests: Taken | None
    tokens: Taken | None
    task: str
    size: int


class Quota(Protocol):
    """Where calls wait for their share."""

    @property
    def waiting(self) -> int:
        """Calls that wait."""

    async def take(self, task: str, size: int) -> Share:
        """Wait for one request and the tokens of ``size`` bytes of messages."""

    def settle(self, share: Share, tokens: int) -> None:
        """The call used so many tokens. Never told, it used what was estimated."""

    def give_back(self, share: Share) -> None:
        """The call was not made."""

    def used_ratio(self, limit: str) -> float:
        """Used share of ``requests_per_minute`` or ``tokens_per_minute``."""


class LocalQuota:
    """A ``Quota`` of this process alone; ``clock`` gives monotonic seconds."""

    def __init__(self, limits: PerMinute, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._requests = Rate(limits.requests) if limits.requests else None
        self._tokens = Rate(limits.tokens) if limits.tokens else None
        self._estimates: dict[str, TokenEstimate] = {}
        self._first = asyncio.Lock()
        self._settled = asyncio.Event()
        self.waiting = 0

    async def take(self, task: str, size: int) -> Share:
        """Wait for it; the deadline of the judgement does not run meanwhile."""
        if self._requests is None and self._tokens is None:
            return Share(None, None, task, size)
        tokens = self._estimate(task).of(size)
        self.waiting += 1
        try:
            with held():
                async with self._first:
                    return await self._room(task, size, tokens)
        finally:
            self.waiting -= 1

    def settle(self, share: Share, tokens: int) -> None:
        """Put the actual tokens in the place of the estimate."""
        self._estimate(share.task).learn(share.size, tokens)
        if share.tokens is not None:
            share.tokens.amount = tokens
        self._settled.set()

    def give_back(self, share: Share) -> None:
        """Nothing was taken."""
        for taken in (share.requests, share.tokens):
            if taken is not None:
                taken.amount = 0
        self._settled.set()

    def used_ratio(self, limit: str) -> float:
        """Of the minute that ends now."""
        rate = self._requests if limit == "requests_per_minute" else self._tokens
        return rate.used(self._clock()) / rate.limit if rate is not None else 0.0

    async def _room(self, task: str, size: int, tokens: int) -> Share:
        while True:
            now = self._clock()
            wait_s = max(
                self._requests.wait_s(now, 1) if self._requests else 0.0,
                self._tokens.wait_s(now, tokens) if self._tokens else 0.0,
            )
            if wait_s <= 0:
                return Share(
                    self._requests.take(now, 1) if self._requests else None,
                    self._tokens.take(now, tokens) if self._tokens else None,
                    task,
                    size,
                )
            self._settled.clear()
            try:
                await asyncio.wait_for(self._settled.wait(), wait_s)
            except TimeoutError:
                continue

    def _estimate(self, task: str) -> TokenEstimate:
        return self._estimates.setdefault(task, TokenEstimate())
