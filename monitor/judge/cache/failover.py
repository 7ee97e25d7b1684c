"""A store that fails is left alone for a while: the judge never waits for its cache twice."""

from __future__ import annotations

from collections.abc import Callable

from monitor.judge.cache.store import CacheObserver, Store, StoreFailed
from monitor.runtime.logs import logger

PAUSE_S = 5.0


class Patient:
    """A ``Store`` that never raises: without the other there is nothing, and nothing is kept.

    After a failure to reach it the store is not asked for ``PAUSE_S`` seconds of ``clock``; what
    is left out so is counted as ``paused``.
    """

    def __init__(self, store: Store, observe: CacheObserver, clock: Callable[[], float]) -> None:
        self._store, self._observe, self._clock = store, observe, clock
        self._until: float | None = None

    async def get(self, key: str) -> bytes | None:
        """The value; None also while the store is away."""
        if self._is_pausing():
            return None
        try:
            found = await self._store.get(key)
        except StoreFailed as failure:
            self._failed(failure)
            return None
        self._works()
        return found

    async def put(self, key: str, value: bytes) -> None:
        """Keep it, if the store takes it."""
        if self._is_pausing():
            return
        try:
            await self._store.put(key, value)
        except StoreFailed as failure:
            self._failed(failure)
        else:
            self._works()

    async def aclose(self) -> None:
        """Close the store."""
        await self._store.aclose()

    def _is_pausing(self) -> bool:
        pausing = self._until is not None and self._clock() < self._until
        if pausing:
            self._observe.store_failed("paused")
        return pausing

    def _failed(self, failure: StoreFailed) -> None:
        self._observe.store_failed(failure.reason)
        if failure.away:
            self._until = self._clock() + PAUSE_S
        logger().warning(
            "judge_cache_failed",
            reason=failure.reason,
            what="judge.cache: judging goes on without it",
        )

    def _works(self) -> None:
        if self._until is not None:
            self._until = None
            logger().info("judge_cache_back")
