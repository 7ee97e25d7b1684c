"""The claims of texts, extracted once for all interactions that hold the same text.

Claims are kept only once a judgement has found that their own text supports at least one of them:
a bad extraction must not stay. Until then those who need the same text at the same time share the
same claims, and each checks them in a judgement of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from monitor.errors import ReplyRejected
from monitor.judge.cache.flights import Flight, Flights
from monitor.judge.cache.keys import claims_key
from monitor.judge.cache.store import CacheObserver, Store
from monitor.judge.pipeline import parsing
from monitor.judge.pipeline.extraction import Extract, Extraction
from monitor.judge.pipeline.parsing import ExtractRequest
from monitor.judge.protocol import CostMeter

QuestionAndText = tuple[str, str]
"""Question and text."""


@dataclass(eq=False, slots=True)
class _SharedClaims:
    """Claims that those who asked at the same time share; ``key`` is where they belong.

    ``stored``: they came from the store; ``kept``: it has them by now.
    """

    claims: tuple[str, ...]
    key: str
    stored: bool = False
    kept: bool = False


class ClaimsCache:
    """Shared by all judges that use one store."""

    def __init__(self, store: Store, observe: CacheObserver) -> None:
        self.store, self.observe = store, observe
        self.flights = Flights[_SharedClaims]()


class CachedExtractor:
    """An ``Extract`` that keeps what another one has found.

    ``version`` is everything but the text that decides what its claims are, as known at the moment:
    the model that answered last is a part of it.
    """

    def __init__(
        self, extract: Extract, cache: ClaimsCache, version: Callable[[], tuple[str, ...]]
    ) -> None:
        self._extract, self._cache, self._version = extract, cache, version

    def for_one(self) -> Borrowing:
        """The cache as one judgement uses it."""
        return Borrowing(self._extract, self._cache, self._key)

    def _key(self, text: QuestionAndText) -> str:
        return claims_key(self._version(), *text)


class Borrowing:
    """What one judgement takes from the cache, and gives back: an ``Extraction`` to be entered.

    When it is left, whether or not the judgement succeeded, nobody waits for it any more.
    """

    def __init__(
        self, extract: Extract, cache: ClaimsCache, key: Callable[[QuestionAndText], str]
    ) -> None:
        self._scope, self._cache, self._key = extract.for_one(), cache, key
        self._found: dict[QuestionAndText, _SharedClaims] = {}
        self._led: dict[QuestionAndText, tuple[str, Flight[_SharedClaims]]] = {}

    def __enter__(self) -> Self:
        self._source: Extraction = self._scope.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for text in list(self._led):
            self._let_go(text)
        self._scope.__exit__(kind, error, trace)

    async def claims(
        self, question: str, text: str, spent: CostMeter, *, fresh: bool = False
    ) -> tuple[str, ...]:
        """The kept claims, or those that somebody is just asking for, or newly asked ones.

        ``fresh`` ones are asked for, whatever is kept; those that were shared are no longer.
        """
        if not parsing.has_words(text):
            return ()
        whole = (question, text)
        if fresh:
            self._let_go(whole)
            self._found[whole] = await self._asked(whole, spent, fresh=True)
        else:
            self._found[whole] = await self._looked_up(whole, spent)
        return self._found[whole].claims

    async def vouch(self, question: str, text: str, claims: tuple[str, ...]) -> None:
        """Keep the claims of a text, unless they are; ones that are not from here are not kept."""
        found = self._found.get((question, text))
        if found is not None and found.claims == claims and not found.kept:
            found.kept = True  # those who share them need not keep them again
            await self._cache.store.put(found.key, json.dumps({"claims": claims}).encode())
        self._let_go((question, text))

    async def _looked_up(self, text: QuestionAndText, spent: CostMeter) -> _SharedClaims:
        key, observe = self._key(text), self._cache.observe

        async def find() -> _SharedClaims:
            stored = _read(await self._cache.store.get(key))
            if stored is not None:
                return _SharedClaims(stored, key, stored=True, kept=True)
            observe.looked_up("claims", "miss")
            return await self._asked(text, spent)

        found, flight = await self._cache.flights.join(key, find)
        if found.stored or flight is None:
            observe.looked_up("claims", "hit" if found.stored else "shared")
        if flight is not None:
            self._led[text] = key, flight
            if found.stored:  # newcomers find it where this one has
                self._let_go(text)
        return found

    async def _asked(
        self, text: QuestionAndText, spent: CostMeter, *, fresh: bool = False
    ) -> _SharedClaims:
        claims = await self._source.claims(*text, spent, fresh=fresh)
        return _SharedClaims(claims, self._key(text))  # only now is it known who has answered

    def _let_go(self, text: QuestionAndText) -> None:
        """Newcomers no longer share the claims of this judgement."""
        if text in self._led:
            self._cache.flights.leave(*self._led.pop(text))


def _read(value: bytes | None) -> tuple[str, ...] | None:
    """Held to what a model's answer is held to: others may write to the store."""
    if value is None:
        return None
    try:
        return ExtractRequest("", "").read(value.decode())
    except (ReplyRejected, UnicodeDecodeError):
        return None
