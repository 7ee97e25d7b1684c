"""Connections: who makes room for others, and who has taken too long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.export.connections import (
    BRIEF_S,
    LIMITS,
    MOST,
    MOST_BRIEFLY,
    Standing,
    Step,
    in_the_way,
    overdue,
)
from monitor.export.front import Front
from monitor.export.http import HttpServer
from monitor.health import Health
from monitor.telemetry import ProcessTelemetry, new_registry

NOW = 100.0
STANDINGS = st.builds(Standing, st.sampled_from(Step), st.floats(0, NOW))


@given(st.lists(STANDINGS, max_size=2 * MOST_BRIEFLY))
def test_room_is_made_by_those_who_ask_nothing(found: list[Standing]) -> None:
    """Half a request before an idle connection, the longest first; nobody beyond the bound."""
    closed = in_the_way(found, NOW)
    assert len(closed) == len(set(closed)) <= max(0, len(found) - MOST)
    assert len(found) - len(closed) <= MOST_BRIEFLY
    stays = [each for number, each in enumerate(found) if number not in closed]
    early = [found[number] for number in closed if NOW - found[number].since >= BRIEF_S]
    waits = [each for each in stays if each.step is Step.ASKS and NOW - each.since >= BRIEF_S]
    if len(found) <= MOST_BRIEFLY:
        assert all(each.step is not Step.ANSWERED for each in early)
        assert not waits or all(each <= min(waits) for each in early if each.step is Step.ASKS)
        assert not waits or all(each.step is Step.ASKS for each in early)


@given(STANDINGS, st.integers(0, 63))
def test_up_to_the_bound_nobody_makes_room(one: Standing, others: int) -> None:
    """However long it has been there: that is what the time limits are for."""
    assert in_the_way([one] * (others + 1), NOW) == []


@pytest.mark.parametrize("step", Step)
def test_every_step_has_an_end(step: Step) -> None:
    """Ten seconds for a request or a silence, a minute for an answer to be read."""
    limit_s, reason = LIMITS[step]
    assert limit_s <= 60
    assert overdue(Standing(step, NOW - limit_s), NOW) == reason
    assert overdue(Standing(step, NOW - limit_s + 0.1), NOW) is None


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """That of a server with nothing to say."""
    registry = new_registry()
    telemetry = ProcessTelemetry(registry, "1")
    server = HttpServer(registry, Health(lambda: 0.0), telemetry, lambda: Front("1"))
    try:
        yield await server.start("127.0.0.1", 0)
    finally:
        await server.stop()


async def ask(port: int) -> bytes:
    """The first line of an answer to a request of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    line = await reader.readline()
    writer.close()
    return line


async def test_connections_beyond_the_bound_are_closed_and_health_is_answered(port: int) -> None:
    """Those that have said nothing for longest; whoever asks is answered, in between, too."""
    silent = []
    for number in range(4 * MOST):
        silent.append(await asyncio.open_connection("127.0.0.1", port))
        if number % MOST == 0:
            assert await ask(port) == b"HTTP/1.1 200 OK\r\n"
    assert await ask(port) == b"HTTP/1.1 200 OK\r\n"
    gone = [asyncio.create_task(reader.read()) for reader, _ in silent]
    done: set[asyncio.Task[bytes]] = set()
    while len(done) < 3 * MOST:
        done, _ = await asyncio.wait(gone, return_when="FIRST_COMPLETED", timeout=1)
        await asyncio.sleep(0.05)
    assert await ask(port) == b"HTTP/1.1 200 OK\r\n"
    for task, (_, writer) in zip(gone, silent, strict=True):
        task.cancel()
        writer.close()
    await asyncio.gather(*gone, return_exceptions=True)


async def test_one_connection_asks_again_and_again(port: int) -> None:
    """As Prometheus does: it is between two requests, and then asks the next one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(3):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        await reader.readexactly(len(b'{"ok": true, "stuck": {}}'))
    writer.close()
