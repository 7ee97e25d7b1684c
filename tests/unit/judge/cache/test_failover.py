"""A cache that is away costs one failed request every few seconds, and never an error."""

from __future__ import annotations

from monitor.judge.cache.failover import PAUSE_S, Patient
from monitor.judge.cache.store import StoreFailed
from tests.stages.hearing import Clock, Failing, Heard

AWAY, REFUSED = StoreFailed("ConnectionError", away=True), StoreFailed("OutOfMemory", away=False)


async def test_a_store_that_is_away_is_left_alone_for_a_while() -> None:
    """Nothing is found and nothing kept; one request finds out when it is back."""
    store, heard, clock = Failing(), Heard(), Clock()
    patient = Patient(store, heard, clock)
    store.failure = AWAY
    assert await patient.get("a") is None
    for _ in range(10):
        assert await patient.get("a") is None
        await patient.put("a", b"1")
    assert store.requests == 1
    assert heard.failures == ["ConnectionError", *["paused"] * 20]
    clock.now += PAUSE_S
    assert await patient.get("a") is None
    assert store.requests == 2
    store.failure = None
    clock.now += PAUSE_S
    await patient.put("a", b"1")
    assert await patient.get("a") == b"1"
    assert heard.failures.count("ConnectionError") == 2


async def test_a_refusal_is_counted_and_no_reason_to_pause() -> None:
    """A server that is full may still have what is asked for."""
    store, heard, clock = Failing(), Heard(), Clock()
    patient = Patient(store, heard, clock)
    await patient.put("a", b"1")
    store.failure = REFUSED
    await patient.put("b", b"2")
    store.failure = None
    assert await patient.get("a") == b"1"
    assert heard.failures == ["OutOfMemory"]


async def test_closing_closes_the_store() -> None:
    """Connections are given back."""
    store = Failing()
    await Patient(store, Heard(), Clock()).aclose()
    assert store.closed
