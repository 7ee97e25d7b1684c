"""A webhook on 127.0.0.1 that hears what Alertmanager sends."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from monitor.demo.stack.notification import Notification, read_notification

SHUTDOWN_S = 1.0


class Receiver:
    """Tells ``report`` of each notification; the path is the receiver's name."""

    def __init__(self, report: Callable[[Notification], None]) -> None:
        self._report = report
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def start(self) -> None:
        """Listen on a free port; ``url`` has no slash at its end."""
        app = web.Application()
        app.router.add_post("/{receiver}", self._take)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_S)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Close the socket."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        try:
            self._report(read_notification(request.match_info["receiver"], await request.read()))
        except ValueError as error:
            return web.Response(status=400, text=str(error))
        return web.Response()
