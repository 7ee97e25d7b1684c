"""OAuth tokens: one at a time for all clients, and the next one before the last one ends."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from aiokafka.abc import AbstractTokenProvider

from monitor.runtime.logs import logger

#: Shares of a token's life: when the next one is fetched, and when this one is used no more.
REFRESH_AT, USED_UNTIL = 0.8, 0.95
FETCH_LIMIT_S = 10.0
LONGEST_WAIT_S = 30.0
_USABLE = re.compile(r"[\x21-\x7e]+")


class TokenUnavailable(OSError):
    """No token came; the message says from where and why, and never a secret.

    An ``OSError``, for aiokafka takes those for a connection that can be tried again.
    """


class TokenRefused(TokenUnavailable):
    """Whoever gives tokens has said no, and will say so again."""


class Token(NamedTuple):
    """A token, and how long it lives from when it was asked for.

    ``life_s`` None: nobody said; it is used for one connection.
    """

    value: str
    life_s: float | None


class Tokens(AbstractTokenProvider):
    """What aiokafka asks for a token at every connection; to be shared by all clients.

    ``fetch`` gets a token from ``source`` (its name in messages). Connections that come meanwhile
    wait for the same fetch, for ``limit_s`` seconds. ``clock`` gives monotonic seconds.
    """

    def __init__(
        self,
        fetch: Callable[[], Awaitable[Token]],
        source: str,
        extensions: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        limit_s: float = FETCH_LIMIT_S,
    ) -> None:
        self._fetch, self._source, self._limit_s = fetch, source, limit_s
        self._extensions, self._clock = dict(extensions or {}), clock
        self._value, self._used_until = "", float("-inf")
        self._task: asyncio.Task[Token] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0

    async def token(self) -> str:
        """A token that has not expired.

        Raises ``TokenUnavailable``.
        """
        if self._clock() < self._used_until:
            return self._value
        # Shielded: one connection's time-out does not end the fetch that others wait for.
        return (await asyncio.shield(self._fetching())).value

    def extensions(self) -> dict[str, str]:
        """What goes to the broker beside the token."""
        return self._extensions

    def _fetching(self) -> asyncio.Task[Token]:
        loop = asyncio.get_running_loop()
        task = self._task
        if task is None or task.done() or task.get_loop() is not loop:
            task = self._task = loop.create_task(self._fetch_now())
            task.add_done_callback(self._settle)
        return task

    async def _fetch_now(self) -> Token:
        asked_at = self._clock()
        try:
            async with asyncio.timeout(self._limit_s):
                token = await self._fetch()
        except TimeoutError:
            raise TokenUnavailable(
                f"{self._source}: no token within {self._limit_s:.0f} s"
            ) from None
        if not _USABLE.fullmatch(token.value):
            raise TokenRefused(f"{self._source}: its reply is no token")
        if token.life_s is not None:
            self._value, self._used_until = token.value, asked_at + USED_UNTIL * token.life_s
        return token

    def _settle(self, task: asyncio.Task[Token]) -> None:
        """When to fetch again: early, so that a source that is away for a while does no harm."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self._failures += 1
            logger().warning("kafka_token_unavailable", what=self._source, error=str(error))
            wait_s = min(2.0**self._failures, LONGEST_WAIT_S)
            if not self._value:  # nothing to renew: whoever needs a token comes again
                return
        else:
            self._failures, life_s = 0, task.result().life_s
            if life_s is None:
                return
            wait_s = max(REFRESH_AT * life_s, 1.0)
        self._timer = task.get_loop().call_later(wait_s, self._fetching)
