"""A provider whose weather changes by a plan, and what it was asked meanwhile."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

from aiohttp import web

from tests.servers.judge_labels import Labels
from tests.servers.judge_server import JudgeServer
from tests.servers.judge_weather import Weather

Refusal = tuple[int, Any, dict[str, str]]
RATE_LIMITED = {"error": {"type": "rate_limit_error", "code": "rate_limit_exceeded"}}
OVERLOADED = {"error": {"type": "overloaded_error", "message": "overloaded"}}


class Phase(NamedTuple):
    """How the provider is for so many seconds; one that is not there has a closed port."""

    name: str
    seconds: float
    is_there: bool = True
    refusal: Refusal | None = None
    latency_s: float = 0.1

    @property
    def answers(self) -> bool:
        """Whether judging can go on."""
        return self.is_there and self.refusal is None


class Heard(Weather):
    """Keeps when (monotonic) requests were refused, too."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: list[float] = []

    async def __call__(self, text: str) -> web.Response | None:
        """Turn a request away, hold it up, or let it through."""
        if self.refusal is not None:
            self.refused.append(time.monotonic())
        return await super().__call__(text)


class Provider:
    """A judge server at one address, there or not; an asynchronous context manager."""

    def __init__(self, labels: Labels) -> None:
        self.heard = Heard()
        self.server = JudgeServer(labels, gate=self.heard)
        self._labels = labels
        self._running: AsyncExitStack | None = None

    async def __aenter__(self) -> Provider:
        await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def becomes(self, phase: Phase) -> None:
        """From now on it is like this."""
        self.heard.refusal, self.heard.latency_s = phase.refusal, phase.latency_s
        if phase.is_there and self._running is None:
            self.server = JudgeServer(self._labels, port=self.server.port, gate=self.heard)
            await self._open()
        elif not phase.is_there:
            await self._close()

    async def _open(self) -> None:
        stack = AsyncExitStack()
        await stack.enter_async_context(self.server)
        self._running = stack

    async def _close(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.aclose()
