"""Single-flight: what several ask for at the same time is made once.

Nobody is harmed by who happens to be first: whoever makes a value and fails, or is cancelled,
fails alone, and one of those who waited makes it then. A waiting one can be cancelled at any time
and takes nobody along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

#: Flights that come to nothing before one who waits goes alone, while there is time left.
ATTEMPTS = 2
#: How long one flight is waited for: far longer than a call takes, and not a whole deadline.
TIMEOUT_S = 15.0


@dataclass(eq=False, slots=True)
class Flight(Generic[T]):
    """One making of a value; ``value`` is None until it has landed, and when it never did."""

    value: T | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Flights(Generic[T]):
    """What is being made right now, by key. A value is never None.

    Whoever has waited ``timeout_s`` seconds for another goes alone.
    """

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._open: dict[str, Flight[T]] = {}

    def __len__(self) -> int:
        return len(self._open)

    async def join(self, key: str, make: Callable[[], Awaitable[T]]) -> tuple[T, Flight[T] | None]:
        """The value, and the flight if it was this caller who made it.

        The maker must give the flight to ``leave``; until then newcomers get the same value.
        Raises what ``make`` raises, when it was this caller's.
        """
        for _ in range(ATTEMPTS):
            flight = self._open.get(key)
            if flight is None or not await self._is_over(flight):
                break
            if flight.value is not None:
                return flight.value, None
        own = Flight[T]()
        self._open.setdefault(key, own)  # going alone it stays out of the way of the other
        try:
            own.value = await make()
        except BaseException:
            self.leave(key, own)
            raise
        finally:
            own.over.set()
        return own.value, own

    async def _is_over(self, flight: Flight[T]) -> bool:
        try:
            async with asyncio.timeout(self._timeout_s):
                await flight.over.wait()
        except TimeoutError:
            return False
        return True

    def leave(self, key: str, flight: Flight[T]) -> None:
        """From now on newcomers make the value anew, or find it where it has been kept."""
        if self._open.get(key) is flight:
            del self._open[key]
