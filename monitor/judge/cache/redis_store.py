"""A cache in Redis, which replicas share and which outlives them. The only importer of redis."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from monitor.errors import ConfigurationError
from monitor.judge.cache.store import StoreFailed

#: Larger values are not kept: one answer of a model is some kilobytes.
LARGEST_BYTES = 1_000_000

T = TypeVar("T")


class RedisStore:
    """Values under ``prefix:key``, each for ``ttl_s`` seconds; ``maxmemory`` bounds the server.

    A request takes at most ``timeout_s`` seconds. Raises ``ConfigurationError`` where the client
    library is missing or the address is none; the address is never quoted, it may hold a password.
    """

    def __init__(self, url: str, *, prefix: str, ttl_s: int, timeout_s: float) -> None:
        try:
            import redis.asyncio
            from redis.asyncio.retry import Retry
            from redis.backoff import NoBackoff
        except ImportError:
            raise ConfigurationError(
                "judge.cache.kind: redis needs an extra: pip install rag-monitor[redis]"
            ) from None
        self._prefix, self._ttl_s, self._timeout_s = prefix, ttl_s, timeout_s
        self._failures = redis.RedisError
        self._unreachable = (redis.ConnectionError, redis.TimeoutError)
        try:
            # Once more at once: a connection that was open when the server restarted is dead. No
            # timeouts of its own: on Python 3.11 they can swallow ours, and a cancellation.
            self._client = redis.asyncio.Redis.from_url(
                url,
                retry=Retry(NoBackoff(), 1),
                socket_timeout=None,
                socket_connect_timeout=None,
            )
        except ValueError:
            raise ConfigurationError(
                "judge.cache.url: no address that the redis client can read, expected one like "
                "redis://host:6379/0"
            ) from None

    async def get(self, key: str) -> bytes | None:
        """The value; raises ``StoreFailed``."""
        found = await self._asked(self._client.get(f"{self._prefix}:{key}"))
        return found.encode() if isinstance(found, str) else found  # an address can ask for texts

    async def put(self, key: str, value: bytes) -> None:
        """Keep a value from now on for the whole of its time; raises ``StoreFailed``."""
        if len(value) <= LARGEST_BYTES:
            await self._asked(self._client.set(f"{self._prefix}:{key}", value, ex=self._ttl_s))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _asked(self, request: Awaitable[T]) -> T:
        """The answer; the library's messages, which may hold an address, stay behind."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await request
        except (TimeoutError, OSError, *self._unreachable) as error:
            raise StoreFailed(type(error).__name__, away=True) from None
        except self._failures as error:
            raise StoreFailed(type(error).__name__, away=False) from None
