"""Settings turned into the caches of a process: equal ones are one, for all judges that use it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from monitor.config import Cache as CacheSettings
from monitor.config import seconds
from monitor.judge.cache.claims import ClaimsCache
from monitor.judge.cache.failover import Patient
from monitor.judge.cache.judgements import CachedJudge
from monitor.judge.cache.memory import MemoryStore
from monitor.judge.cache.redis_store import RedisStore
from monitor.judge.cache.store import Store
from monitor.judge.observers import CountedCache
from monitor.judge.protocol import Judge
from monitor.telemetry import CacheTelemetry


class KeptMemory:
    """Caches in memory that outlive the event loops that use them, also several at a time."""

    def __init__(self) -> None:
        self._made: list[tuple[CacheSettings, _LockedStore]] = []
        self._lock = threading.Lock()

    def of(self, section: CacheSettings, clock: Callable[[], float]) -> Store:
        """The one of these settings."""
        with self._lock:
            for known, store in self._made:
                if known == section:
                    return store
            store = _LockedStore(_memory(section, clock))
            self._made.append((section, store))
            return store


class _LockedStore:
    """A memory that threads share; whoever is done with it leaves it to the others."""

    def __init__(self, store: MemoryStore) -> None:
        self._store, self._lock = store, threading.Lock()

    async def get(self, key: str) -> bytes | None:
        """As the memory's own, which never waits."""
        with self._lock:
            return await self._store.get(key)

    async def put(self, key: str, value: bytes) -> None:
        """Likewise."""
        with self._lock:
            await self._store.put(key, value)

    async def aclose(self) -> None:
        """Nothing."""


class Caches:
    """What judges keep; ``clock`` gives seconds. ``aclose`` ends all of it but what is ``kept``."""

    def __init__(
        self,
        telemetry: CacheTelemetry,
        clock: Callable[[], float] = time.monotonic,
        kept: KeptMemory | None = None,
    ) -> None:
        self._observe = CountedCache(telemetry)
        self._clock, self._kept = clock, kept
        self._made: list[tuple[CacheSettings, Store, ClaimsCache]] = []

    def claims(self, section: CacheSettings) -> ClaimsCache | None:
        """The claims in that store; None where nothing is to be kept."""
        made = self._of(section)
        return made[1] if made else None

    def keeping(self, judge: Judge, section: CacheSettings) -> Judge:
        """The judge, whose judgements are kept in that store, if anything is to be kept."""
        made = self._of(section)
        return CachedJudge(judge, made[0], self._observe) if made else judge

    async def aclose(self) -> None:
        """Give back connections and memory."""
        for _, store, _ in self._made:
            await store.aclose()

    def _of(self, section: CacheSettings) -> tuple[Store, ClaimsCache] | None:
        if section.kind == "none":
            return None
        for known, store, claims in self._made:
            if known == section:
                return store, claims
        store = self._new(section)
        claims = ClaimsCache(store, self._observe)
        self._made.append((section, store, claims))
        return store, claims

    def _new(self, section: CacheSettings) -> Store:
        if section.kind == "redis":
            return Patient(redis_store(section), self._observe, self._clock)
        if self._kept is not None:
            return self._kept.of(section, self._clock)
        return _memory(section, self._clock)


def _memory(section: CacheSettings, clock: Callable[[], float]) -> MemoryStore:
    return MemoryStore(
        max_entries=section.max_entries,
        max_bytes=section.max_bytes,
        ttl_s=seconds(section.ttl),
        clock=clock,
    )


def redis_store(section: CacheSettings) -> RedisStore:
    """The Redis of a section; raises ``ConfigurationError``."""
    return RedisStore(
        section.url.get_secret_value() if section.url else "",
        prefix=section.prefix,
        ttl_s=seconds(section.ttl),
        timeout_s=section.timeout_s,
    )
