"""What a cache keeps its values in, and who hears how it does."""

from __future__ import annotations

from typing import Literal, Protocol

from monitor.errors import MonitorError

What = Literal["claims", "judgement"]
#: ``shared``: somebody else was just asking for the same, and this one waited for that answer.
Result = Literal["hit", "shared", "miss"]


class StoreFailed(MonitorError):
    """The store did not do it; ``reason`` names the error, and no value.

    ``away`` says that it cannot be reached, so that the next request is likely to fail, too.
    """

    def __init__(self, reason: str, *, away: bool) -> None:
        super().__init__(f"the cache failed: {reason}")
        self.reason, self.away = reason, away


class Store(Protocol):
    """Bytes by key, for a while. What was put may be gone at any time."""

    async def get(self, key: str) -> bytes | None:
        """What was put last under this key; None: nothing, or no longer. ``StoreFailed``."""

    async def put(self, key: str, value: bytes) -> None:
        """Keep a value in place of an earlier one; one too large is not kept. ``StoreFailed``."""

    async def aclose(self) -> None:
        """Give back connections."""


class CacheObserver(Protocol):
    """Where the cache reports its own health."""

    def looked_up(self, what: What, result: Result) -> None:
        """Something was looked up."""

    def store_failed(self, reason: str) -> None:
        """A request to the store failed; the judge went on without it."""
