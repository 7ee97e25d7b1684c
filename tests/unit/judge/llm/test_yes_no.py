"""Pairs over HTTP: what a model is asked beside one, and what its alternatives say."""

from __future__ import annotations

import json
import math
from contextlib import aclosing
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from monitor.errors import JudgeFailed
from monitor.judge.llm.dry_run import DryRunJudge
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.llm.yes_no import probability
from monitor.judge.pipeline.identity import LlmSettings, extraction_version, identify
from monitor.judge.pipeline.pairing import word
from monitor.judge.protocol import CostMeter
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

    def __init__(self, status: int, message: str, times: int = 1_000) -> None:
        self._status, self._message, self._times = status, message, times
        self.refused = 0

    async def __call__(self, text: str) -> web.Response | None:
        if not json.loads(text).get("logprobs") or self.refused >= self._times:
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


@pytest.mark.parametrize(
    ("status", "times", "refused", "by_word"),
    [(500, 2, 2, 0), (500, 99, 3, CALLS - 2), (503, 1, 1, 0)],
)
async def test_a_passing_error_that_quotes_the_request_ends_no_probabilities(
    status: int, times: int, refused: int, by_word: int
) -> None:
    """One is no sign that the server has none; where it is away it is waited for."""
    gate = Refusing(status, 'overloaded: {"logprobs": true}', times)
    with captured_log("info", "json") as logged:
        async with JudgeServer(LABELS, sureness=0.9, gate=gate) as server:
            judge = LlmJudge(settings(server, calls_at_once=1, retries=2))
            async with aclosing(judge):
                first, second = await judge.judge(interaction()), await judge.judge(interaction())
    assert first.verdicts == second.verdicts
    assert gate.refused == refused
    assert ("judge_tells_no_probabilities" in logged()) == (by_word > 0)
    sure = [value for row in second.probabilities.values() for value in row.values()]
    assert sum(value in (0.0, 1.0) for value in sure) == by_word
    if status == 503:
        assert first.probabilities == second.probabilities


async def test_what_calls_at_once_meet_is_one_find() -> None:
    """A moment of errors that quote the request ends no probabilities, however many meet it."""
    gate = Refusing(500, 'overloaded: {"logprobs": true}', 8)
    async with JudgeServer(LABELS, sureness=0.9, gate=gate) as server:
        judge = LlmJudge(settings(server, calls_at_once=8))
        async with aclosing(judge):
            await judge.judge(interaction())
            found = await judge.judge(interaction())
    assert gate.refused == 8
    assert not {p for row in found.probabilities.values() for p in row.values()} & {0.0, 1.0}


async def test_another_refusal_is_a_failure() -> None:
    """Not every error has to do with probabilities."""
    async with JudgeServer(LABELS, gate=Refusing(400, "no such parameter")) as server:
        with pytest.raises(JudgeFailed) as caught:
            await judged(settings(server))
    assert caught.value.reason == "rejected"


def told(*alternatives: tuple[object, object], then: tuple[str, ...] = ()) -> dict[str, Any]:
    """The first is the token that was taken; the tokens after it stand without alternatives."""
    top = [{"token": token, "logprob": logprob} for token, logprob in alternatives]
    rest = [{"token": token, "logprob": 0.0, "top_logprobs": []} for token in then]
    return {"logprobs": {"content": [{**top[0], "top_logprobs": top}, *rest]}}


def untold(choice: dict[str, Any]) -> dict[str, Any]:
    """The same, without a probability where the token that was taken is named once more."""
    top = choice["logprobs"]["content"][0]["top_logprobs"]
    choice["logprobs"]["content"][0]["top_logprobs"] = [{**top[0], "logprob": None}, *top[1:]]
    return choice


def of(weight: float) -> float:
    return math.log(weight)


@pytest.mark.parametrize(
    ("reply", "choice", "expected"),
    [
        ("yes", told(("yes", of(0.8)), ("no", of(0.2))), 0.8),
        (" Yes", told((" Yes", of(0.3)), ("YES", of(0.3)), ("No", of(0.2))), 0.75),
        ("no", told(("no", of(0.3)), ("No", of(0.1)), ("Yes", of(0.6))), 0.6),
        ("no", told(("no", 0.0)), 0.0),
        ("yes", told(("yes", float("nan"))), None),
        ("yes", told(("yes", 0.5)), None),
        ("yes", told(("yes", float("-inf"))), None),
        ("yes", told((["yes"], "high")), None),
        ("yes", told(("yes", "high")), None),
        ("yes", told(("yes", -(10**400))), None),
        ("yes", told(("yes", False)), None),
        ("yes", told(("yes", str(of(0.8))), ("no", str(of(0.2)))), 0.8),
        ("yes", {"logprobs": {"content": []}}, None),
        ("yes", {"logprobs": {"content": "yes"}}, None),
        ("yes", {"logprobs": {"content": [None, 3]}}, None),
        ("yes", {"logprobs": None}, None),
        ("yes", {}, None),
    ],
)
def test_what_a_server_tells_of_the_word(
    reply: str, choice: dict[str, Any], expected: float | None
) -> None:
    """The share of yes among both words; None for whatever is no probability."""
    found = probability(choice, reply, said=bool(word(reply)))
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("reply", "choice", "expected"),
    [
        # Beginnings of a word count where the one that was taken is no more than that.
        ("NO", told(("N", of(0.98)), ("Yes", of(0.01)), then=("O",)), 0.01 / 0.99),
        ("YES", told(("Y", of(0.6)), ("No", of(0.2)), ("n", of(0.2)), then=("ES",)), 0.6),
        ("Yes", told(("Y", of(0.9)), (" no", of(0.0001)), then=("es",)), 0.9 / 0.9001),
        ("no", told(("no", of(0.6)), ("Y", of(0.4))), 0.0),
        # Nobody knows how they would have gone on, so they say nothing against the word.
        ("NO", told(("N", of(0.4)), ("Y", of(0.3)), ("Yes", of(0.3)), then=("O",)), None),
        # As tokenizers write spaces; the same text twice is two tokens.
        ("No", told(("\u2581No", of(0.9)), ("\u2581Yes", of(0.06)), ("No", of(0.04))), 0.06),
        ("No", told(("\u0120No", of(0.9)), ("\u0120Yes", of(0.06)), ("No", of(0.04))), 0.06),
        ("No", told(("No", of(0.9)), ("Yes", of(0.06)), ("No", of(0.04))), 0.06),
        # It may be named among the others without a probability.
        ("no", untold(told(("no", of(0.9)), ("yes", of(0.1)))), 0.1),
        # What only ends a reply is none of it.
        ("no", told(("no", of(0.9)), ("yes", of(0.1)), then=("\n", "<|im_end|>")), 0.1),
    ],
)
def test_tokens_that_are_no_whole_word(
    reply: str, choice: dict[str, Any], expected: float | None
) -> None:
    """They count only as far as they speak of the word of the reply."""
    found = probability(choice, reply, said=bool(word(reply)))
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    "choice",
    [
        told(("Okay", of(0.9)), ("Yes", of(0.03)), then=("no",)),
        told(("No", of(0.9)), ("Yes", of(0.03)), then=(" doubt", " it", " does", "no")),
        told(("<think>", of(0.9)), ("Yes", of(0.03)), then=("Hm", "</think>", "no")),
        told(("Maybe", of(0.9)), ("yes", of(0.1))),
        told(("yes", of(0.9)), ("no", of(0.1))),
        told(("n", of(0.9)), ("yes", of(0.1))),
        told(("no", -math.inf), ("yes", of(0.1))),
        told(("no", None), ("yes", of(0.1))),
    ],
)
def test_tokens_of_something_else_are_no_probability(choice: dict[str, Any]) -> None:
    """Of thoughts, of another word, or without a share of the word that was taken."""
    assert probability(choice, "no", said=False) is None


class Saying:
    """A gate that answers no to every pair, to who asks for them with these log-probabilities.

    ``thinks``: its words come after a thought. ``every``: in so many pairs once.
    """

    def __init__(self, choice: dict[str, Any], *, thinks: bool = False, every: int = 1) -> None:
        self._choice, self._thinks, self._every, self.pairs = choice, thinks, every, 0

    async def __call__(self, text: str) -> web.Response | None:
        body = json.loads(text)
        if json.loads(body["messages"][-1]["content"])["task"] != "judge_pair":
            return None
        self.pairs += 1
        is_told = body.get("logprobs") and self.pairs % self._every == 0
        content = "<think>\n\n</think>\n\nno" if self._thinks else "no"
        message = {"role": "assistant", "content": content}
        message |= {} if self._thinks else {"reasoning_content": "Okay"}
        usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
        whole = {"index": 0, "finish_reason": "stop", "message": message}
        whole |= self._choice if is_told else {}
        made = {"object": "chat.completion", "id": "1", "created": 1, "model": "m"}
        return web.json_response({**made, "choices": [whole], "usage": usage})

    def answered(self, prompt: int, completion: int) -> None:
        """Nothing."""


async def test_the_word_counts_where_a_server_tells_of_thoughts() -> None:
    """The verdicts are those of the reply, whatever a thought could have begun with."""
    choice = told(("Okay", of(0.9)), ("Yes", of(0.03)), then=("no",))
    async with JudgeServer(LABELS, gate=Saying(choice)) as server:
        found = await judged(settings(server))
    assert {p for by in found.probabilities.values() for p in by.values()} == {0.0}
    assert not any(any(row) for row in found.verdicts.response_by_passage)


#: A no that a model is fairly sure of, and the same with a token that only ends the reply.
NO = (("no", of(0.9)), ("yes", of(0.1)))
END = told(*NO, then=("",))


def without(choice: dict[str, Any], token: int, key: str) -> dict[str, Any]:
    """The same, with a key of one token left out."""
    made = deepcopy(choice)
    del made["logprobs"]["content"][token][key]
    return made


@pytest.mark.parametrize(
    ("model", "choice", "expected"),
    [
        ("judge", without(END, 1, "top_logprobs"), 0.1),
        ("hosted_vllm/judge", without(END, 1, "top_logprobs"), 0.1),
        ("openai/judge", told(*NO, ("Sure", None)), 0.1),
        ("judge", told(*NO, (None, of(0.01))), 0.1),
        ("judge", without(told(("no", of(0.9))), 0, "top_logprobs"), 0.0),
        ("judge", without(told(*NO), 0, "token"), 0.0),
        ("judge", told(("no", None), ("yes", None)), 0.0),
        ("judge", {"logprobs": {"content": "no"}}, 0.0),
        ("judge", {"logprobs": []}, 0.0),
    ],
)
async def test_a_reply_whose_probabilities_are_not_whole_is_read(
    model: str, choice: dict[str, Any], expected: float
) -> None:
    """Servers leave out fields or have null there; the word counts where they say nothing sure."""
    async with JudgeServer(LABELS, gate=Saying(choice)) as server:
        found = await judged(settings(server, model, price=(1.0, 1.0)))
    probabilities = {p for by in found.probabilities.values() for p in by.values()}
    assert list(probabilities) == [pytest.approx(expected)]
    # Two more are asked for the texts.
    assert found.usage.prompt_tokens > 9 * (CALLS - 2)
    assert found.usage.usd > 0


@pytest.mark.parametrize("model", ["lm_studio/judge", "judge"])
async def test_who_is_read_so_is_the_same_judge(model: str) -> None:
    """The library names the model by its route, and the version goes by that name."""
    odd = told(*NO, ("Sure", None))
    async with JudgeServer(LABELS, gate=Saying(odd, every=2)) as server:
        judge = LlmJudge(settings(server, model, calls_at_once=1))
        async with aclosing(judge):
            found = [await judge.judge(interaction()) for _ in range(2)]
    assert {one.judge for one in found} == {judge.identity}
    probabilities = [p for row in found[1].probabilities.values() for p in row.values()]
    assert sorted(set(probabilities)) == [0.0, pytest.approx(0.1)]


async def test_thoughts_beside_probabilities_that_are_not_whole_are_no_fault() -> None:
    """The library takes them out; so it is asked without probabilities, and that is paid for."""
    gates = [Saying(choice, thinks=True) for choice in (told(*NO), told(*NO, ("Sure", None)))]
    usages, values = [], []
    for gate in gates:
        async with JudgeServer(LABELS, gate=gate) as server:
            found = await judged(settings(server, "judge", calls_at_once=1))
        usages.append(found.usage)
        (value,) = {p for row in found.probabilities.values() for p in row.values()}
        values.append(value)
    assert values[0] == pytest.approx(0.1)
    assert values[1] == 0.0
    # Three times in a row it is seen that they cannot be had.
    assert gates[1].pairs == gates[0].pairs + 3
    assert usages[1].calls == usages[0].calls + 3
    assert usages[1].prompt_tokens == usages[0].prompt_tokens + 3 * 9


class Broken:
    """A gate whose first reply to a pair has probabilities that are not whole, and then an error.

    ``says``: what it answers; None: an error.
    """

    def __init__(self, says: str | None) -> None:
        self._says, self.asked = says, list[bool]()

    async def __call__(self, text: str) -> web.Response | None:
        body = json.loads(text)
        if json.loads(body["messages"][-1]["content"]).get("task") != "judge_pair":
            return None
        self.asked.append(bool(body.get("logprobs")))
        if self._says is None and not self.asked[-1]:
            return web.json_response({"error": {"message": "away"}}, status=500)
        message = {"role": "assistant", "content": self._says or "<think></think>no"}
        whole = {"index": 0, "finish_reason": "stop", "message": message}
        whole |= told(*NO, ("Sure", None)) if self.asked[-1] else {}
        usage = {"prompt_tokens": 1_000, "completion_tokens": 1, "total_tokens": 1_001}
        made = {"object": "chat.completion", "id": "1", "created": 1, "model": "m"}
        return web.json_response({**made, "choices": [whole], "usage": usage})

    def answered(self, prompt: int, completion: int) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("says", "asked", "reason"),
    [
        # Paid for, whatever comes of the second request.
        (None, {True, False}, "server_error"),
        # No word is no matter of the probabilities: they are asked for every time.
        ("Sorry", {True}, "malformed_reply"),
    ],
)
async def test_a_pair_that_fails_is_paid_for_and_ends_no_probabilities(
    says: str | None, asked: set[bool], reason: str
) -> None:
    """Whatever it fails for."""
    gate, spent = Broken(says), CostMeter()
    async with JudgeServer(LABELS, gate=gate) as server:
        judge = LlmJudge(settings(server, "judge", calls_at_once=1))
        async with aclosing(judge):
            with pytest.raises(JudgeFailed) as caught:
                await judge.judge(interaction(), spent)
    assert (caught.value.reason, set(gate.asked)) == (reason, asked)
    assert spent.usage.prompt_tokens >= 1_000 * gate.asked.count(True)


def test_white_space_before_the_word_is_passed_over() -> None:
    """Some models begin a line first."""
    choice = told(("yes", of(0.6)), ("no", of(0.4)))
    choice["logprobs"]["content"].insert(0, {"token": "\n", "logprob": 0.0, "top_logprobs": []})
    assert probability(choice, "\nyes", said=True) == pytest.approx(0.6)


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
