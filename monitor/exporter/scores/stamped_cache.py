"""Remembering what follows from things that carry stamps."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

CacheKeyT = TypeVar("CacheKeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class StampedCache(Generic[CacheKeyT, ValueT]):
    """A value for each key, made anew only when the stamps are not those of the last time.

    >>> memo, made = StampedCache[str, int](), []
    >>> for stamp in (1, 1, 2):
    ...     _ = memo.get("a", (stamp,), lambda: made.append(stamp) or stamp)
    >>> made
    [1, 2]
    """

    def __init__(self) -> None:
        self._held: dict[CacheKeyT, tuple[object, ValueT]] = {}
        self._asked: dict[CacheKeyT, tuple[object, ValueT]] = {}

    def get(self, key: CacheKeyT, stamps: object, make: Callable[[], ValueT]) -> ValueT:
        """The value; what ``make`` gives where the stamps have changed."""
        found = self._asked.get(key) or self._held.get(key)
        if found is None or found[0] != stamps:
            found = stamps, make()
        self._asked[key] = found
        return found[1]

    def sweep(self) -> None:
        """Forget the keys that were not asked for since the last sweep."""
        self._held, self._asked = self._asked, {}
