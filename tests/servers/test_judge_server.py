"""The simulated judge over HTTP: the contract's examples, re-asks, transport faults, its log."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.servers.judge_cases import (
    EXTRACT,
    LABELS,
    VERIFY,
    VERIFY_REPLY,
    ask,
    chat,
    objected,
    post,
)
from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer

ROOT = Path(__file__).parents[2]


def plan(fault: Fault, **settings: Any) -> FaultPlan:
    return FaultPlan(rules=(FaultRule(fault=fault, **settings),))


async def test_a_verification_is_answered_as_the_contract_shows() -> None:
    """Order of pairs, nonce and ``+`` are those of the contract's example, byte for byte."""
    async with JudgeServer(LABELS) as server:
        answer = await ask(server, VERIFY)
    assert (answer.status, answer.text) == (200, VERIFY_REPLY)
    assert answer.body["model"] == "judge-sim-1"
    assert answer.body["choices"][0]["finish_reason"] == "stop"
    assert answer.body["usage"]["completion_tokens"] == len(VERIFY_REPLY) // 4
    assert answer.body["usage"]["prompt_tokens"] > answer.body["usage"]["completion_tokens"]


async def test_an_extraction_is_answered_with_the_labelled_claims() -> None:
    """Claims come as one compact JSON object; a text without claims gives an empty list."""
    async with JudgeServer(LABELS) as server:
        found = [(await ask(server, EXTRACT)).text]
        found.append(
            (await ask(server, {"task": EXTRACT["task"], "question": "?", "text": "空"})).text
        )
    assert found == ['{"claims":["Acme never moved its seat."]}', '{"claims":[]}']


async def test_a_bad_request_is_refused_and_logged() -> None:
    """The message of the 400 says what was wrong, and the log keeps it."""
    async with JudgeServer(LABELS) as server:
        answer = await ask(server, {**VERIFY, "n": 7})
    assert answer.status == 400
    assert "n: found 7" in answer.body["error"]["message"]
    assert [entry.refused for entry in server.log] == [answer.body["error"]["message"]]
    assert server.counts()["refused"] == 1


async def test_a_reask_is_the_same_conversation() -> None:
    """After one bad reply, the re-ask with a complaint is answered right; the log joins the two."""
    async with JudgeServer(LABELS, plan(Fault.MISSING_ID)) as server:
        bad = await ask(server, VERIFY)
        good = await post(server, objected(VERIFY, bad.text))
    first, second = server.log
    assert bad.text != VERIFY_REPLY == good.text
    assert (first.fault, first.reask, first.attempt) == ("missing_id", False, 1)
    assert (second.fault, second.reask, second.attempt) == (None, True, 2)
    assert first.conversation == second.conversation
    assert (first.nonce, server.counts()["groundless_reasks"]) == (742, 0)


async def test_a_complaint_needs_a_reason() -> None:
    """Refused when nothing was asked before; counted as groundless after a right reply."""
    complaint = objected(VERIFY, "{}")
    async with JudgeServer(LABELS) as server:
        assert (await post(server, complaint)).status == 400
        await ask(server, VERIFY)
        assert (await post(server, complaint)).status == 200
    assert server.counts()["groundless_reasks"] == 1


async def test_a_rate_limit_passes_after_one_retry() -> None:
    """429 with Retry-After for the first attempt; the identical retry is answered."""
    async with JudgeServer(LABELS, plan(Fault.RATE_LIMITED, seconds=0.25)) as server:
        limited, answered = await ask(server, EXTRACT), await ask(server, EXTRACT)
    assert (limited.status, limited.headers["Retry-After"]) == (429, "0.25")
    assert answered.status == 200


async def test_a_fault_without_end_hits_every_attempt() -> None:
    """``times=None``: 500 again and again."""
    async with JudgeServer(LABELS, plan(Fault.SERVER_ERROR, times=None)) as server:
        assert [(await ask(server, EXTRACT)).status for _ in range(3)] == [500] * 3
    assert server.counts()["fault.500"] == 3


async def test_an_error_may_stand_in_an_answer() -> None:
    """Status 200, and the error in place of the choices, or beside a reply that is all there."""
    faults = FaultPlan(
        rules=(FaultRule(fault=Fault.BODY_ERROR), FaultRule(fault=Fault.CHOICE_ERROR))
    )
    async with JudgeServer(LABELS, faults) as server:
        found = [await ask(server, VERIFY) for _ in range(3)]
    assert [answer.status for answer in found] == [200] * 3
    assert found[0].body == {"error": {"code": 502, "message": "Provider returned error"}}
    assert [answer.text for answer in found[1:]] == [VERIFY_REPLY] * 2
    choices = [answer.body["choices"][0] for answer in found[1:]]
    assert choices[0]["error"] == found[0].body["error"]
    assert [choice["finish_reason"] for choice in choices] == ["error", "stop"]
    assert "error" not in choices[1]


@pytest.mark.parametrize(
    "faults",
    [plan(Fault.TIMEOUT), plan(Fault.LATENCY, seconds=3600)],
    ids=["timeout", "latency"],
)
async def test_a_hanging_request_is_let_go_at_shutdown(faults: FaultPlan) -> None:
    """The reply does not come, however long one waits; closing the server ends the wait."""
    async with asyncio.TaskGroup() as tasks, JudgeServer(LABELS, faults) as server:
        hanging = tasks.create_task(_status(server, chat(EXTRACT)))
        await server.until_logged(1)
        assert not hanging.done()
    assert hanging.result() == 503


async def _status(server: JudgeServer, body: dict[str, Any]) -> int:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{server.url}/chat/completions", json=body) as response,
    ):
        return response.status


async def test_the_connection_drops_at_a_chosen_byte() -> None:
    """``cut_body``: status 200 and a length, then exactly ``position`` bytes and no more."""
    received = bytearray()
    async with (
        JudgeServer(LABELS, plan(Fault.CUT_BODY, position=37)) as server,
        aiohttp.ClientSession() as session,
        session.post(f"{server.url}/chat/completions", json=chat(VERIFY)) as response,
    ):
        assert response.status == 200
        with pytest.raises(aiohttp.ClientPayloadError):
            await _receive(response, received)
    assert len(received) == 37 < int(response.headers["Content-Length"])


async def _receive(response: aiohttp.ClientResponse, received: bytearray) -> None:
    async for chunk in response.content.iter_any():
        received += chunk


async def test_max_tokens_cuts_with_finish_reason_length() -> None:
    """A reply longer than ``max_tokens`` ends there, as with a real server."""
    async with JudgeServer(LABELS) as server:
        answer = await ask(server, VERIFY, max_tokens=5)
    assert answer.text == VERIFY_REPLY[:20]
    assert answer.body["choices"][0]["finish_reason"] == "length"


async def test_requests_at_one_time_are_counted() -> None:
    """``peak_in_flight`` is the largest number of requests being answered at once."""
    faults = plan(Fault.TIMEOUT, times=None)
    async with asyncio.TaskGroup() as tasks, JudgeServer(LABELS, faults) as server:
        for _ in range(3):
            tasks.create_task(_status(server, chat(EXTRACT)))
        await server.until_logged(3)
    assert server.counts()["peak_in_flight"] == 3


async def test_it_runs_as_a_process_until_sigterm(tmp_path: Path) -> None:
    """It prints its address, answers, shows its log, and SIGTERM ends it with exit code 0."""
    LABELS.write(tmp_path / "labels.jsonl")
    (tmp_path / "faults.json").write_text('{"rules": [{"fault": "empty", "times": 1}]}')
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.servers.judge_server", "--port", "0"),
        *("--labels", str(tmp_path / "labels.jsonl"), "--faults", str(tmp_path / "faults.json")),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        address = json.loads(await process.stdout.readline())
        server = JudgeServer(LABELS, port=address["port"])
        assert (address["event"], address["url"]) == ("listening", server.url)
        texts = [(await ask(server, VERIFY)).text for _ in range(2)]
        log = await _get(f"http://127.0.0.1:{server.port}/log")
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert texts == ["", VERIFY_REPLY]
    assert [entry["fault"] for entry in log["requests"]] == ["empty", None]
    assert log["counts"]["verify_claims"] == 2


async def _get(url: str) -> Any:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return await response.json()
