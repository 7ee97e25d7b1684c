"""An OpenAI-compatible server around a model that is a Python object, such as one that guesses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Protocol, Self

from aiohttp import web


class Answering(Protocol):
    """The model."""

    def answer(self, user: str) -> str:
        """The reply to a user message."""


class StubJudgeServer:
    """An asynchronous context manager that serves while it is entered; ``model`` may be changed.

    ``others`` answer in its place where a request asks for them by name. ``before`` is awaited
    before the reply to a user message.
    """

    def __init__(
        self,
        model: Answering,
        others: Mapping[str, Answering] | None = None,
        before: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        self.model, self.others, self.port, self._before = model, others or {}, 0, before
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The API base for a client, such as litellm's ``api_base``."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
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

    async def _complete(self, http: web.Request) -> web.Response:
        body = await http.json()
        model = self.others.get(body["model"], self.model)
        asked = body["messages"][-1]["content"]
        if self._before is not None:
            await self._before(asked)
        reply = model.answer(asked)
        return web.json_response(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1_700_000_000,
                "model": body["model"],
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": reply},
                        "finish_reason": "stop",
                    }
                ],
                "usage": {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320},
            }
        )
