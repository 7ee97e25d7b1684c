"""A cache in the memory of this process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable


class MemoryStore:
    """Keeps the most recently used values, as many as both bounds allow, for ``ttl_s`` seconds.

    ``clock`` gives seconds. ``max_bytes`` counts keys and values, not what Python adds to them.
    """

    def __init__(
        self, *, max_entries: int, max_bytes: int, ttl_s: float, clock: Callable[[], float]
    ) -> None:
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._ttl_s, self._clock = ttl_s, clock
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, key: str) -> bytes | None:
        """The value, which counts as used now; None when there is none or its time is over."""
        found = self._kept.get(key)
        if found is None:
            return None
        until, value = found
        if self._clock() >= until:
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return value

    async def put(self, key: str, value: bytes) -> None:
        """Keep a value; the ones unused for longest make room."""
        self._drop(key)
        if _size(key, value) > self._max_bytes:
            return
        self._kept[key] = (self._clock() + self._ttl_s, value)
        self._bytes += _size(key, value)
        while len(self._kept) > self._max_entries or self._bytes > self._max_bytes:
            self._drop(next(iter(self._kept)))

    async def aclose(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._bytes = 0

    def _drop(self, key: str) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._bytes -= _size(key, found[1])


def _size(key: str, value: bytes) -> int:
    return len(key) + len(value)
