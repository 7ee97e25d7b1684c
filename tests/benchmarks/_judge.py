"""A judge model that costs almost nothing, so that a benchmark measures the monitor.

``python -m tests.benchmarks._judge LATENCY`` prints its address and serves until SIGTERM. It finds
two claims in every text and says yes to every pair, after ``LATENCY`` seconds a call.
"""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.servers.guarded import GuardedProcess
from tests.stages.process import until

#: Rounds of calls that follow one another in a judgement: both texts' claims, then the verdicts.
CALLS_IN_SEQUENCE = 2


def reply(asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request, as the wire format says."""
    if asked["task"] == "extract_claims":
        return {"claims": [f"{asked['text'][:40]} {i}" for i in (1, 2)]}
    listed = list(asked["documents"])
    passages = [key for key in listed if key.isdigit()]
    answers: dict[str, Any] = {"n": asked["n"]}
    for claim in asked["claims"]:
        texts = ["R", "A"] if claim.startswith("c") else ["A", "R"]
        answers[claim] = " ".join(f"{x}y" for x in [*passages, *(t for t in texts if t in listed)])
    return answers


def application(latency_s: float) -> web.Application:
    """The server's one route."""

    async def complete(request: web.Request) -> web.Response:
        messages = (await request.json())["messages"]
        content = json.dumps(reply(json.loads(messages[-1]["content"])))
        await asyncio.sleep(latency_s)
        message = {"role": "assistant", "content": content}
        tokens = {"prompt_tokens": 700, "completion_tokens": 60, "total_tokens": 760}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "x", "object": "chat.completion", "created": 0, "model": "light-judge-1"}
        return web.json_response({**body, "choices": [choice], "usage": tokens})

    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", complete)
    return app


async def serve(latency_s: float) -> None:
    """Serve on a free port until the process is ended."""
    runner = web.AppRunner(application(latency_s), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    await asyncio.Event().wait()


@asynccontextmanager
async def light_judge(latency_s: float, directory: Path) -> AsyncIterator[dict[str, Any]]:
    """The settings of a monitor that asks such a judge, which runs in a process of its own."""
    log = directory / f"judge-{uuid.uuid4().hex[:8]}.log"
    command = [sys.executable, "-m", "tests.benchmarks._judge", str(latency_s)]
    process = GuardedProcess(command, log)
    try:
        url = await until(lambda: log.read_text().strip(), "the judge's address")
        yield {
            "judge__kind": "llm",
            "judge__model": "openai/judge",
            "judge__api_base": url.splitlines()[-1],
            "judge__api_key": "none",
            "judge__canaries": "0",
        }
    finally:
        process.end()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
