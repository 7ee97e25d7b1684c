"""The server that all three clients ask: it knows the truth, and counts what it is asked.

``python -m tests.benchmarks.judging.server LABELS.jsonl`` prints its address and serves until
SIGTERM. ``POST /begin?latency_ms=N`` forgets the counts; ``GET /counts`` tells them, and
``GET /asked`` every request as it was understood, in the order of arrival.

Tokens of every client are counted with one tokenizer, OpenAI's cl100k_base: system messages, user
messages and tool schemas in, the reply's text out. What frames messages is left out for all.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.benchmarks.judging.dialects import Answered, Asked, Polyglot
from tests.servers.judge_labels import Labels
from tests.servers.judge_request import BadRequest, shipped_prompts
from tests.tokens import count_tokens

# Static texts come with every call.
_static = lru_cache(maxsize=64)(count_tokens)


@dataclass
class Ledger:
    """The requests since the last ``/begin``."""

    calls: int = 0
    system_tokens: int = 0
    user_tokens: int = 0
    schema_tokens: int = 0
    completion_tokens: int = 0
    extract_calls: int = 0
    refused: int = 0
    in_flight: int = 0
    peak: int = 0
    #: The longest chain of calls of which each began after the one before had ended.
    sequential: int = 0
    asked: list[Asked] = field(default_factory=list)
    chain_end: float = float("-inf")

    def ended(self, began: float, now: float) -> None:
        """A call is over. Ends come in order, so taking the first that fits gives the longest."""
        if began >= self.chain_end:
            self.sequential += 1
            self.chain_end = now


class CostServer:
    """The routes, over one ledger."""

    def __init__(self, labels: Labels) -> None:
        self._polyglot = Polyglot(labels, shipped_prompts())
        self._ledger = Ledger()
        self._latency_s = 0.0

    def application(self) -> web.Application:
        """What is served."""
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/begin", self._begin)
        app.router.add_get("/counts", self._counts)
        app.router.add_get("/asked", self._asked)
        return app

    async def _begin(self, request: web.Request) -> web.Response:
        self._latency_s = float(request.query.get("latency_ms", "0")) / 1000
        self._ledger = Ledger()
        return web.json_response({})

    async def _counts(self, _: web.Request) -> web.Response:
        counts = {
            key: value
            for key, value in vars(self._ledger).items()
            if isinstance(value, int)  # the rest is for us
        }
        return web.json_response(counts)

    async def _asked(self, _: web.Request) -> web.Response:
        return web.json_response([asdict(asked) for asked in self._ledger.asked])

    async def _complete(self, request: web.Request) -> web.Response:
        ledger, loop = self._ledger, asyncio.get_running_loop()
        began = loop.time()
        ledger.in_flight += 1
        ledger.peak = max(ledger.peak, ledger.in_flight)
        try:
            body = await request.json()
            answered = self._polyglot.answer(body)
            usage = _entered(ledger, body, answered)
            await asyncio.sleep(self._latency_s)
            return web.json_response(_completion(body, answered, usage))
        except BadRequest as refusal:
            ledger.refused += 1
            error = {"message": str(refusal), "type": "invalid_request_error"}
            return web.json_response({"error": error}, status=400)
        finally:
            ledger.in_flight -= 1
            ledger.ended(began, loop.time())


def _entered(ledger: Ledger, body: dict[str, Any], answered: Answered) -> dict[str, int]:
    """Add a call to the ledger; its usage as OpenAI reports it."""
    by_role = {"system": 0, "user": 0}
    fixed = len(body["messages"]) - 1
    for place, message in enumerate(body["messages"]):
        # Worked examples may stand as turns between the system message and the last one.
        is_static = (place < fixed and answered.asked.client == "ours") or message[
            "role"
        ] == "system"
        role = "system" if is_static else "user"
        by_role[role] += (_static if is_static else count_tokens)(message["content"])
    schema = _static(json.dumps(body["tools"])) if body.get("tools") else 0
    completion = count_tokens(answered.text)
    ledger.calls += 1
    ledger.extract_calls += answered.asked.task == "extract"
    ledger.system_tokens += by_role["system"]
    ledger.user_tokens += by_role["user"]
    ledger.schema_tokens += schema
    ledger.completion_tokens += completion
    ledger.asked.append(answered.asked)
    prompt = sum(by_role.values()) + schema
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _completion(body: dict[str, Any], answered: Answered, usage: dict[str, int]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answered.text}
    reason = "stop"
    if body.get("tools"):
        name = body["tools"][0]["function"]["name"]
        call = {"name": name, "arguments": answered.text}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call-1", "type": "function", "function": call}],
        }
        reason = "tool_calls"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "cost-judge-1",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": usage,
    }


async def serve(labels: Labels) -> None:
    """Serve on a free port until the process is ended."""
    runner = web.AppRunner(CostServer(labels).application(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Labels.read(Path(sys.argv[1]))))
