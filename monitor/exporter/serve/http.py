"""One HTTP server a process: ``/``, ``/alarms``, ``/metrics``, ``/healthz``, ``/readyz``."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler
from prometheus_client import CollectorRegistry

from monitor.errors import DependencyRefused
from monitor.exporter.serve.alarm_page import alarm_page, alarms_page
from monitor.exporter.serve.connections import HEADERS, Connections, ConnectionStep, HttpConnection
from monitor.exporter.serve.front_page import Front, front_page
from monitor.exporter.serve.hosts import AllowedHosts
from monitor.exporter.serve.pages import Pages, wants_gzip
from monitor.runtime.health import Health
from monitor.runtime.logs import LogBudget, logger
from monitor.telemetry import MOST_PAUSED, ProcessTelemetry

SHUTDOWN_S = 1.0
#: What is written at once: no more of a page is held for a client that does not read it.
PIECE: Final = 65_536
#: And no more by the kernel, which takes megabytes otherwise: nobody sees then whether it is read.
KERNEL: Final = 131_072
#: The only header of all answers that a page may have of its own.
POLICY: Final = "Content-Security-Policy"


class HttpServer:
    """Serves a registry and the process's health; ``front`` is what stands on the page at ``/``.

    ``allowed_hosts`` are names that clients may ask for beside the bound one: see ``AllowedHosts``.
    ``site`` adds pages of its own, the one at ``/`` among them.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        health: Health,
        telemetry: ProcessTelemetry,
        front: Callable[[], Front],
        *,
        allowed_hosts: Sequence[str] = (),
        site: Callable[[web.Application], None] | None = None,
    ) -> None:
        self._front, self._allowed_hosts, self._site = front, allowed_hosts, site
        self._health, self._telemetry = health, telemetry
        self.pages = Pages(registry, self._before_a_page)
        self._connections = Connections(lambda why: telemetry.http_closed.labels(why).inc())
        self._allows = AllowedHosts("", allowed_hosts)
        self._refusals = LogBudget(1)
        self._listener: asyncio.Server | None = None
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int) -> int:
        """Bind and serve; the port that was bound (``port`` 0 takes a free one).

        Raises ``DependencyRefused`` when the port is taken.
        """
        self._allows = AllowedHosts(host, self._allowed_hosts)
        self._runner = web.AppRunner(self._app(), shutdown_timeout=SHUTDOWN_S)
        await self._runner.setup()
        try:
            self._listener = await self._listen(self._runner.server, host, port)
        except OSError as error:
            await self._runner.cleanup()
            raise DependencyRefused(
                f"http: cannot listen on {host}:{port}: {error.strerror}; "
                "set http.port to another port, or to 0 for a free one"
            ) from error
        bound: int = self._listener.sockets[0].getsockname()[1]
        logger().info("http_listening", host=host, port=bound, url=f"http://{host}:{bound}")
        return bound

    async def stop(self) -> None:
        """Close the socket and finish the requests under way."""
        if self._listener is not None:
            self._listener.close()
        if self._runner is not None:
            await self._runner.cleanup()
        self._connections.stop()
        self.pages.close()

    def _app(self) -> web.Application:
        app = web.Application(middlewares=[self._request])
        if self._site is None:
            app.router.add_get("/", self._page)
            app.router.add_get("/alarms", self._alarms_page)
            app.router.add_get("/alarms/{key:.+}", self._alarm_page)
        else:
            self._site(app)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.on_response_prepare.append(_with_headers)
        return app

    async def _listen(self, manager: web.Server | None, host: str, port: int) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        assert manager is not None  # as it is set up

        def connection() -> HttpConnection:
            return HttpConnection(manager, self._connections, loop=loop, access_log=None)

        listener = await loop.create_server(connection, host, port)
        for each in listener.sockets:  # and so for what they accept
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL)
        return listener

    @web.middleware
    async def _request(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Every request whose head is whole, whatever it asks for."""
        connection = request.protocol
        assert isinstance(connection, HttpConnection)  # of ``_listen``
        connection.is_at(ConnectionStep.READS)
        try:
            # Nothing more for a client that does not read: it may have sent any number of requests
            # at once, and small answers are kept for it, all of them.
            await request.writer.drain()
            connection.is_at(ConnectionStep.ANSWERED)
            if not self._allows(host := request.headers.get("Host")):
                return self._misdirected(str(host))
            return await handler(request)
        except ConnectionError:  # the client has gone, or it did not read: it is closed
            return web.Response()
        finally:
            connection.is_at(ConnectionStep.IDLE)

    def _misdirected(self, host: str) -> web.Response:
        """The status is for programs, the text for people, and the log for who can mend it."""
        mend = "add the name to http.allowed_hosts, or ask for an address or localhost"
        if (left_out := self._refusals.spend()) is not None:
            logger().warning("http_host_refused", host=host[:200], left_out=left_out, what=mend)
        text = f"This process is not to be asked under the name in Host: {mend}.\n"
        return web.Response(text=text, status=421)

    def _before_a_page(self) -> None:
        self._telemetry.ready.set(not self._health.waiting)

    async def _page(self, request: web.Request) -> web.Response:
        now = datetime.now(UTC)
        text = front_page(self._front(), self._health.waiting, self._health.stuck, now)
        response = web.Response(text=text, content_type="text/html")
        if _zipped(request):
            response.enable_compression(web.ContentCoding.gzip)
        return response

    async def _alarms_page(self, _request: web.Request) -> web.Response:
        front, now = self._front(), datetime.now(UTC)
        known = None if front.alarms is None else front.known_alarms
        text = alarms_page(known, now, are_read=front.alarms_read)
        return web.Response(text=text, content_type="text/html")

    async def _alarm_page(self, request: web.Request) -> web.Response:
        key = request.match_info["key"]
        front = self._front()
        record, follows = front.known_alarms.get(key), front.alarms is not None
        are_read = front.alarms_read or not follows
        text = alarm_page(key, record, datetime.now(UTC), are_read=are_read)
        status = 200 if record is not None else 404 if are_read else 503
        return web.Response(text=text, content_type="text/html", status=status)

    async def _metrics(self, request: web.Request) -> web.StreamResponse:
        zipped = _zipped(request)
        body, content_type = await self.pages.page(request.headers.get("Accept", ""), zipped=zipped)
        headers = {"Content-Type": content_type, "Vary": "Accept, Accept-Encoding"}
        if zipped:
            headers["Content-Encoding"] = "gzip"
        response = web.StreamResponse(headers=headers)
        response.content_length = len(body)
        await response.prepare(request)
        await _write(request, response, body if request.method == "GET" else b"")
        return response

    async def _healthz(self, _request: web.Request) -> web.Response:
        return _answer({"stuck": self._health.stuck}, ok=not self._health.stuck)

    async def _readyz(self, _request: web.Request) -> web.Response:
        waiting, paused = self._health.waiting, self._front().paused
        # A pause is what somebody wants: no reason not to be ready.
        ends = None if paused is None else {each.shown: each.end for each in paused[:MOST_PAUSED]}
        more = len(paused or ()) - len(ends or ())
        answer: dict[str, object] = {"waiting_for": waiting, "paused": ends}
        return _answer(answer | ({"paused_too": more} if more else {}), ok=not waiting)


def _zipped(request: web.Request) -> bool:
    return wants_gzip(request.headers.get("Accept-Encoding", ""))


async def _with_headers(_request: web.Request, response: web.StreamResponse) -> None:
    own = response.headers.get(POLICY)
    response.headers.update(HEADERS)
    if own is not None:
        response.headers[POLICY] = own


async def _write(request: web.Request, response: web.StreamResponse, body: bytes) -> None:
    """Piece by piece, as they are read."""
    connection = request.protocol
    assert isinstance(connection, HttpConnection)  # of ``_listen``
    whole = memoryview(body)
    for start in range(0, len(whole), PIECE):
        connection.is_at(ConnectionStep.READS)
        await response.write(whole[start : start + PIECE])
    await response.write_eof()


def _answer(body: dict[str, object], *, ok: bool) -> web.Response:
    text = json.dumps({"ok": ok, **body}, ensure_ascii=False)
    return web.Response(text=text, status=200 if ok else 503, content_type="application/json")
