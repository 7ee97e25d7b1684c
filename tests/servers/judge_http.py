"""The OpenAI-compatible side of the simulated judge: bodies, errors, cut connections."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from aiohttp import web

from tests.servers.judge_faults import Fault, Strike
from tests.servers.judge_request import BadRequest, Request

MODEL = "judge-sim-1"
REASONING = 64  # tokens of a model that is told how hard to think
#: What a gateway says of the model behind it, once it has sent a status of 200.
BROKEN_OFF = {"code": 502, "message": "Provider returned error"}


def dumps(value: object) -> str:
    """JSON in raw UTF-8."""
    return json.dumps(value, ensure_ascii=False)


def read_body(text: str) -> Mapping[str, Any]:
    """The JSON object in a request's body; raises ``BadRequest``."""
    try:
        body = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadRequest(f"body: not JSON: {error}") from error
    if not isinstance(body, dict):
        raise BadRequest("body: expected a JSON object")
    return body


def limit(body: Mapping[str, Any], strike: Strike, honest: str) -> tuple[str, str]:
    """The text to send and its finish reason; ``max_tokens`` cuts as a real server does."""
    content = honest if strike.text is None else strike.text
    most = body.get("max_completion_tokens", body.get("max_tokens"))
    if most is not None and len(content) // 4 > most:
        return content[: most * 4], "length"
    cut = strike.rule is not None and strike.rule.fault is Fault.CUT_JSON
    return content, strike.rule.finish_reason if strike.rule and cut else "stop"


def completion(
    request: Request, content: str, reason: str, model: str = MODEL, reasoning: int = 0
) -> dict[str, Any]:
    """A chat completion; tokens are counted as four characters each, and those of reasoning."""
    written = len(content) // 4 + reasoning
    tokens = {"prompt_tokens": request.prompt_tokens, "completion_tokens": written}
    details = {"completion_tokens_details": {"reasoning_tokens": reasoning}} if reasoning else {}
    message = {"role": "assistant", "content": content}
    return {
        "id": f"chatcmpl-{request.conversation}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {**tokens, "total_tokens": sum(tokens.values()), **details},
    }


def logprobs(word: str, probability: float) -> dict[str, Any]:
    """What a server says of a reply of one word: it, and the other one in two cases."""
    other = {"yes": "no", "no": "yes"}[word]
    rest = (1 - probability) / 2
    shares = {word: probability, other: rest, f" {other.title()}": rest}
    top = [{"token": token, "logprob": math.log(max(p, 1e-9))} for token, p in shares.items()]
    return {"content": [{**top[0], "top_logprobs": top}]}


def error_response(
    status: int, kind: str, message: str, retry_after_s: float | None = None
) -> web.Response:
    """An error as OpenAI words it."""
    headers = {} if retry_after_s is None else {"Retry-After": f"{retry_after_s:g}"}
    body = {"error": {"message": message, "type": kind, "param": None, "code": None}}
    return web.json_response(body, status=status, headers=headers, dumps=dumps)


async def send_slowly(
    http: web.Request, completion: dict[str, Any], wait: Callable[[float], Awaitable[None]]
) -> web.StreamResponse:
    """Send the whole body, a byte a second."""
    body = dumps(completion).encode()
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(body)
    await response.prepare(http)
    # Whoever asked has seldom the patience.
    with suppress(ConnectionResetError):
        for i in range(len(body)):
            await response.write(body[i : i + 1])
            await wait(1.0)
    return response


async def send_cut(
    http: web.Request, completion: dict[str, Any], position: int | None
) -> web.StreamResponse:
    """Promise the whole body, send a part of it and drop the connection."""
    body = dumps(completion).encode()
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(body)
    await response.prepare(http)
    await response.write(
        body[: min(len(body) // 2 if position is None else position, len(body) - 1)]
    )
    if http.transport is not None:
        http.transport.close()
    return response
