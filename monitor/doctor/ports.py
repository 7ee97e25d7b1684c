"""Whether the HTTP port is free, and if not, whether a monitor of ours has it."""

from __future__ import annotations

import asyncio
import errno
import json

import aiohttp

from monitor.doctor.report import ReportLine, fail, ok, warn

ASK_LIMIT_S = 3.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}


async def examine(host: str, port: int) -> ReportLine:
    """Bind as the server would, let go at once, and say how it went."""
    where = f"{host}:{port}"
    if port == 0:
        return ok("port", where, "a free one is taken at start and logged")
    try:
        server = await asyncio.get_running_loop().create_server(asyncio.Protocol, host, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return await _taken(where, host, port)
        why = error.strerror or type(error).__name__
        mend = "set http.host to an address of this machine and http.port to one it may bind"
        return fail("port", where, f"cannot be bound: {why}", mend)
    server.close()
    await server.wait_closed()
    return ok("port", where, "free")


async def _taken(where: str, host: str, port: int) -> ReportLine:
    found = await _monitor_at(f"http://{_EVERYWHERE.get(host, host)}:{port}/readyz")
    mend = "set http.port to another port, or to 0 for a free one"
    if found is None:
        return fail("port", where, "taken by another program", f"{mend}, or end that program")
    return warn("port", where, f"taken by a running rag-monitor, {found}", f"for a second: {mend}")


async def _monitor_at(url: str) -> str | None:
    """What a monitor there says of itself; None when it is something else."""
    limit = aiohttp.ClientTimeout(total=ASK_LIMIT_S)
    try:
        async with aiohttp.ClientSession(timeout=limit) as session, session.get(url) as answer:
            body = json.loads(await answer.content.read(65_536))
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return None
    if not isinstance(body, dict) or not isinstance(body.get("waiting_for"), dict):
        return None
    if body.get("ok"):
        return "ready"
    return "which waits for " + ", ".join(str(why)[:80] for why in body["waiting_for"].values())
