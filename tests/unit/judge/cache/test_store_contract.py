"""What every store must do, held against those that ship: memory, a real Redis, and the pause."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from uuid import uuid4

import pytest

from monitor.judge.cache.failover import Patient
from monitor.judge.cache.memory import MemoryStore
from monitor.judge.cache.redis_store import LARGEST_BYTES, RedisStore
from monitor.judge.cache.store import Store
from tests.servers.redis_server import RedisServer
from tests.stages.hearing import Clock, Heard


def memory() -> MemoryStore:
    return MemoryStore(max_entries=100, max_bytes=LARGEST_BYTES, ttl_s=60, clock=Clock())


@pytest.fixture(params=["memory", "redis", "patient"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """Each of them, empty."""
    makers: dict[str, Callable[[], Store]] = {
        "memory": memory,
        "patient": lambda: Patient(memory(), Heard(), Clock()),
    }
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        made: Store = RedisStore(server.url, prefix=uuid4().hex, ttl_s=60, timeout_s=5.0)
    else:
        made = makers[request.param]()
    yield made
    await made.aclose()


async def test_what_was_put_is_found(store: Store) -> None:
    """Bytes come back as they were, empty ones and ones that are no text included."""
    for key, value in {"a": b"1", "b": b"", "c": b"\xff\x00\r\n", "d": "好".encode()}.items():
        await store.put(key, value)
        assert await store.get(key) == value


async def test_what_was_not_put_is_not_found(store: Store) -> None:
    """Not under another key either."""
    await store.put("claims:1", b"x")
    assert await store.get("claims:2") is None
    assert await store.get("claims") is None


async def test_the_last_put_holds(store: Store) -> None:
    """A value takes the place of an earlier one."""
    await store.put("a", b"old")
    await store.put("a", b"new")
    assert await store.get("a") == b"new"


async def test_what_is_too_large_is_not_kept(store: Store) -> None:
    """And harms nothing that is."""
    await store.put("small", b"1")
    await store.put("large", b"x" * (LARGEST_BYTES + 1))
    assert await store.get("large") is None
    assert await store.get("small") == b"1"


async def test_closing_twice_is_fine(store: Store) -> None:
    """Whoever is not sure closes once more."""
    await store.aclose()
    await store.aclose()
