"""Stands before a model's server and keeps every reply: what was asked once is not asked again.

A model on a CPU takes seconds a call. With a file of replies a run goes on where it was cut, and
another reading of the same replies takes no model at all.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web

#: Of one reply; a small model on a shared machine may take minutes.
LIMIT_S = 1_800.0


class RecordingServer:
    """An asynchronous context manager; while it is entered it answers as ``api_base`` would.

    ``replies`` is a file of JSON lines: the request's SHA-256, the reply's body, and the seconds
    that it took. Errors are handed on and not kept.
    """

    def __init__(self, api_base: str, replies: Path | None) -> None:
        self._behind, self._file = api_base.rstrip("/"), replies
        self._kept = {line["asked"]: line for line in _lines(replies)}
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self.port, self.seconds = 0, 0.0

    @property
    def url(self) -> str:
        """The API base for a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=LIMIT_S))
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(app, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    async def _complete(self, http: web.Request) -> web.Response:
        body = await http.json()
        asked = _digest(body)
        if asked not in self._kept:
            answer = await self._asked(asked, body)
            if answer is not None:
                return answer
        kept = self._kept[asked]
        self.seconds += kept["seconds"]
        return web.json_response(kept["reply"])

    async def _asked(self, asked: str, body: dict[str, Any]) -> web.Response | None:
        """Ask and keep; the answer where it is an error."""
        assert self._session is not None
        began, url = time.perf_counter(), f"{self._behind}/chat/completions"
        async with self._session.post(url, json=body) as response:
            text = await response.text()
            if response.status != web.HTTPOk.status_code:
                return web.Response(
                    status=response.status, text=text, content_type=response.content_type
                )
        took = round(time.perf_counter() - began, 2)
        self._kept[asked] = line = {"asked": asked, "reply": json.loads(text), "seconds": took}
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
        return None


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _lines(replies: Path | None) -> list[dict[str, Any]]:
    if replies is None or not replies.exists():
        return []
    return [json.loads(line) for line in replies.read_text(encoding="utf-8").splitlines()]
