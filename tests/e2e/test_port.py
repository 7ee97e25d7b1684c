"""The port of a real process that has few file descriptors: clients ask half, or do not read."""

from __future__ import annotations

import asyncio
import resource
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.servers.ports import free_ports
from tests.stages.process import MonitorProcess, total, until

DESCRIPTORS = 1_024
HALVES = 1_100
HALF = b"GET / HTTP/1.1\r\nHost:"
STUCK = 300
#: Asked for at once: far more bytes than anybody should keep for a client that does not read.
PAGES = 600
ASKED = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


@asynccontextmanager
async def scorer(directory: Path) -> AsyncIterator[MonitorProcess]:
    """One that waits for a broker that is not there, with few descriptors."""
    (nowhere,) = free_ports(1)
    monitor = MonitorProcess("score", f"127.0.0.1:{nowhere}", directory, "score")
    try:
        await monitor.listening()
        resource.prlimit(monitor.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        yield monitor
    finally:
        await monitor.end()


async def opened_by(
    url: str, number: int, sent: bytes, receives: int | None = None
) -> list[socket.socket]:
    """Connections that have sent something and take at most ``receives`` bytes of an answer."""
    host, _, port = url.removeprefix("http://").partition(":")
    loop, found = asyncio.get_running_loop(), list[socket.socket]()
    for _ in range(number):
        connection = socket.socket()
        connection.setblocking(False)
        if receives is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        await loop.sock_connect(connection, (host, int(port)))
        with suppress(ConnectionError):  # closed already: it has made room
            await loop.sock_sendall(connection, sent)
        found.append(connection)
    return found


def is_open(connection: socket.socket) -> bool:
    """Whether the other side has not closed it."""
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


class Healthy:
    """Asks for ``/healthz`` all the time, over new connections."""

    def __init__(self, monitor: MonitorProcess) -> None:
        self._monitor = monitor
        self.asked = 0
        self.longest_s = 0.0

    async def ask(self) -> None:
        """Until it is cancelled; raises when one is not answered."""
        while True:
            began = time.monotonic()
            status, _ = await asyncio.wait_for(self._monitor.get("/healthz"), 30)
            assert status == 200
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            self.asked += 1
            await asyncio.sleep(0.05)


def descriptors(monitor: MonitorProcess) -> int:
    """How many the process has open."""
    return len(list(Path(f"/proc/{monitor.pid}/fd").iterdir()))


async def closed_of(monitor: MonitorProcess, least: int) -> dict[str, float] | None:
    """How many were closed because they do not read, by reason; None before there are so many."""
    page = await monitor.metrics()
    found = {
        reason: total(page, "rag_monitor_http_connections_closed_total", reason=reason)
        for reason in ("slow_answer", "too_many")
    }
    return found if sum(found.values()) >= least else None


async def test_half_requests_take_nothing_from_health_checks(tmp_path: Path) -> None:
    """1,100 at once: health is answered all along, and all of them are closed, told and counted."""
    async with scorer(tmp_path) as monitor:
        before, healthy = descriptors(monitor), Healthy(monitor)
        asking = asyncio.create_task(healthy.ask())
        opened = await opened_by(monitor.url, HALVES, HALF)
        assert descriptors(monitor) < DESCRIPTORS / 2
        await until(lambda: not any(map(is_open, opened)), "all closed from the other side")
        asked = healthy.asked
        await until(lambda: asking.done() or healthy.asked > asked, "health afterwards")
        assert not asking.done(), asking
        asking.cancel()
        for connection in opened:
            connection.close()
        await until(lambda: descriptors(monitor) <= before + 3, "no descriptor is left")
        page = await monitor.metrics()
        counted = {
            reason: total(page, "rag_monitor_http_connections_closed_total", reason=reason)
            for reason in ("slow_request", "too_many")
        }
        # The health check that was called off may have been half asked, too.
        assert HALVES <= sum(counted.values()) <= HALVES + 1
        assert counted["slow_request"] > 0, "of those that were left"
        told = [event for event in monitor.events() if event["event"] == "http_connections_closed"]
        assert {event["reason"] for event in told} == {"slow_request", "too_many"}
        print(f"health {healthy.asked} times, at most {healthy.longest_s:.2f} s; {counted}")


async def test_who_asks_and_never_reads_takes_nothing_from_health_checks(tmp_path: Path) -> None:
    """300 at once: health is answered, a page is read, and all are closed, told and counted."""
    async with scorer(tmp_path) as monitor:
        before, healthy = descriptors(monitor), Healthy(monitor)
        asking = asyncio.create_task(healthy.ask())
        opened = await opened_by(monitor.url, STUCK, ASKED * PAGES, receives=4096)
        asked = healthy.asked
        await monitor.metrics()
        await until(lambda: asking.done() or healthy.asked > asked, "health beside them")
        assert not asking.done(), asking
        await until(lambda: descriptors(monitor) <= before + 3, "no descriptor is left")
        assert not asking.done(), asking
        asking.cancel()
        # The last few may be among the descriptors above: what closes them is not over yet. So they
        # stay open on this side until then: who goes by himself is not counted.
        counted = await until(lambda: closed_of(monitor, STUCK), "all are counted")
        for connection in opened:
            connection.close()
        # Who has its answer already, and is about to go, may make room as well.
        assert sum(counted.values()) <= STUCK + healthy.asked
        assert counted["slow_answer"] > 0, "of those that were left"
        told = [event for event in monitor.events() if event["event"] == "http_connections_closed"]
        assert {event["reason"] for event in told} == {"slow_answer", "too_many"}
        print(f"health {healthy.asked} times, at most {healthy.longest_s:.2f} s; {counted}")
