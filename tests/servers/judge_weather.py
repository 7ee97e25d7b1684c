"""What a provider is like: refusals and slowness for all, changed while a judge server runs."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from aiohttp import web


def spoken(status: int, body: Any, headers: dict[str, str]) -> web.Response:
    """A refusal as a provider sends it: a text, or JSON."""
    if isinstance(body, str):
        return web.Response(status=status, headers=headers, text=body)
    return web.json_response(body, status=status, headers=headers)


class Weather:
    """A gate for ``JudgeServer``; ``requests`` are the times (monotonic) of all that came in.

    With ``refusal`` (status, body, headers) every request gets that; ``latency_s`` delays the
    answers of all.
    """

    def __init__(self) -> None:
        self.refusal: tuple[int, Any, dict[str, str]] | None = None
        self.latency_s = 0.0
        self.requests: list[float] = []

    async def __call__(self, text: str) -> web.Response | None:
        """Turn a request away, hold it up, or let it through."""
        self.requests.append(time.monotonic())
        if self.refusal is not None:
            return spoken(*self.refusal)
        await asyncio.sleep(self.latency_s)
        return None

    def answered(self, prompt: int, completion: int) -> None:
        """Nothing."""
