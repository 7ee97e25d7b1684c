"""A limit in Redis, which replicas share: GCRA by throttled-py. The only importer of throttled."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from datetime import timedelta
from functools import cache, partial
from typing import Any, Final

from monitor.errors import ConfigurationError
from monitor.judge.limits.shared_quota import ABSURD, LimiterFailed

#: Of a minute's limit what may be taken at once: more would be exceeded by so much, or wasted.
_BURST = 1 / 40
_STEPS = 8
_MINUTE = 60
#: Clocks differ by less than that, in seconds, where nobody has set one.
_SLACK_S = 1.0
#: Goes before the library's script, in the same step: what stands under the key is the time (by
#: Redis's clock, from 2025 on) until which it is taken. A time beyond the window, no number, or no
#: text at all was not written by it, or the clock has been set back since: whoever believed it
#: would wait for years, or not at all. It is removed, and the answer is a wait of -1.
_GUARD: Final = """
    local held = redis.pcall("GET", KEYS[1])
    if held then
        local absurd = true
        if type(held) ~= "table" then
            local clock = redis.call("TIME")
            local left = (tonumber(held) or 0 / 0) - (clock[1] - 1735660800 + clock[2] / 1000000)
            absurd = not (left > -math.huge and left <= %(longest_s)s)
        elseif not string.find(held.err or "", "WRONGTYPE", 1, true) then
            return held
        end
        if absurd then
            redis.call("DEL", KEYS[1])
            return {1, 0, "0", "-1"}
        end
    end
"""


class RedisLimits:
    """The limiters of one Redis. A request takes at most ``timeout_s`` seconds.

    Raises ``ConfigurationError`` where a library is missing or the address is none; the address is
    never quoted, it may hold a password.
    """

    def __init__(self, url: str, *, prefix: str, timeout_s: float, window_s: int = _MINUTE) -> None:
        try:
            from throttled.asyncio import store

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
        self._made = partial(_guarded(window_s), store=self._store, key_prefix=prefix)
        self._timeout_s, self._window_s = timeout_s, window_s

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose(close_connection_pool=True)

    def limiter(self, name: str, per_minute: int | None) -> RedisLimiter | None:
        """That of a limit; None where there is none."""
        if per_minute is None:
            return None
        return RedisLimiter(self._made, name, per_minute, self._timeout_s, self._window_s)


@cache
def _guarded(window_s: int) -> Callable[..., Any]:
    """The library's limiter, which believes no time beyond the window."""
    from throttled.asyncio import RateLimiterRegistry
    from throttled.asyncio.rate_limiter.gcra import RedisLimitAtomicAction

    class Guarded(RedisLimitAtomicAction):  # type: ignore[misc]
        SCRIPTS = _GUARD % {"longest_s": window_s + _SLACK_S} + RedisLimitAtomicAction.SCRIPTS

    return partial(RateLimiterRegistry.get("gcra"), additional_atomic_actions=[Guarded])


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
        self._limiter, self._key = made(quota), key
        self._timeout_s, self._window_s = timeout_s, window_s

    async def take(self, cost: int) -> float:
        """0 when it was taken, else seconds to wait, at most the window; raises ``LimiterFailed``.

        Its reason is ``absurd`` where what Redis held could not be true; it is removed then.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await self._limiter.limit(self._key, cost)
        except TimeoutError:  # its cause is how `timeout` ends what it waits for
            raise LimiterFailed("TimeoutError") from None
        except Exception as error:  # noqa: BLE001 - those of the client, and they may hold its address
            # Away, or a wrong password? The library calls it all unavailable.
            raise LimiterFailed(type(error.__cause__ or error).__name__) from None
        if not found.limited:
            return 0.0
        wait_s = float(found.state.retry_after)
        if not 0 <= wait_s < math.inf:
            raise LimiterFailed(ABSURD)
        # A hundredth more: it is rounded on its way.
        return min(max(0.01, math.ceil(wait_s * 100) / 100), self._window_s)
