"""Refusals of real providers, word for word, sent over HTTP and read through the client library."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from monitor.errors import JudgeFailed
from monitor.judge.llm.judge import LlmClient, LlmSettings
from monitor.judge.pipeline.asking import TOO_LONG
from monitor.judge.provider.faults import CallFailed
from monitor.judge.provider.refusals import Action, ErrorBody, action_for, read_body
from tests.servers.judge_weather import spoken
from tests.stages.refusals import CASES, name

#: The client library's route; Bedrock's own wants an AWS library, and the body is the same.
ROUTES = {
    "openai": "openai/gpt-4o",
    "azure": "azure/gpt-4o",
    "anthropic": "anthropic/claude-3-5-haiku-latest",
    "gemini": "gemini/gemini-2.0-flash",
    "vllm": "hosted_vllm/judge",
    "openrouter": "openrouter/openai/gpt-4o",
    "litellm_proxy": "litellm_proxy/gpt-4o",
    "bedrock": "hosted_vllm/judge",
}


@asynccontextmanager
async def refusing(case: dict[str, Any]) -> AsyncIterator[str]:
    """A server that answers everything with this refusal; its address."""

    async def refuse(_: web.Request) -> web.Response:
        return spoken(case["status"], case["body"], case["headers"])

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", refuse)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def failure(case: dict[str, Any]) -> JudgeFailed:
    async with refusing(case) as address:
        model = ROUTES[case["provider"]]
        client = LlmClient(LlmSettings(model=model, api_base=address, api_key="k", retries=0))
        try:
            with pytest.raises(JudgeFailed) as caught:
                await client("verify_claims", "system", "user")
        finally:
            await client.aclose()
    return caught.value


@pytest.mark.parametrize("case", CASES, ids=name)
async def test_a_real_refusal_says_what_to_do(case: dict[str, Any]) -> None:
    """Every row of the table: the action and the reason, whatever the client makes of it."""
    failed = await failure(case)
    assert failed.reason == case["reason"]
    if case["action"] == Action.SHRINK:
        assert failed.reason == TOO_LONG
        return
    assert isinstance(failed, CallFailed)
    assert failed.fault.action == case["action"]
    if asked := case["headers"].get("retry-after"):
        assert failed.fault.wait_s == float(asked)


def test_the_table_covers_eight_providers_and_every_action() -> None:
    """At least 25 bodies, none twice."""
    assert len({json.dumps(case) for case in CASES}) == len(CASES) >= 25
    assert {case["provider"] for case in CASES} == set(ROUTES)
    assert {case["action"] for case in CASES} == set(Action)


async def test_google_says_how_long_to_wait_in_the_body() -> None:
    """``retryDelay`` stands for Retry-After."""
    (case,) = (case for case in CASES if "retryDelay" in json.dumps(case))
    failed = await failure(case)
    assert isinstance(failed, CallFailed)
    assert failed.fault.wait_s == 38.0


_SLOWLY = {"code": 429, "message": "Rate limit exceeded"}
_CHOICE = {"index": 0, "finish_reason": "error", "message": {"role": "assistant", "content": ""}}


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        *((one, {"error": _SLOWLY}) for one in ("openai", "azure", "litellm_proxy")),
        *(
            (one, {"choices": [_CHOICE | {"error": _SLOWLY}]})
            for one in ("openai", "azure", "vllm", "openrouter", "litellm_proxy")
        ),
    ],
)
async def test_retry_after_holds_beside_a_status_that_says_all_is_well(
    provider: str, body: dict[str, Any]
) -> None:
    """A gateway that finds the error late has sent its status, and its headers mean the same."""
    case = {"provider": provider, "status": 200, "body": body, "headers": {"Retry-After": "7"}}
    failed = await failure(case)
    assert isinstance(failed, CallFailed)
    assert (failed.fault.action, failed.fault.wait_s) == (Action.WAIT, 7.0)


def test_words_of_the_traffic_stop_nothing() -> None:
    """What a body quotes of the request is not where codes are looked for."""
    quoted = {
        "detail": [{"type": "missing", "loc": ["body"], "input": {"code": "invalid_api_key"}}]
    }
    found = action_for(400, read_body(json.dumps(quoted)))
    assert found == (Action.FALLBACK, "rejected")
    assert action_for(500, ErrorBody(frozenset({"invalid_api_key"}))) == (
        Action.RETRY,
        "server_error",
    )


@pytest.mark.parametrize("body", ["", "null", "[]", "3", '"no"', "{", "[" * 5000, '{"error": 3}'])
def test_a_body_that_is_no_error_object_has_no_codes(body: str) -> None:
    """Then the status alone decides."""
    assert read_body(body).codes == frozenset()
    assert action_for(429, read_body(body)) == (Action.WAIT, "rate_limited")


@pytest.mark.parametrize(
    ("action", "reason", "statuses"),
    [
        (Action.RETRY, "timeout", (408, 504)),
        (Action.RETRY, "rejected", (409, 425)),
        (Action.RETRY, "server_error", (500, 502, 599)),
        (Action.WAIT, "rate_limited", (429,)),
        (Action.WAIT, "server_error", (503, 529)),
        (Action.SHRINK, "too_long", (413,)),
        (Action.STOP, "auth", (401, 402, 403, 407)),
        (Action.STOP, "rejected", (404, 410)),
        (Action.FALLBACK, "rejected", (400, 405, 418, 422, 600)),
    ],
)
def test_a_status_alone_says_what_to_do(
    action: Action, reason: str, statuses: tuple[int, ...]
) -> None:
    """Where the body says nothing more."""
    assert {action_for(status, ErrorBody()) for status in statuses} == {(action, reason)}


@pytest.mark.parametrize("status", [400, 422, 429, 500])
def test_too_long_is_told_with_many_statuses(status: int) -> None:
    """A self-hosted model says so with 500, and some with 429."""
    body = {"object": "error", "message": "The Prompt is too long: 9000 tokens"}
    assert action_for(status, read_body(json.dumps(body))) == (Action.SHRINK, "too_long")


def test_codes_are_found_in_any_case_and_in_lists_of_details() -> None:
    """A body of several errors, and one that is nested as deep as no provider's."""
    several = {"error": {"details": [{"reason": "OTHER"}, {"reason": "API_KEY_INVALID"}]}}
    assert read_body(json.dumps(several)).codes == {"other", "api_key_invalid"}
    deep: dict[str, Any] = {"code": "invalid_api_key"}
    for _ in range(10):
        deep = {"error": deep}
    assert read_body(json.dumps(deep)).codes == frozenset()
