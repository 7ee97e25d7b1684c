"""An OpenAI-compatible server that plays the LLM judge from known labels, with faults on demand.

``python -m tests.servers.judge_server --labels FILE --port 0`` prints its address as one JSON line
and serves until SIGTERM; in a test, ``async with JudgeServer(labels) as server`` does the same.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from aiohttp import web

from tests.servers.judge_bias import Bias
from tests.servers.judge_faults import Fault, FaultPlan, FaultRule, Injector
from tests.servers.judge_http import (
    BROKEN_OFF,
    MODEL,
    REASONING,
    completion,
    dumps,
    error_response,
    limit,
    logprobs,
    read_body,
    send_cut,
    send_slowly,
)
from tests.servers.judge_labels import Labels
from tests.servers.judge_log import JudgeLog, LogEntry
from tests.servers.judge_reply import honest_reply
from tests.servers.judge_request import BadRequest, Task, read_request, shipped_prompts

__all__ = ["Bias", "Fault", "FaultPlan", "FaultRule", "JudgeServer", "Labels", "LogEntry", "main"]


class Gate(Protocol):
    """Who sees every request before the judge."""

    async def __call__(self, text: str) -> web.Response | None:
        """An answer in the judge's place, or none."""

    def answered(self, prompt: int, completion: int) -> None:
        """The judge answers, for so many tokens."""


class JudgeServer:
    """The simulated judge; an asynchronous context manager that serves while it is entered.

    ``prompts`` are the system messages it accepts, by default the shipped ones; ``snapshots`` the
    model ids that it answers with, by the name asked for. ``bias`` makes it wrong in a known way.
    ``gate`` sees every request first, and may answer in the judge's place. ``sureness`` is the
    probability of a word that it answers, told to whoever asks; None: it tells none.
    """

    def __init__(
        self,
        labels: Labels,
        plan: FaultPlan | None = None,
        *,
        port: int = 0,
        prompts: Mapping[Task, frozenset[str]] | None = None,
        bias: Bias | None = None,
        snapshots: Mapping[str, str] | None = None,
        gate: Gate | None = None,
        sureness: float | None = None,
    ) -> None:
        self.port = port
        self._gate, self._sureness = gate, sureness
        self._bias = bias or Bias()
        self._labels = labels
        self._injector = Injector(plan or FaultPlan())
        self._prompts = shipped_prompts() if prompts is None else prompts
        self._snapshots = snapshots or {}
        self._log = JudgeLog()
        self._in_flight = self._peak_in_flight = 0
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The API base for a client, such as litellm's ``api_base``."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/log", self._show_log)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def log(self) -> list[LogEntry]:
        """The requests so far, in the order of arrival."""
        return self._log.entries

    def counts(self) -> dict[str, int]:
        """``JudgeLog.counts`` and ``peak_in_flight``, the most requests answered at one time."""
        return {**self._log.counts(), "peak_in_flight": self._peak_in_flight}

    async def until_logged(self, requests: int) -> None:
        """Wait until that many requests have come in, answered or not."""
        await self._log.until(requests)

    async def _show_log(self, _: web.Request) -> web.Response:
        requests = [asdict(entry) for entry in self.log]
        return web.json_response({"counts": self.counts(), "requests": requests})

    async def _complete(self, http: web.Request) -> web.StreamResponse:
        self._in_flight += 1
        self._peak_in_flight = max(self._peak_in_flight, self._in_flight)
        try:
            if self._gate is not None and (turned_away := await self._gate(await http.text())):
                return turned_away
            return await self._answer(http, await http.text())
        except BadRequest as refusal:
            self._log.refuse(_now(), str(refusal))
            return error_response(400, "invalid_request_error", str(refusal))
        finally:
            self._in_flight -= 1

    async def _answer(self, http: web.Request, text: str) -> web.StreamResponse:
        body = read_body(text)
        request = read_request(body, self._prompts)
        if request.complaint is not None and not self._log.knows(request):
            raise BadRequest("complaint: the same request without a complaint was never made")
        reply = self._bias.apply(request, honest_reply(request, self._labels))
        strike = self._injector.strike(request, reply)
        content, reason = limit(body, strike, reply.encode())
        parameters = {key: value for key, value in body.items() if key != "messages"}
        self._log.record(_now(), request, strike, reason, parameters)
        model = self._snapshots.get(body["model"], MODEL)
        reasoning = REASONING if body.get("reasoning_effort") else 0
        answer = completion(request, content, reason, model, reasoning)
        if body.get("logprobs") and self._sureness is not None and content in ("yes", "no"):
            answer["choices"][0]["logprobs"] = logprobs(content, self._sureness)
        if self._gate is not None:
            self._gate.answered(**_tokens(answer))
        await self._closed_within(strike.latency_s)
        match strike.rule:
            case FaultRule(fault=Fault.RATE_LIMITED, seconds=seconds):
                return error_response(429, "rate_limit_error", "too many requests", seconds)
            case FaultRule(fault=Fault.SERVER_ERROR):
                return error_response(500, "server_error", "the server had an error")
            case FaultRule(fault=Fault.BODY_ERROR):
                return web.json_response({"error": BROKEN_OFF}, dumps=dumps)
            case FaultRule(fault=Fault.CHOICE_ERROR):
                answer["choices"][0] |= {"finish_reason": "error", "error": BROKEN_OFF}
            case FaultRule(fault=Fault.TIMEOUT):
                await self._closed_within(math.inf)
            case FaultRule(fault=Fault.TRICKLE):
                return await send_slowly(http, answer, self._closed_within)
            case FaultRule(fault=Fault.CUT_BODY, position=position):
                return await send_cut(http, answer, position)
        return web.json_response(answer, dumps=dumps)

    async def _closed_within(self, seconds: float) -> None:
        """Wait; end early with an error when the server shuts down, so that nothing hangs."""
        if seconds <= 0:
            return
        timeout = None if math.isinf(seconds) else seconds
        try:
            await asyncio.wait_for(self._closing.wait(), timeout)
        except TimeoutError:
            return
        raise web.HTTPServiceUnavailable


def _tokens(answer: Mapping[str, Any]) -> dict[str, int]:
    usage = answer["usage"]
    return {"prompt": usage["prompt_tokens"], "completion": usage["completion_tokens"]}


def _now() -> float:
    return asyncio.get_running_loop().time()


async def serve(labels: Labels, plan: FaultPlan, port: int) -> None:
    """Serve until SIGTERM or SIGINT; prints the bound address as one JSON line."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with JudgeServer(labels, plan, port=port) as server:
        address = {"host": "127.0.0.1", "port": server.port, "url": server.url}
        print(json.dumps({"event": "listening", **address}), flush=True)
        await stop.wait()


def main(arguments: list[str]) -> None:
    """The command line: ``--labels FILE [--faults FILE] [--port N]``."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers.judge_server")
    parser.add_argument("--labels", type=Path, required=True, help="JSONL, see class Labels")
    parser.add_argument("--faults", type=Path, help="JSON, see class FaultPlan")
    parser.add_argument("--port", type=int, default=0, help="0: a free port")
    options = parser.parse_args(arguments)
    plan = FaultPlan()
    if options.faults is not None:
        plan = FaultPlan.model_validate_json(options.faults.read_bytes())
    asyncio.run(serve(Labels.read(options.labels), plan, options.port))


if __name__ == "__main__":
    main(sys.argv[1:])
