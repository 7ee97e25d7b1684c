"""A server that sends its clients elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web


class Asked:
    """Every request that a server got; it answers all with ``status`` and ``location``."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.status, self.location, self.url = 200, "", ""

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append(f"{request.method} {request.path} {await request.text()}")
        headers = {"location": self.location} if self.location else {}
        return web.json_response({}, status=self.status, headers=headers)


@asynccontextmanager
async def serving() -> AsyncIterator[Asked]:
    found, app = Asked(), web.Application()
    app.router.add_route("*", "/{any:.*}", found.answer)
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield found
    finally:
        await runner.cleanup()
