"""Settings turned into the caches of a process: equal ones are one, for all judges that use it."""

from __future__ import annotations

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


class Caches:
    """What judges keep; ``clock`` gives seconds. ``aclose`` ends all of it."""

    def __init__(
        self, telemetry: CacheTelemetry, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._observe = CountedCache(telemetry)
        self._clock = clock
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
        return MemoryStore(
            max_entries=section.max_entries,
            max_bytes=section.max_bytes,
            ttl_s=seconds(section.ttl),
            clock=self._clock,
        )


def redis_store(section: CacheSettings) -> RedisStore:
    """The Redis of a section; raises ``ConfigurationError``."""
    return RedisStore(
        section.url.get_secret_value() if section.url else "",
        prefix=section.prefix,
        ttl_s=seconds(section.ttl),
        timeout_s=section.timeout_s,
    )
