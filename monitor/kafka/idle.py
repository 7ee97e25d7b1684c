"""Reading that comes to nothing: a client whose broker goes away polls for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

Polled = TypeVar("Polled", bound=Mapping[Any, Any] | None)


class Silence:
    """How long polls have brought nothing, of which ``limit_s`` seconds are borne.

    What is done with records between two polls does not count.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s, self._lasted_s = limit_s, 0.0

    async def broken(self, poll: Awaitable[Polled]) -> Polled:
        """What a poll brings, None at the end.

        Raises ``TimeoutError`` where nothing has come for too long.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:  # a poll of a group that nobody coordinates does not end by itself
            async with asyncio.timeout(self._limit_s - self._lasted_s):
                found = await poll
        except TimeoutError:
            raise TimeoutError(f"nothing came for {self._limit_s:g} s") from None
        waits = found is not None and not found
        self._lasted_s = self._lasted_s + loop.time() - began if waits else 0.0
        return found
