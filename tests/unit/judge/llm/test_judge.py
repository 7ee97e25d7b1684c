"""The LLM judge over HTTP: what it sends beside the messages, who answered, and what it counts."""

from __future__ import annotations

import asyncio
import json
import time
import warnings
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from monitor.errors import JudgeFailed, ReplyRejected
from monitor.judge.limits.provider_gate import ProviderState
from monitor.judge.limits.provider_gates import ProviderGates
from monitor.judge.limits.quota import LocalQuota, PerMinute
from monitor.judge.llm.judge import LlmClient, LlmJudge
from monitor.judge.llm.library import hush
from monitor.judge.observers import CountedCalls
from monitor.judge.pipeline.identity import LlmSettings
from monitor.judge.pipeline.prompts import load_prompts
from monitor.judge.protocol import CostMeter
from monitor.judge.provider.faults import CallFailed
from monitor.records import Claims, Judgement, Usage
from monitor.telemetry import ScorerTelemetry
from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer
from tests.servers.judge_weather import spoken
from tests.stages.captured_log import captured_log
from tests.stages.judge_case import LABELS, QUESTION, RESPONSE, SHIPPING, WRONG, interaction
from tests.stages.refused_forms import Refusing

KEY = "sk-unit"
CLAIMS = '{"claims":["The warranty lasts 24 months."]}'
USER = json.dumps({"task": "extract_claims", "question": "q", "text": "text " * 200})


def settings(server: JudgeServer, model: str = "openai/judge", **more: Any) -> LlmSettings:
    return LlmSettings(model=model, api_base=server.url, api_key=KEY, retries=0, **more)


async def judged(
    made: LlmSettings, cost_meter: CostMeter | None = None
) -> tuple[LlmJudge, Judgement]:
    judge = LlmJudge(made)
    async with aclosing(judge):
        return judge, await judge.judge(interaction(), cost_meter)


@pytest.mark.parametrize(
    ("model", "more", "expected"),
    [
        # A name that the library does not know, at an address of one's own: a server of one's own.
        ("openai/judge", {}, {"temperature": 0, "seed": 7, "response_format": "json_schema"}),
        ("judge", {}, {"temperature": 0, "seed": 7, "response_format": "json_schema"}),
        # One that it knows: a gateway, which pays for what is sent.
        ("gpt-4o-mini", {}, {"temperature": 0, "seed": 7, "response_format": "json_object"}),
        ("openai/gpt-4o-mini", {}, {"response_format": "json_object"}),
        ("openai/judge", {"structured": "json_schema"}, {"response_format": "json_schema"}),
        ("openai/judge", {"structured": "prompt"}, {"response_format": None}),
        ("openai/judge", {"reasoning_effort": "high"}, {"reasoning_effort": None}),
        # Models that reason: as little as they can, and room for it beside the reply.
        (
            "openai/gpt-5-mini",
            {},
            {"reasoning_effort": "minimal", "temperature": None, "max": 6144},
        ),
        ("openai/gpt-5-mini", {"reasoning_effort": "high"}, {"reasoning_effort": "high"}),
        ("openai/gpt-5.1", {}, {"reasoning_effort": "none", "max": 2048}),
        # Formats that the model has no word for.
        ("openai/gpt-4", {}, {"response_format": None, "max": 2048}),
    ],
)
async def test_a_model_is_told_what_it_can_be_told(
    model: str, more: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Temperature 0, a seed, the cheapest way to JSON and the least reasoning, where they exist."""
    async with JudgeServer(LABELS) as server:
        await judged(settings(server, model, **more))
        assert len(server.log) == 3
        assert server.counts()["refused"] == 0
        for entry in server.log:
            sent = dict(entry.parameters)
            sent["max"] = sent.get("max_completion_tokens", sent.get("max_tokens"))
            if entry.task == "verify_claims":
                # Its reply is as long as what is asked: here four claims and five documents.
                sent["max"] += 2_048 - 2 * (16 + 4 * (8 + 4 * 5))
            sent["response_format"] = (sent.get("response_format") or {}).get("type")
            assert {key: sent.get(key) for key in expected} == expected


BOTH = ("json_schema", "json_object")


@pytest.mark.parametrize(
    ("model", "more", "words", "taken", "refused_forms"),
    [
        ("judge", {}, ("json_schema",), "json_object", {"patterns"}),
        ("openai/judge", {}, ("json_schema",), "json_object", {"patterns"}),
        (
            "openai/judge",
            {"structured": "json_schema"},
            ("pattern",),
            "json_schema",
            {"patterns"},
        ),
        # As of a server that knows schemas alone, and no patterns in them.
        ("judge", {}, BOTH, None, {"patterns", "json_object"}),
        ("openai/judge", {}, BOTH, None, {"patterns", "json_object"}),
        ("judge", {}, ("pattern", "json_object"), None, {"patterns", "json_object"}),
    ],
)
async def test_a_provider_that_refuses_a_format_is_asked_in_the_next(
    model: str, more: dict[str, Any], words: tuple[str, ...], taken: str, refused_forms: set[str]
) -> None:
    """And in none where it refuses all: said once and remembered; the judgement is made."""
    refusing = Refusing(*words)
    with captured_log("warning", "json") as logged:
        async with JudgeServer(LABELS, gate=refusing) as server:
            # One text after the other: two at once would each find out for themselves.
            judge = LlmJudge(settings(server, model, calls_at_once=1, **more))
            async with aclosing(judge):
                first = await judge.judge(interaction())
                refused = refusing.refused
                await judge.judge(interaction())
            forms = [
                (entry.parameters.get("response_format") or {}).get("type") for entry in server.log
            ]
    assert first.verdicts.response_by_context == (True, False)
    assert forms[-1] == taken
    assert len(refused_forms) <= refused == refusing.refused
    assert judge.refused_forms == refused_forms
    lines = [json.loads(line) for line in logged().splitlines()]
    told = [line for line in lines if line["event"] == "judge_patterns_refused"]
    assert (told[-1]["of"], told[-1]["takes"]) == ("all", taken or "prompt")


async def test_a_provider_that_refuses_many_patterns_is_asked_without_for_those_alone() -> None:
    """A schema of one claim it takes, one of two it does not: whichever comes first, both judge.

    It is said, once.
    """
    one, two = Claims(response=(WRONG,)), Claims(response=(WRONG, SHIPPING))
    for order, of in (((one, two, one, two), "some requests"), ((two, one, two), "all")):
        gate = Refusing('"c2": {"type": "string"')
        with captured_log("warning", "json") as logged:
            async with JudgeServer(LABELS, gate=gate) as server:
                judge = LlmJudge(settings(server, "judge"))
                async with aclosing(judge):
                    for claims in order:
                        found = await judge.judge(interaction(), claims=claims)
                        assert found.claims == claims
        lines = [json.loads(line) for line in logged().splitlines()]
        told = [line["of"] for line in lines if line["event"] == "judge_patterns_refused"]
        assert (bool(judge.refused_forms), told) == (of == "all", [of])


async def test_what_is_refused_in_any_form_is_a_failure() -> None:
    """With the provider's own reason; the next judgement tries the first form again."""
    refusing = Refusing("")
    async with JudgeServer(LABELS, gate=refusing) as server:
        judge = LlmJudge(settings(server, "judge"))
        async with aclosing(judge):
            with pytest.raises(JudgeFailed) as caught:
                await judge.judge(interaction())
    assert caught.value.reason == "rejected"
    assert not judge.refused_forms


@pytest.mark.parametrize("status", [500, 501])
@pytest.mark.parametrize(
    ("words", "taken", "refused_forms"),
    [
        (("json_schema",), "json_object", {"patterns"}),
        (("pattern",), "json_object", {"patterns"}),
        (BOTH, None, {"patterns", "json_object"}),
    ],
)
async def test_a_server_that_breaks_at_a_format_is_asked_in_the_next(
    status: int, words: tuple[str, ...], taken: str | None, refused_forms: set[str]
) -> None:
    """Each time at once, and from the third time in a row on the format is given up, and said."""
    gate, forms = Refusing(*words, status=status), len(refused_forms)
    with captured_log("warning", "json") as logged:
        async with JudgeServer(LABELS, gate=gate) as server:
            judge = LlmJudge(settings(server, "judge", calls_at_once=1))
            async with aclosing(judge):
                refused = []
                for _ in range(4):
                    found = await judge.judge(interaction())
                    assert found.verdicts.response_by_context == (True, False)
                    refused.append(gate.refused)
            last = server.log[-1].parameters
    assert judge.refused_forms == refused_forms
    assert not judge.broken_forms
    assert (last.get("response_format") or {}).get("type") == taken
    # Three times those with patterns, or three times those without, of which there are more.
    assert refused[-1] == refused[-2] <= 5 * forms
    lines = [json.loads(line) for line in logged().splitlines()]
    told = [line for line in lines if line["event"] == "judge_patterns_refused"]
    assert [(line["of"], line["takes"]) for line in told] == [("all", taken or "prompt")]


async def test_errors_that_pass_switch_no_format_off() -> None:
    """Two in a row do not, nor does what many requests at once meet; every judgement is made."""
    claims = Claims(response=(WRONG,))
    for rounds, at_once in ((2, 1), (1, 8)):
        gate = Refusing("json_schema", status=500, most=rounds * at_once)
        async with JudgeServer(LABELS, gate=gate) as server:
            judge = LlmJudge(settings(server, "judge"))
            async with aclosing(judge):
                for _ in range(rounds):
                    jobs = (judge.judge(interaction(), claims=claims) for _ in range(at_once))
                    await asyncio.gather(*jobs)
                assert judge.broken_forms == {"patterns"}
                assert not judge.refused_forms
                await judge.judge(interaction(), claims=claims)
        assert gate.refused == rounds * at_once
        assert not judge.broken_forms
        assert server.log[-1].parameters["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("more", "requests"),
    [
        ({}, 3),
        # What comes after the first attempt is a retry as ever.
        ({"retries": 2}, 5),
        # Nor is anything asked beyond the ceiling.
        ({"max_calls": 2}, 2),
        # Somebody has chosen the form.
        ({"structured": "json_schema"}, 1),
        ({"structured": "json_object"}, 1),
    ],
)
async def test_a_server_that_is_down_is_hardly_asked_more(
    more: dict[str, Any], requests: int
) -> None:
    """An error in every form is one of the provider's, and no form is given up for it."""
    gate, claims = Refusing("", status=500), Claims(response=(WRONG,))
    async with JudgeServer(LABELS, gate=gate) as server:
        judge = LlmJudge(replace(settings(server, "judge"), **more))
        async with aclosing(judge):
            with pytest.raises(JudgeFailed) as caught:
                await judge.judge(interaction(), claims=claims)
    assert (caught.value.reason, gate.refused) == ("server_error", requests)
    assert not judge.refused_forms
    assert not judge.broken_forms


@pytest.mark.parametrize("status", [400, 500])
async def test_what_a_form_is_tried_with_is_in_the_limits_and_counts(status: int) -> None:
    """A server that never takes some requests in one form is asked twice for each of those."""
    registry, gate = CollectorRegistry(), Refusing('"c2": {"type": "string"', status=status)
    quota = LocalQuota(PerMinute(requests=10_000), time.monotonic)
    provider_gates = ProviderGates(quota=lambda _: quota)
    async with JudgeServer(LABELS, gate=gate) as server:
        made = settings(server, "judge")
        observe = CountedCalls(ScorerTelemetry(registry))
        judge = LlmJudge(made, observe=observe, provider_gates=provider_gates)
        async with aclosing(judge):
            for response in ((WRONG,), (WRONG, SHIPPING), (WRONG, SHIPPING)):
                await judge.judge(interaction(), claims=Claims(response=response))
    assert (gate.requests, gate.refused) == (5, 2)
    provider_gate = provider_gates.of(made)
    assert provider_gate.requests == 5
    assert quota.used_ratio("requests_per_minute") == pytest.approx(5 / 10_000)
    reason = {400: "rejected", 500: "server_error"}[status]
    counted = {
        labels: registry.get_sample_value(
            "rag_monitor_judge_calls_total", {"task": "verify_claims", "result": labels}
        )
        for labels in ("ok", reason)
    }
    assert counted == {"ok": 3, reason: 2}
    assert provider_gate.state is ProviderState.JUDGING


class Thinking:
    """A model whose thoughts count as its reply: without room for them it is cut before a word."""

    def __init__(self) -> None:
        self.room: list[int] = []

    async def __call__(self, text: str) -> web.Response | None:
        self.room.append(json.loads(text)["max_tokens"])
        if self.room[-1] >= 4_096:
            return None
        message = {"role": "assistant", "content": None, "reasoning_content": "Hmm"}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        choices = [{"index": 0, "message": message, "finish_reason": "length"}]
        return web.json_response({"id": "1", "choices": choices, "usage": usage, "model": "m"})

    def answered(self, prompt: int, completion: int) -> None:
        """Nothing."""


async def test_a_reply_that_is_cut_before_its_first_word_gets_room_for_thoughts() -> None:
    """From the second try on, and for every later reply."""
    thinking = Thinking()
    async with JudgeServer(LABELS, gate=thinking) as server:
        judge = LlmJudge(settings(server, calls_at_once=1))
        async with aclosing(judge):
            # The server knows of no request that the gate has answered: no complaint about it.
            with pytest.raises(JudgeFailed):
                await judge.judge(interaction())
            judgement = await judge.judge(interaction())
    assert judgement.verdicts.response_by_context == (True, False)
    assert thinking.room[0] == 2_048
    assert min(thinking.room[1:]) > 4_096


async def test_replies_may_be_as_long_as_it_is_set() -> None:
    """Of every kind alike, and for reasoning there is room beside."""
    async with JudgeServer(LABELS) as server:
        await judged(settings(server, max_tokens=777))
        assert {entry.parameters["max_tokens"] for entry in server.log} == {777}


async def test_extraction_and_verification_by_separate_models() -> None:
    """Each task goes to its model; both ids, as the provider gives them, are in the identity."""
    snapshots = {"big": "big-2026-01-01", "small": "small-2026-02-02"}
    async with JudgeServer(LABELS, snapshots=snapshots) as server:
        made = settings(server, "openai/big", extract_model="openai/small")
        before = LlmJudge(made).identity
        judge, judgement = await judged(made)
        models = [(entry.task, entry.parameters["model"]) for entry in server.log]
    assert before.model == "openai/big+openai/small"
    assert sorted(models) == [
        ("extract_claims", "small"),
        ("extract_claims", "small"),
        ("verify_claims", "big"),
    ]
    assert judgement.judge.model == "big-2026-01-01+small-2026-02-02"
    assert judge.identity == judgement.judge
    assert judge.identity.version != before.version


@pytest.mark.parametrize("structured", ["json_object", "json_schema"])
async def test_evidence_by_the_model_that_verifies(structured: str) -> None:
    """One more call, to the model of the verdicts: words of the passage for what it supports."""
    async with JudgeServer(LABELS) as server:
        made = settings(
            server,
            "openai/big",
            extract_model="openai/small",
            evidence="quote",
            structured=structured,
        )
        _, judgement = await judged(made)
        last = server.log[-1]
    assert (last.task, last.parameters["model"]) == ("quote_evidence", "big")
    assert judgement.evidence == {"c1": {"2": "The warranty lasts"}}
    assert judgement.usage.calls == 4


async def test_the_model_is_what_the_provider_last_returned() -> None:
    """The configured name before any reply, then the provider's id, also for a pick without one."""
    async with JudgeServer(LABELS, snapshots={"judge": "judge-2026-03-03"}) as server:
        judge = LlmJudge(settings(server))
        assert judge.identity.model == "openai/judge"
        judgement = await judge.judge(interaction())
        empty = await judge.judge(interaction(response="?!"))
        await judge.aclose()
    assert judgement.judge.model == empty.judge.model == "judge-2026-03-03"
    assert empty.usage == Usage()


def _saying(usage: object, content: object = CLAIMS) -> _Answering:
    """With a reply, and this as its usage; None: without one."""
    message = {"role": "assistant", "content": content}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    whole = {"object": "chat.completion", "model": "m", "choices": choices}
    return _Answering(whole if usage is None else whole | {"usage": usage})


class _Answering:
    """A gate that answers in the judge's place, with this body."""

    def __init__(self, body: object) -> None:
        self._body = body

    async def __call__(self, text: str) -> web.Response | None:
        return spoken(200, self._body, {})

    def answered(self, prompt: int, completion: int) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    "said",
    [
        None,
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": 300},
        {"completion_tokens": 12},
        {"prompt_tokens": -5, "completion_tokens": -7},
    ],
)
async def test_usage_that_a_provider_does_not_say_is_counted(said: dict[str, int] | None) -> None:
    """Or else neither tokens a minute nor the day's money would hold anything back."""
    async with JudgeServer(LABELS, gate=_saying(said)) as server:
        client = LlmClient(settings(server, "openai/gpt-4o-mini"))
        usage = (await client("extract_claims", "system", USER)).usage
        await client.aclose()
    _is_counted(usage, 5)


def _is_counted(usage: Usage, least: int) -> None:
    """By the texts of request and reply, and at the list price."""
    assert usage.calls == 1
    assert 200 < usage.prompt_tokens < 300
    assert least <= usage.completion_tokens < least + 15
    expected = (usage.prompt_tokens * 0.15 + usage.completion_tokens * 0.6) / 1e6
    assert usage.usd == pytest.approx(expected)


#: Two ways to the same answer, of which the library uses one for OpenAI and one for many others.
ROUTES = ("openai/gpt-4o-mini", "hosted_vllm/judge")


@pytest.mark.parametrize("model", ROUTES)
async def test_whole_numbers_count_however_they_are_written(model: str) -> None:
    """12.0 tokens are 12, and so are those of a text."""
    said = {"prompt_tokens": 12.0, "completion_tokens": "5"}
    async with JudgeServer(LABELS, gate=_saying(said)) as server:
        client = LlmClient(settings(server, model))
        usage = (await client("extract_claims", "system", USER)).usage
        await client.aclose()
    assert (usage.prompt_tokens, usage.completion_tokens) == (12, 5)


@pytest.mark.parametrize("model", ROUTES)
@pytest.mark.parametrize(
    ("said", "content", "least"),
    [
        ({"prompt_tokens": 250.5, "completion_tokens": 9}, CLAIMS, 5),
        ("a lot", CLAIMS, 5),
        ({"prompt_tokens": 250, "completion_tokens": 9}, ["of another type"], 0),
    ],
)
async def test_a_reply_that_the_library_rejects_is_paid_for(
    said: object, content: object, least: int, model: str
) -> None:
    """A model has written it; it is rejected as no message, and counted by its texts."""
    async with JudgeServer(LABELS, gate=_saying(said, content)) as server:
        client = LlmClient(settings(server, model, price=(0.15, 0.6)))
        with pytest.raises(ReplyRejected) as caught:
            await client("extract_claims", "system", USER)
        await client.aclose()
    assert caught.value.reason == "malformed_reply"
    assert caught.value.usage is not None
    _is_counted(caught.value.usage, least)


async def test_a_reply_of_odd_types_is_quoted_nowhere() -> None:
    """The library warns of it on the standard error, with the words of the reply."""
    gate = _saying(None, ["The warranty lasts 24 months."])
    async with JudgeServer(LABELS, gate=gate) as server:
        client = LlmClient(settings(server, ROUTES[0]))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            hush()
            with pytest.raises(ReplyRejected):
                await client("extract_claims", "system", USER)
        await client.aclose()
    assert [str(one.message) for one in told] == []


def _broken_off(written: str) -> dict[str, Any]:
    """An error beside what was written until then."""
    choice = {"index": 0, "message": {"role": "assistant", "content": written}}
    return {"error": {"code": 400, "message": "m"}, "choices": [choice]}


def _errs(written: str) -> dict[str, Any]:
    """A gateway's choice that ends with an error, and no usage."""
    message = {"role": "assistant", "content": written}
    error = {"code": 502, "message": "m"}
    choice = {"index": 0, "finish_reason": "error", "message": message, "error": error}
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]}


@pytest.mark.parametrize("model", ROUTES)
@pytest.mark.parametrize(
    ("body", "is_paid"),
    [
        ("<html>Bad gateway</html>", False),
        ({"error": {"code": 400, "message": "m"}, "choices": None}, False),
        (_broken_off(""), False),
        (_broken_off("The war"), True),
        (_errs(""), False),
        (_errs("The war"), True),
    ],
    ids=["page", "error", "nothing written", "broken off", "errs at once", "errs later"],
)
async def test_what_no_model_has_written_costs_nothing(
    body: object, is_paid: bool, model: str
) -> None:
    """A gateway's page or error; an error behind a part of a reply does cost what was written."""
    async with JudgeServer(LABELS, gate=_Answering(body)) as server:
        client = LlmClient(settings(server, model, price=(0.15, 0.6)))
        with pytest.raises(JudgeFailed) as caught:
            await client("extract_claims", "system", USER)
        await client.aclose()
    usage = caught.value.usage or Usage()
    assert (usage.prompt_tokens > 200, usage.completion_tokens > 0, usage.usd > 0) == (is_paid,) * 3


@pytest.mark.parametrize(
    "answers", ["", "accounts/fireworks/models/deepseek-r1", "a-gateway-s-own"]
)
async def test_what_has_a_price_is_not_free_under_another_name(answers: str) -> None:
    """Of some providers the library looks a price up by the name in the reply."""
    model = "fireworks_ai/accounts/fireworks/models/deepseek-r1"
    names = {model.removeprefix("fireworks_ai/"): answers}
    async with JudgeServer(LABELS, snapshots=names) as server:
        judge, judgement = await judged(settings(server, model))
    price, usage = judge.price_per_million(), judgement.usage
    assert price is not None
    assert price[0] > 0
    expected = (usage.prompt_tokens * price[0] + usage.completion_tokens * price[1]) / 1e6
    assert usage.usd == pytest.approx(expected)


async def test_reasoning_tokens_are_counted_apart() -> None:
    """In the usage and in the telemetry: completion is what was written, reasoning what was not."""
    telemetry = ScorerTelemetry(CollectorRegistry())
    async with JudgeServer(LABELS) as server:
        judge = LlmJudge(settings(server, "openai/gpt-5-mini"), observe=CountedCalls(telemetry))
        usage = (await judge.judge(interaction())).usage
        await judge.aclose()
        plain = (await judged(settings(server)))[1].usage
    assert (usage.calls, usage.reasoning_tokens) == (3, 3 * 64)
    assert usage.completion_tokens == plain.completion_tokens
    assert plain.reasoning_tokens == 0
    counted = {
        sample.labels["kind"]: sample.value
        for family in telemetry.judge_tokens.collect()
        for sample in family.samples
        if sample.name.endswith("_total")
    }
    assert counted == {
        "prompt": usage.prompt_tokens,
        "completion": usage.completion_tokens,
        "reasoning": usage.reasoning_tokens,
    }
    assert "reasoning_tokens" in usage.model_dump()
    assert "reasoning_tokens" not in plain.model_dump()


@pytest.mark.parametrize("model", ["openai/judge", "judge"])
async def test_an_answer_that_breaks_off_is_paid_for_and_asked_again(model: str) -> None:
    """Its text is all there and right, and still it is no reply; its tokens are on the bill."""
    rule = FaultRule(fault=Fault.CHOICE_ERROR, task="verify_claims")
    async with JudgeServer(LABELS, FaultPlan(rules=(rule,))) as server:
        made = LlmSettings(model=model, api_base=server.url, api_key=KEY)
        _, judgement = await judged(made)
        asked = [entry.task for entry in server.log]
    assert asked == ["extract_claims"] * 2 + ["verify_claims"] * 2
    assert judgement.usage.calls == 4
    assert judgement.verdicts.response_by_context == (True, False)


async def test_what_broke_off_is_on_the_cost_meter_of_a_failure() -> None:
    """Three times the same, and given up: nothing is scored, all three are paid for."""
    rule = FaultRule(fault=Fault.CHOICE_ERROR, task="extract_claims", times=None)
    async with JudgeServer(LABELS, FaultPlan(rules=(rule,))) as server:
        made = LlmSettings(model="openai/judge", api_base=server.url, api_key=KEY, retries=2)
        client = LlmClient(made)
        text = json.dumps({"task": "extract_claims", "question": QUESTION, "text": RESPONSE})
        system = load_prompts().of("extract_claims", "")
        with pytest.raises(CallFailed) as caught:
            await client("extract_claims", system, text)
        await client.aclose()
    assert (caught.value.reason, caught.value.usage.calls) == ("server_error", 3)
    assert caught.value.usage.prompt_tokens > 0


async def test_a_byte_a_second_is_a_timeout() -> None:
    """A reply that trickles in is cut off by the attempt's own time, and asked for again."""
    rule = FaultRule(fault=Fault.TRICKLE, task="verify_claims")
    async with JudgeServer(LABELS, FaultPlan(rules=(rule,))) as server:
        made = LlmSettings(
            model="openai/judge", api_base=server.url, api_key=KEY, attempt_timeout_s=0.5
        )
        _, judgement = await judged(made)
        assert judgement.verdicts.response_by_context == (True, False)
        assert [entry.fault for entry in server.log if entry.fault] == ["trickle"]
