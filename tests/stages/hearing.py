"""Observers and clocks that tests hold in their hand."""

from __future__ import annotations

from collections import Counter

from monitor.judge.cache.store import Result, StoreFailed, What


class Heard:
    """A ``CacheObserver`` that writes down what it hears."""

    def __init__(self) -> None:
        self.lookups: Counter[tuple[str, str]] = Counter()
        self.failures: list[str] = []

    def looked_up(self, what: What, result: Result) -> None:
        self.lookups[what, result] += 1

    def store_failed(self, reason: str) -> None:
        self.failures.append(reason)

    def results(self, what: What = "claims") -> dict[str, int]:
        """Result → how often."""
        return {result: n for (of, result), n in self.lookups.items() if of == what}


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Failing:
    """A store that keeps values, and fails with ``failure`` while that is set."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.failure: StoreFailed | None = None
        self.requests = 0
        self.closed = False

    async def get(self, key: str) -> bytes | None:
        self._ask()
        return self.kept.get(key)

    async def put(self, key: str, value: bytes) -> None:
        self._ask()
        self.kept[key] = value

    async def aclose(self) -> None:
        self.closed = True

    def _ask(self) -> None:
        self.requests += 1
        if self.failure is not None:
            raise self.failure
