"""One HTTP server a process: ``/``, ``/metrics``, ``/healthz``, ``/readyz``."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from monitor.errors import DependencyRefused
from monitor.export.front import Front, front_page
from monitor.health import Health
from monitor.logs import logger
from monitor.telemetry import ProcessTelemetry

SHUTDOWN_S = 1.0
#: Nothing from elsewhere, and always as it is now.
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


class HttpServer:
    """Serves a registry and the process's health; ``front`` is what stands on the page at ``/``."""

    def __init__(
        self,
        registry: CollectorRegistry,
        health: Health,
        telemetry: ProcessTelemetry,
        front: Callable[[], Front],
    ) -> None:
        self._front = front
        self._registry, self._health, self._telemetry = registry, health, telemetry
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int) -> int:
        """Bind and serve; the port that was bound (``port`` 0 takes a free one).

        Raises ``DependencyRefused`` when the port is taken.
        """
        app = web.Application()
        app.router.add_get("/", self._page)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_S)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise DependencyRefused(
                f"http: cannot listen on {host}:{port}: {error.strerror}; "
                "set http.port to another port, or to 0 for a free one"
            ) from error
        bound: int = self._runner.addresses[0][1]
        logger().info("http_listening", host=host, port=bound, url=f"http://{host}:{bound}")
        return bound

    async def stop(self) -> None:
        """Close the socket and finish the requests under way."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _page(self, _request: web.Request) -> web.Response:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        text = front_page(self._front(), self._health.waiting, self._health.stuck, now)
        return web.Response(text=text, content_type="text/html", headers=_PAGE_HEADERS)

    async def _metrics(self, request: web.Request) -> web.Response:
        self._telemetry.ready.set(not self._health.waiting)
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        body = encode(self._registry)
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _healthz(self, _request: web.Request) -> web.Response:
        return _answer({"stuck": self._health.stuck}, ok=not self._health.stuck)

    async def _readyz(self, _request: web.Request) -> web.Response:
        waiting, paused = self._health.waiting, self._front().paused
        # A pause is what somebody wants: no reason not to be ready.
        ends = None if paused is None else {each.shown: each.end for each in paused}
        return _answer({"waiting_for": waiting, "paused": ends}, ok=not waiting)


def _answer(body: dict[str, object], *, ok: bool) -> web.Response:
    text = json.dumps({"ok": ok, **body}, ensure_ascii=False)
    return web.Response(text=text, status=200 if ok else 503, content_type="application/json")
