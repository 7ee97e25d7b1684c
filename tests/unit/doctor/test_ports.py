"""Whether a port is free, told on real sockets."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from monitor.doctor import ports
from monitor.doctor.report import CheckStatus
from monitor.exporter.serve.front_page import Front
from monitor.exporter.serve.http import HttpServer
from monitor.runtime.health import Health
from monitor.telemetry import ProcessTelemetry, new_registry
from tests.servers.ports import free_ports

HOST = "127.0.0.1"


async def test_a_free_port_is_free_again_afterwards() -> None:
    """It is bound for a moment only: somebody else can have it at once."""
    (port,) = free_ports(1)
    assert (await ports.examine(HOST, port)).status is CheckStatus.OK
    with socket.socket() as listener:
        listener.bind((HOST, port))


async def test_port_0_needs_no_look() -> None:
    """A free one is taken at start."""
    assert (await ports.examine(HOST, 0)).status is CheckStatus.OK


@pytest.mark.parametrize("ready", [True, False])
async def test_a_running_monitor_is_recognised(ready: bool) -> None:
    """One of ours has the port: WARN, with whether it is ready or what it waits for."""
    registry, health = new_registry(), Health(time.monotonic)
    if not ready:
        health.waits("consumer", "topic rag.interactions.v1")
    server = HttpServer(registry, health, ProcessTelemetry(registry, "1"), lambda: Front("1"))
    port = await server.start(HOST, 0)
    try:
        line = await ports.examine(HOST, port)
    finally:
        await server.stop()
    assert line.status is CheckStatus.WARN
    assert ("ready" if ready else "waits for topic rag.interactions.v1") in line.found


@pytest.fixture
async def stranger() -> AsyncIterator[int]:
    """The port of a web server that is not ours."""
    app = web.Application()
    app.router.add_get("/readyz", _yes)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, HOST, 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


async def _yes(_: web.Request) -> web.Response:
    return web.json_response({"ok": True})


async def test_another_program_on_the_port_fails(stranger: int) -> None:
    """A web server that answers differently is not taken for ours."""
    line = await ports.examine(HOST, stranger)
    assert line.status is CheckStatus.FAIL
    assert "http.port" in line.mend


async def test_a_listener_that_never_answers_fails() -> None:
    """It is asked for a bounded time, then it is another program."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        listener.listen()
        line = await asyncio.wait_for(ports.examine(HOST, listener.getsockname()[1]), 30)
    assert line.status is CheckStatus.FAIL


async def test_an_address_of_another_machine_cannot_be_bound() -> None:
    """203.0.113.1 is documentation's own: no machine has it."""
    line = await ports.examine("203.0.113.1", 9750)
    assert line.status is CheckStatus.FAIL
    assert "http.host" in line.mend
