"""The memory cache stays within its bounds, and drops what was not used for longest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.judge.cache.memory import MemoryStore
from tests.stages.hearing import Clock


def store(entries: int = 3, size: int = 1_000, ttl: float = 10.0) -> tuple[MemoryStore, Clock]:
    clock = Clock()
    return MemoryStore(max_entries=entries, max_bytes=size, ttl_s=ttl, clock=clock), clock


async def test_the_least_recently_used_makes_room() -> None:
    """Being read counts as being used."""
    cache, _ = store(entries=2)
    await cache.put("a", b"1")
    await cache.put("b", b"2")
    await cache.get("a")
    await cache.put("c", b"3")
    assert [await cache.get(key) for key in "abc"] == [b"1", None, b"3"]


async def test_values_run_out_from_when_they_were_put() -> None:
    """Being read makes them no younger; being put again does."""
    cache, clock = store(ttl=10.0)
    await cache.put("a", b"1")
    clock.now += 9.9
    assert await cache.get("a") == b"1"
    clock.now += 0.1
    assert await cache.get("a") is None
    assert len(cache) == 0
    await cache.put("a", b"2")
    clock.now += 9.9
    assert await cache.get("a") == b"2"


KEYS = st.sampled_from("abcdefgh")


@given(st.lists(st.tuples(KEYS, st.integers(0, 60)), max_size=40), st.integers(1, 6))
async def test_both_bounds_hold_after_every_put(puts: list[tuple[str, int]], most: int) -> None:
    """Never more entries or bytes than allowed, and what was put last is there if it fits."""
    cache, _ = store(entries=most, size=100)
    kept: dict[str, int] = {}
    for key, size in puts:
        await cache.put(key, b"x" * size)
        kept = {k: n for k, n in kept.items() if k != key} | {key: size}
        found = {k: value for k in "abcdefgh" if (value := await cache.get(k)) is not None}
        assert len(found) == len(cache) <= most
        assert sum(len(k) + len(v) for k, v in found.items()) <= 100
        assert all(len(found[k]) == kept[k] for k in found)
        assert len(found[key]) == size
