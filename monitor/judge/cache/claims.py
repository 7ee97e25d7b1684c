"""The claims of texts, extracted once for all interactions that hold the same text.

Claims are kept only once a judgement has found that their own text supports at least one of them:
a bad extraction must not stay. Until then those who need the same text at the same time share the
same claims, and each checks them in a judgement of its own.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from monitor.errors import ReplyRejected
from monitor.judge.cache.flights import Flight, Flights
from monitor.judge.cache.store import CacheObserver, Store
from monitor.judge.parsing import ExtractRequest

Extract = Callable[[], Awaitable[tuple[str, ...]]]


@dataclass(eq=False, slots=True)
class _Found:
    """Claims that those who asked at the same time share.

    ``stored``: they came from the store; ``kept``: it has them by now.
    """

    claims: tuple[str, ...]
    stored: bool
    kept: bool


class ClaimsCache:
    """Shared by all judgements that use one store."""

    def __init__(self, store: Store, observe: CacheObserver) -> None:
        self._store, self._observe = store, observe
        self._flights = Flights[_Found]()

    def borrow(self) -> Borrowing:
        """The cache as one judgement uses it, from its beginning to its end."""
        return Borrowing(self._store, self._observe, self._flights)


class Borrowing:
    """What one judgement takes from the cache, and gives back; a context manager.

    Keys are those of ``keys.claims_key``. When it is left, whether or not the judgement succeeded,
    nobody waits for it any more.
    """

    def __init__(self, store: Store, observe: CacheObserver, flights: Flights[_Found]) -> None:
        self._store, self._observe, self._flights = store, observe, flights
        self._found: dict[str, _Found] = {}
        self._led: dict[str, Flight[_Found]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for key in list(self._led):
            self.disown(key)

    async def claims(self, key: str, extract: Extract) -> tuple[str, ...]:
        """The kept claims, or those that somebody is just extracting, or ``extract``'s.

        Raises what ``extract`` raises, if it was called.
        """

        async def find() -> _Found:
            stored = _read(await self._store.get(key))
            if stored is not None:
                return _Found(stored, stored=True, kept=True)
            self._observe.looked_up("claims", "miss")
            return _Found(await extract(), stored=False, kept=False)

        found, flight = await self._flights.join(key, find)
        if found.stored or flight is None:
            self._observe.looked_up("claims", "hit" if found.stored else "shared")
        self._found[key] = found
        if flight is not None:
            self._led[key] = flight
            if found.stored:  # newcomers find it where this one has
                self.disown(key)
        return found.claims

    async def confirm(self, key: str, claims: tuple[str, ...]) -> None:
        """Keep claims of which at least one was found to be supported by their own text."""
        found = self._found.get(key)
        if found is None or not found.kept or found.claims != claims:
            if found is not None and found.claims == claims:
                found.kept = True  # those who share them need not keep them again
            await self._store.put(key, json.dumps({"claims": claims}).encode())
        self.disown(key)

    def disown(self, key: str) -> None:
        """Newcomers no longer share the claims of this judgement."""
        if (flight := self._led.pop(key, None)) is not None:
            self._flights.leave(key, flight)


def _read(value: bytes | None) -> tuple[str, ...] | None:
    """Held to what a model's answer is held to: others may write to the store."""
    if value is None:
        return None
    try:
        return ExtractRequest("", "").read(value.decode())
    except (ReplyRejected, UnicodeDecodeError):
        return None
