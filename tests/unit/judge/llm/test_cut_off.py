"""What a request costs that the monitor hangs up on: real servers that do not answer in time."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from typing import Any, Self

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from monitor.app.judges import ConfiguredJudge, build_judges
from monitor.config import load
from monitor.errors import JudgeFailed
from monitor.judge.limits.budget import Budget
from monitor.judge.llm.judge import LlmClient
from monitor.judge.llm.library import count_tokens
from monitor.judge.pipeline.identity import LlmSettings
from monitor.judge.pipeline.parsing import ExtractRequest
from monitor.judge.pipeline.prompts import load_prompts
from monitor.records import Outcome, Usage
from monitor.sampling.hashing import Sampler
from monitor.scorer.judging import JudgeRun, JudgingInput, ScoringPolicy
from monitor.scorer.score_records import JudgingResult
from monitor.telemetry import ScorerTelemetry
from tests.servers.judge_server import JudgeServer
from tests.servers.judge_weather import Weather, spoken
from tests.servers.ports import free_ports
from tests.stages.judge_case import LABELS, QUESTION, REFERENCE, RESPONSE, interaction

#: Two ways to the same answer, of which the library uses one for OpenAI and one for many others.
ROUTES = ("openai/judge", "hosted_vllm/judge")
#: US dollars for a token: of a prompt, of a reply.
PRICE = (0.001, 0.002)
SYSTEM = load_prompts().of("extract_claims", "")
USER = ExtractRequest(QUESTION, RESPONSE).message()
#: What is known of one request that was cut off.
PROMPT = count_tokens(SYSTEM) + count_tokens(USER)
CUT_OFF = Usage(calls=1, prompt_tokens=PROMPT, usd=PROMPT * PRICE[0])

Refusal = tuple[int, Any, dict[str, str]]


class Hangs(Weather):
    """A model that does not answer the first requests in time, or any; later ones it may refuse.

    ``told`` are the tokens of the prompts that were answered.
    """

    def __init__(
        self, first: int | None = None, model: str | None = None, refusal: Refusal | None = None
    ) -> None:
        super().__init__()
        self.refusal = refusal
        self.first, self._model, self.told = first, model, 0

    async def __call__(self, text: str) -> web.Response | None:
        """Hold a request up, or let it through."""
        self.requests.append(time.monotonic())
        if self._model not in (None, json.loads(text)["model"]):
            return None
        if self.first is None or len(self.requests) <= self.first:
            await asyncio.sleep(60)
        return None if self.refusal is None else spoken(*self.refusal)

    def answered(self, prompt: int, completion: int) -> None:
        """Those of a request that hangs are not among them."""
        self.told += prompt


@asynccontextmanager
async def client_of(
    url: str, model: str, *, retries: int = 0, attempt_timeout_s: float = 2.0
) -> AsyncIterator[LlmClient]:
    """A client of the model at an address; PRICE is for a token."""
    made = LlmClient(
        LlmSettings(
            model=model,
            api_base=url,
            api_key="k",
            price=(PRICE[0] * 1e6, PRICE[1] * 1e6),
            attempt_timeout_s=attempt_timeout_s,
            retries=retries,
        )
    )
    await made.prepare()
    try:
        yield made
    finally:
        await made.aclose()


async def cost_of_failure(client: LlmClient, reason: str) -> Usage:
    with pytest.raises(JudgeFailed) as caught:
        await client("extract_claims", SYSTEM, USER)
    assert caught.value.reason == reason
    assert isinstance(caught.value.usage, Usage)
    return caught.value.usage


def is_about(found: Usage, wanted: Usage) -> bool:
    return found == wanted.model_copy(update={"usd": pytest.approx(wanted.usd)})


@pytest.mark.parametrize("model", ROUTES)
async def test_each_attempt_without_an_answer_in_time_costs_its_prompt(model: str) -> None:
    """Three attempts are three calls: the provider has got each, and bills it."""
    gate = Hangs()
    async with (
        JudgeServer(LABELS, gate=gate) as server,
        client_of(server.url, model, retries=2) as client,
    ):
        found = await cost_of_failure(client, "timeout")
    assert len(gate.requests) == 3
    assert is_about(found, CUT_OFF + CUT_OFF + CUT_OFF)


async def test_what_was_cut_off_is_on_the_bill_of_the_reply() -> None:
    """Once: the first attempt by its prompt, the second by what the reply says."""
    async with (
        JudgeServer(LABELS, gate=Hangs(first=1)) as server,
        client_of(server.url, ROUTES[0], retries=1) as client,
    ):
        both = (await client("extract_claims", SYSTEM, USER)).usage
        alone = (await client("extract_claims", SYSTEM, USER)).usage
    assert is_about(both, CUT_OFF + alone)


@pytest.mark.parametrize("model", ROUTES)
async def test_a_connection_that_is_refused_costs_nothing(model: str) -> None:
    """Nothing was sent."""
    (port,) = free_ports(1)
    async with client_of(f"http://127.0.0.1:{port}/v1", model, retries=1) as client:
        assert await cost_of_failure(client, "connection") == Usage()


@pytest.mark.parametrize("model", ROUTES)
async def test_a_connection_that_is_lost_over_a_request_costs_its_prompt(model: str) -> None:
    """A gateway that hangs up has passed the request on before."""

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b'"role"')
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, client_of(f"http://127.0.0.1:{port}/v1", model) as client:
        found = await cost_of_failure(client, "connection")
    assert is_about(found, CUT_OFF)


class Bench:
    """A judge with a budget and telemetry, and what becomes of interactions by it."""

    def __init__(self, server: JudgeServer, **settings: str) -> None:
        flags = {
            "judge.kind": "llm",
            "judge.model": "openai/first",
            "judge.api_base": server.url,
            "judge.api_key": "k",
            "judge.cache.kind": "none",
            "judge.price.input_usd_per_million": str(PRICE[0] * 1e6),
            "judge.price.output_usd_per_million": str(PRICE[1] * 1e6),
            **{f"judge.{name}": value for name, value in settings.items()},
        }
        self.telemetry = ScorerTelemetry(CollectorRegistry())
        self.made: ConfiguredJudge
        (self.made,) = build_judges(load({}, flags=flags), self.telemetry)
        self.budget = Budget(1e6, UTC, lambda: 43_200.0)

    async def judged(self, reference: str | None = REFERENCE) -> JudgingResult:
        policy = ScoringPolicy(Sampler(1.0), self.made.judge, self.made.limits, budget=self.budget)
        judging_input = JudgingInput(interaction(reference=reference))
        return await JudgeRun(judging_input, policy, lambda: 0.0).result()

    async def __aenter__(self) -> Self:
        await self.made.judge.prepare()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.made.judge.aclose()

    def counted(self) -> tuple[float, float]:
        """Prompt tokens and US dollars by the counters."""
        families = self.telemetry.judge_tokens.labels("prompt"), self.telemetry.judge_usd
        prompt, usd = (
            sample.value
            for family in families
            for metric in family.collect()
            for sample in metric.samples
            if sample.name.endswith("_total")
        )
        return prompt, usd

    def is_counted_once(self, usage: Usage) -> bool:
        """By counters and budget, and also by the budget of who reads the record after it."""
        prompt, usd = self.counted()
        spent = [self.budget.spent()]
        later = Budget(1e6, UTC, lambda: 43_200.0)
        for budget in (self.budget, later):
            budget.recorded(43_200.0, ("t", 0, 0), usage.usd)
            spent.append(budget.spent())
        return (prompt, usd, *spent) == pytest.approx((usage.prompt_tokens, *(usage.usd,) * 4))


async def test_calls_that_the_deadline_cuts_off_cost_their_prompts() -> None:
    """That before it, which was given up for another attempt, and that under way by then."""
    gate = Hangs(first=0)
    more = {"deadline_s": "4", "attempt_timeout_s": "2.5"}
    async with JudgeServer(LABELS, gate=gate) as server, Bench(server, **more) as bench:
        well = await bench.judged(reference=None)
        assert well.usage.calls == len(gate.requests) == 2
        gate.first = None
        late = await bench.judged(reference=None)
    assert (late.outcome, late.reason) == (Outcome.JUDGE_FAILED, "deadline")
    assert late.usage.calls == len(gate.requests) - 2 == 2
    assert late.usage.prompt_tokens == 2 * PROMPT
    assert late.usage.usd == pytest.approx(2 * PROMPT * PRICE[0])
    assert bench.is_counted_once(well.usage + late.usage)


async def test_what_one_model_has_cost_is_on_the_judgement_of_the_next() -> None:
    """The first is cut off, then refuses; the second answers both calls."""
    refusal: Refusal = 400, {"error": {"code": "content_filter"}}, {}
    gate = Hangs(first=1, model="first", refusal=refusal)
    more = {"fallback_models": "openai/gpt-4o-mini", "attempt_timeout_s": "2.5"}
    async with JudgeServer(LABELS, gate=gate) as server, Bench(server, **more) as bench:
        result = await bench.judged(reference=None)
    assert (result.outcome, len(gate.requests)) == (Outcome.SCORED, 4)
    assert result.usage.calls == 3
    assert result.usage.prompt_tokens == gate.told + PROMPT
    assert result.usage.usd == pytest.approx(PROMPT * PRICE[0], rel=0.01)
    assert bench.is_counted_once(result.usage)
