"""The Redis cache: what stands in Redis, for how long, and what becomes of it when Redis fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import redis

from monitor.errors import ConfigurationError
from monitor.judge.cache.redis_store import RedisStore
from monitor.judge.cache.store import StoreFailed
from tests.servers.redis_server import HOW_TO_GET_REDIS, RedisServer, missing_redis
from tests.tools import requires_tool


@pytest.fixture
async def store(redis_server: RedisServer) -> AsyncIterator[RedisStore]:
    """A store with a prefix of its own."""
    made = RedisStore(redis_server.url, prefix=f"t{uuid4().hex}", ttl_s=100, timeout_s=5.0)
    yield made
    await made.aclose()


@pytest.fixture
def own_server(tmp_path: Path) -> RedisServer:
    """A server of the test's own, not started yet, that holds two megabytes at most."""
    requires_tool("redis", missing_redis(), HOW_TO_GET_REDIS)
    return RedisServer(tmp_path, "--maxmemory", "2mb", "--requirepass", "sesame")


def url(server: RedisServer, password: str = "sesame") -> str:
    return server.url.replace("redis://", f"redis://:{password}@")


async def test_values_stand_under_the_prefix_and_run_out(
    store: RedisStore, redis_server: RedisServer
) -> None:
    """Every key has a time to live, so that nothing of it stays when the monitor is gone."""
    await store.put("claims:1", b"x")
    with redis.Redis.from_url(redis_server.url) as client:
        (key,) = client.scan_iter("t*:claims:1")
        assert 90 <= client.ttl(key) <= 100
        client.delete(key)
    assert await store.get("claims:1") is None


async def test_a_restarted_server_is_found_again(own_server: RedisServer) -> None:
    """The connections that broke are made anew, without an error in between."""
    store = RedisStore(url(own_server), prefix="p", ttl_s=100, timeout_s=5.0)
    with own_server:
        await store.put("a", b"1")
    with own_server:
        assert await store.get("a") is None
        await store.put("a", b"2")
        assert await store.get("a") == b"2"
    await store.aclose()


async def test_a_server_that_is_not_there_is_away(own_server: RedisServer) -> None:
    """Nothing listens on its port."""
    store = RedisStore(url(own_server), prefix="p", ttl_s=100, timeout_s=5.0)
    with pytest.raises(StoreFailed) as caught:
        await store.get("a")
    assert (caught.value.away, caught.value.reason) == (True, "ConnectionError")
    await store.aclose()


async def test_a_wrong_password_is_away_and_is_not_said(own_server: RedisServer) -> None:
    """It will fail again: asking at once for the next key is of no use."""
    store = RedisStore(url(own_server, "wrong-word"), prefix="p", ttl_s=100, timeout_s=5.0)
    with own_server, pytest.raises(StoreFailed) as caught:
        await store.get("a")
    assert (caught.value.away, caught.value.reason) == (True, "AuthenticationError")
    assert "wrong-word" not in str(caught.value)
    await store.aclose()


async def test_a_full_server_refuses_values_and_still_gives_them(own_server: RedisServer) -> None:
    """Without a policy of eviction it takes no more; that is no reason to leave it alone."""
    store = RedisStore(url(own_server), prefix="p", ttl_s=100, timeout_s=5.0)
    with own_server:
        await store.put("first", b"1")
        with pytest.raises(StoreFailed) as caught:
            await asyncio.gather(*(store.put(f"more{n}", b"x" * 100_000) for n in range(50)))
        assert (caught.value.away, caught.value.reason) == (False, "OutOfMemoryError")
        assert await store.get("first") == b"1"
    await store.aclose()


async def test_a_silent_server_costs_no_more_than_the_time_for_a_request(
    own_server: RedisServer,
) -> None:
    """Frozen, it is away; what it says later is not taken for the answer to the next request."""
    store = RedisStore(url(own_server), prefix="p", ttl_s=100, timeout_s=0.2)
    with own_server:
        await store.put("a", b"1")
        await store.put("b", b"2")
        own_server.freeze()
        with pytest.raises(StoreFailed) as caught:
            await store.get("a")
        own_server.thaw()
        assert (caught.value.away, caught.value.reason) == (True, "TimeoutError")
        patient = RedisStore(url(own_server), prefix="p", ttl_s=100, timeout_s=5.0)
        assert await patient.get("b") == b"2"
        await patient.aclose()
        for _ in range(20):
            found = await asyncio.gather(store.get("b"), store.get("a"))
            assert list(found) == [b"2", b"1"]
    await store.aclose()


def test_an_address_that_is_none_is_not_quoted() -> None:
    """Only the setting is named: the address may hold a password."""
    with pytest.raises(ConfigurationError) as caught:
        RedisStore("redis://:sesame@host:port/0", prefix="p", ttl_s=1, timeout_s=1.0)
    assert str(caught.value).startswith("judge.cache.url: no address")
    assert "sesame" not in str(caught.value)
    assert caught.value.__cause__ is None
