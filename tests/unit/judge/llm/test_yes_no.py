"""Pairs over HTTP: what a model is asked beside one, and what its alternatives say."""

from __future__ import annotations

import json
import math
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from monitor.errors import JudgeFailed
from monitor.judge.llm.dry_run import DryRunJudge
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.llm.yes_no import probability
from monitor.judge.pipeline.identity import LlmSettings, extraction_version, identify
from monitor.records import Judgement
from tests.servers.judge_server import JudgeServer
from tests.stages.captured_log import captured_log
from tests.stages.judge_case import LABELS, interaction

#: Three documents, the response and the reference, four claims, and the unsupported one once more.
CALLS = 2 + 4 * 5 + 1


def settings(server: JudgeServer, model: str = "openai/judge", **more: Any) -> LlmSettings:
    made = {"api_base": server.url, "api_key": "sk-unit", "retries": 0, "pipeline": "pairs"}
    return LlmSettings(model=model, **{**made, **more})


async def judged(made: LlmSettings) -> Judgement:
    judge = LlmJudge(made)
    async with aclosing(judge):
        return await judge.judge(interaction())


@pytest.mark.parametrize(
    ("model", "more", "most"),
    [
        ("openai/judge", {}, 8),
        ("judge", {"structured": "json_schema"}, 8),
        ("openai/gpt-5-mini", {}, 8 + 4096),
    ],
)
async def test_a_pair_asks_for_one_word_and_its_probability(
    model: str, more: dict[str, Any], most: int
) -> None:
    """A few tokens beside those of reasoning, no JSON mode, and the alternatives to the word."""
    async with JudgeServer(LABELS, sureness=0.9) as server:
        await judged(settings(server, model, **more))
        pairs = [entry.parameters for entry in server.log if entry.task == "judge_pair"]
        others = [entry.parameters for entry in server.log if entry.task != "judge_pair"]
        assert server.counts()["refused"] == 0
    assert len(pairs) + len(others) == CALLS
    for sent in pairs:
        assert sent.get("max_completion_tokens", sent.get("max_tokens")) == most
        assert "response_format" not in sent
    if model != "openai/gpt-5-mini":  # which has none
        assert {(sent["logprobs"], sent["top_logprobs"]) for sent in pairs} == {(True, 5)}
    assert all("logprobs" not in sent for sent in others)


async def test_probabilities_of_both_words_in_any_case() -> None:
    """Yes at 0.9 is 0.9, no at 0.9 is 0.1: shares of ``No`` and `` No`` are one."""
    async with JudgeServer(LABELS, sureness=0.9) as server:
        found = await judged(settings(server))
    assert found.probabilities["c1"] == {"1": 0.1, "2": 0.9, "3": 0.1, "A": 0.9, "R": 0.1}
    assert found.probabilities["c2"]["+"] == 0.1
    assert found.verdicts.response_by_passage == ((False, True, False), (False, False, False))
    assert found.usage.calls == CALLS
    assert found.judge.pipeline == "pairs"


async def test_without_probabilities_the_word_counts_and_that_is_said_once() -> None:
    """A server that ignores what it is asked for."""
    with captured_log("info", "json") as logged:
        async with JudgeServer(LABELS) as server:
            found = await judged(settings(server))
        events = [json.loads(line) for line in logged().splitlines()]
    assert found.probabilities["c1"] == {"1": 0.0, "2": 1.0, "3": 0.0, "A": 1.0, "R": 0.0}
    said = [event for event in events if event["event"] == "judge_tells_no_probabilities"]
    assert [event["model"] for event in said] == ["openai/judge"]


class Refusing:
    """A gate that refuses to tell probabilities, as OpenAI words it for some of its models."""

    def __init__(self, status: int, message: str) -> None:
        self._status, self._message = status, message
        self.refused = 0

    async def __call__(self, text: str) -> web.Response | None:
        if not json.loads(text).get("logprobs"):
            return None
        self.refused += 1
        error = {"message": self._message, "type": "invalid_request_error", "code": None}
        return web.json_response({"error": error}, status=self._status)

    def answered(self, prompt: int, completion: int) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "You are not allowed to request logprobs from this model."),
        (400, "This model does not support logprobs"),
    ],
)
async def test_a_server_that_refuses_them_is_asked_without(status: int, message: str) -> None:
    """At once, and from then on: the same judgement, by words."""
    gate = Refusing(status, message)
    async with JudgeServer(LABELS, sureness=0.9, gate=gate) as server:
        judge = LlmJudge(settings(server, calls_at_once=1))
        async with aclosing(judge):
            first, second = await judge.judge(interaction()), await judge.judge(interaction())
    assert first.verdicts == second.verdicts
    assert first.probabilities["c1"]["2"] == 1.0
    assert gate.refused == 1


async def test_another_refusal_is_a_failure() -> None:
    """Not every error has to do with probabilities."""
    async with JudgeServer(LABELS, gate=Refusing(400, "no such parameter")) as server:
        with pytest.raises(JudgeFailed) as caught:
            await judged(settings(server))
    assert caught.value.reason == "rejected"


def told(*alternatives: tuple[object, object]) -> dict[str, Any]:
    top = [{"token": token, "logprob": logprob} for token, logprob in alternatives]
    return {"logprobs": {"content": [{**top[0], "top_logprobs": top}]}}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (told(("yes", math.log(0.8)), ("no", math.log(0.2))), 0.8),
        (told((" Yes", math.log(0.3)), ("YES", math.log(0.3)), ("No", math.log(0.2))), 0.75),
        (told(("no", 0.0)), 0.0),
        (told(("Maybe", math.log(0.9)), ("yes", math.log(0.1))), 1.0),
        (told(("y", math.log(0.9)), ("n", math.log(0.1))), None),
        (told(("yes", float("nan"))), None),
        (told(("yes", 0.5)), None),
        (told(("yes", float("-inf"))), None),
        (told((["yes"], "high")), None),
        ({"logprobs": {"content": []}}, None),
        ({"logprobs": {"content": "yes"}}, None),
        ({"logprobs": None}, None),
        ({}, None),
    ],
)
def test_what_a_server_tells_of_the_first_word(
    choice: dict[str, Any], expected: float | None
) -> None:
    """The share of yes among both words; None for whatever is no probability."""
    found = probability(choice)
    assert found == (None if expected is None else pytest.approx(expected))


def test_white_space_before_the_word_is_passed_over() -> None:
    """Some models begin a line first."""
    choice = told(("yes", math.log(0.6)), ("no", math.log(0.4)))
    choice["logprobs"]["content"].insert(0, {"token": "\n", "logprob": 0.0, "top_logprobs": []})
    assert probability(choice) == pytest.approx(0.6)


def test_the_threshold_is_part_of_the_version_where_it_counts() -> None:
    """Of pairs, if it is not the usual one; and of no claims."""
    pairs = LlmSettings(model="m", pipeline="pairs")
    other = LlmSettings(model="m", pipeline="pairs", threshold=0.3)
    joint = LlmSettings(model="m", threshold=0.3)
    versions = [identify(made, "p", ("m",)).version for made in (pairs, other, joint)]
    assert len(set(versions)) == 3
    assert versions[2] == identify(LlmSettings(model="m"), "p", ("m",)).version
    assert extraction_version(pairs, "i", "m") == extraction_version(other, "i", "m")


async def test_examples_are_part_of_the_version_where_any_is_shown() -> None:
    """A pair has none; the questions that may be asked beside it have."""
    pairs = LlmSettings(model="m", pipeline="pairs")
    versions = []
    for made in (pairs, replace(pairs, evidence="quote")):
        shaped = replace(made, examples="shaped")
        versions.append(len({LlmJudge(one).identity.version for one in (made, shaped)}))
    assert versions == [1, 2]


async def test_a_rehearsal_counts_the_calls_of_pairs() -> None:
    """Nobody is asked; one call a pair, each with its instructions."""
    judge = DryRunJudge(LlmSettings(model="openai/judge", pipeline="pairs"))
    found = await judge.judge(interaction())
    assert found.usage.calls == 2 + 4 * 5  # every pair is supported
    assert 22 * 100 < found.usage.prompt_tokens < 22 * 400
