"""Connections: who makes room for others, and who has taken too long."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Gauge

from monitor.exporter.serve.connections import (
    LIMITS,
    MOST,
    MOST_BRIEFLY,
    NEWEST,
    QUIET_S,
    ConnectionState,
    ConnectionStep,
    in_the_way,
    overdue,
)
from monitor.exporter.serve.front_page import Front
from monitor.exporter.serve.http import HttpServer
from monitor.runtime.health import Health
from monitor.telemetry import ProcessTelemetry, new_registry

NOW = 100.0
STATES = st.builds(ConnectionState, st.sampled_from(ConnectionStep), st.floats(0, NOW))


@given(st.lists(STATES, max_size=2 * MOST_BRIEFLY))
def test_room_is_made_by_those_who_ask_nothing(found: list[ConnectionState]) -> None:
    """Half a request, an idle connection, an answer that is not read; nobody beyond the bound."""
    closed = in_the_way(found, NOW)
    assert len(closed) == len(set(closed)) <= max(0, len(found) - MOST)
    assert len(found) - len(closed) <= MOST_BRIEFLY
    stays = [each for number, each in enumerate(found) if number not in closed]
    quiet = [each for each in stays if NOW - each.since >= QUIET_S[each.step]]
    early = [found[number] for number in closed]
    if len(found) <= MOST_BRIEFLY:
        assert all(NOW - each.since >= QUIET_S[each.step] for each in early)
        assert not quiet or all(each <= min(quiet) for each in early)


@given(
    st.integers(0, 2 * MOST_BRIEFLY),
    st.sampled_from([ConnectionStep.READS, ConnectionStep.ANSWERED]),
)
def test_whoever_has_just_come_is_never_closed(stuck: int, step: ConnectionStep) -> None:
    """However many wait for an answer or do not read theirs, and however briefly."""
    found = [ConnectionState(step, NOW - 0.1)] * stuck + [
        ConnectionState(ConnectionStep.ASKS, NOW - 0.05)
    ] * NEWEST
    closed = in_the_way(found, NOW)
    assert all(number < stuck for number in closed)
    assert len(found) - len(closed) <= MOST_BRIEFLY


def test_beyond_the_bound_whoever_reads_stays() -> None:
    """Those that have taken nothing for longest go first; so do halves before an answer."""
    reads, stuck = (
        ConnectionState(ConnectionStep.READS, NOW - 0.01),
        ConnectionState(ConnectionStep.READS, NOW - 0.5),
    )
    assert 0 not in in_the_way([reads] + [stuck] * MOST_BRIEFLY, NOW)
    halves = [ConnectionState(ConnectionStep.ASKS, NOW - 0.005)] * MOST_BRIEFLY
    assert 0 not in in_the_way([ConnectionState(ConnectionStep.ANSWERED, NOW - 5.0), *halves], NOW)


@given(STATES, st.integers(0, 63))
def test_up_to_the_bound_nobody_makes_room(one: ConnectionState, others: int) -> None:
    """However long it has been there: that is what the time limits are for."""
    assert in_the_way([one] * (others + 1), NOW) == []


@pytest.mark.parametrize("step", ConnectionStep)
def test_every_step_has_an_end(step: ConnectionStep) -> None:
    """Ten seconds for a request, a silence or a piece of an answer; a minute for us to answer."""
    limit_s, reason = LIMITS[step]
    assert limit_s <= 60
    assert overdue(ConnectionState(step, NOW - limit_s), NOW) == reason
    assert overdue(ConnectionState(step, NOW - limit_s + 0.1), NOW) is None


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


@pytest.fixture
async def large() -> AsyncIterator[int]:
    """The port of a server whose page is of 4 MB."""
    registry = new_registry()
    gauge = Gauge("rag_wide", "Many series.", ["name"], registry=registry)
    for number in range(4_000):
        gauge.labels(f"{number:01000}").set(1)
    telemetry = ProcessTelemetry(registry, "1")
    server = HttpServer(registry, Health(lambda: 0.0), telemetry, lambda: Front("1"))
    try:
        yield await server.start("127.0.0.1", 0)
    finally:
        await server.stop()


async def non_readers(port: int, number: int) -> list[socket.socket]:
    """They ask for the page and take nothing of it."""
    loop, found = asyncio.get_running_loop(), list[socket.socket]()
    for _ in range(number):
        each = socket.socket()
        each.setblocking(False)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await loop.sock_connect(each, ("127.0.0.1", port))
        await loop.sock_sendall(each, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        found.append(each)
    return found


async def test_who_does_not_read_takes_nothing_from_who_does(
    large: int, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """300 do not: health is answered, a scraper gets its page, and no traceback is logged."""
    stuck = await non_readers(large, 300)
    url = f"http://127.0.0.1:{large}/metrics"
    async with asyncio.timeout(10), aiohttp.ClientSession() as session:
        for _ in range(4):
            async with asyncio.timeout(2):
                assert await ask(large) == b"HTTP/1.1 200 OK\r\n"
            async with session.get(url, headers={"Accept-Encoding": "identity"}) as answer:
                assert len(await answer.read()) > 4_000_000
            await asyncio.sleep(0.5)
    for each in stuck:
        each.close()
    await asyncio.sleep(0.1)
    assert "Traceback" not in capfd.readouterr().err
    assert not [record for record in caplog.records if record.exc_info]


async def test_one_connection_asks_again_and_again(port: int) -> None:
    """As Prometheus does: it is between two requests, and then asks the next one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(3):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        await reader.readexactly(len(b'{"ok": true, "stuck": {}}'))
    writer.close()
