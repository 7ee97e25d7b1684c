"""A limit in Redis, which replicas share: GCRA by throttled-py. The only importer of throttled."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from monitor.errors import ConfigurationError
from monitor.judge.shared_quota import LimiterFailed

#: Of a minute's limit what may be taken at once: more would be exceeded by so much, or wasted.
_BURST = 1 / 40
_STEPS = 8
_MINUTE = 60


class RedisLimits:
    """The limiters of one Redis. A request takes at most ``timeout_s`` seconds.

    Raises ``ConfigurationError`` where a library is missing or the address is none; the address is
    never quoted, it may hold a password.
    """

    def __init__(self, url: str, *, prefix: str, timeout_s: float, window_s: int = _MINUTE) -> None:
        try:
            from throttled.asyncio import Throttled, store

            # None of the client's own time limits: before Python 3.12 those swallow cancellations.
            unlimited = {"socket_timeout": None, "socket_connect_timeout": None}
            options = {"CONNECTION_POOL_KWARGS": unlimited}
            self._store: Any = store.RedisStore(server=url, options=options)
            self._client = self._store._backend.get_client()  # where an address is read
        except ImportError:
            raise ConfigurationError(
                "limits.redis needs an extra: pip install rag-monitor[redis]"
            ) from None
        except ValueError:
            raise ConfigurationError(
                "limits.redis.url: no address that the redis client can read, expected one like "
                "redis://host:6379/0"
            ) from None
        # The library's own prefix would stand before ours, where no right to keys expects it.
        self._made = partial(Throttled, using="gcra", store=self._store, key_prefix=prefix)
        self._timeout_s, self._window_s = timeout_s, window_s

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose(close_connection_pool=True)

    def limiter(self, name: str, per_minute: int | None) -> RedisLimiter | None:
        """That of a limit; None where there is none."""
        if per_minute is None:
            return None
        return RedisLimiter(self._made, name, per_minute, self._timeout_s, self._window_s)


class RedisLimiter:
    """A ``Limiter``: paced, so that no 60 seconds see more than ``per_minute``.

    A burst of b and a pace of (limit - 2b) a minute: the second b is for a Redis that has
    forgotten the first. https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm
    """

    def __init__(
        self, made: Callable[..., Any], key: str, per_minute: int, timeout_s: float, window_s: int
    ) -> None:
        from throttled.asyncio import rate_limiter

        burst = max(1, int(per_minute * _BURST))
        self.step = max(1, burst // _STEPS)
        pace = max(1, per_minute - 2 * burst)
        quota = rate_limiter.per_duration(timedelta(seconds=window_s), pace, burst)
        self._throttled = made(key=key, quota=quota)
        self._timeout_s = timeout_s

    async def take(self, cost: int) -> float:
        """0 when it was taken, else seconds to wait; raises ``LimiterFailed``."""
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await self._throttled.limit(cost=cost)
        except Exception as error:  # noqa: BLE001 - those of the client, and they may hold its address
            # Away, or a wrong password? The library calls it all unavailable.
            raise LimiterFailed(type(error.__cause__ or error).__name__) from None
        if not found.limited:
            return 0.0
        # A hundredth more: it is rounded on its way.
        return max(0.01, math.ceil(float(found.state.retry_after) * 100) / 100)
