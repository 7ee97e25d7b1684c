"""What the benchmark of a real model rests on: replies are kept, figures are right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest

from monitor.judge.pipeline.identity import LlmSettings
from tests.benchmarks.modelled.figures import area, balanced
from tests.benchmarks.modelled.recording import RecordingServer
from tests.benchmarks.modelled.rivals import bare
from tests.benchmarks.modelled.sets import Labelled, asked_canaries, groups, pairs, referenced
from tests.benchmarks.real_model import SETS, guessing, run
from tests.servers.stub_judge_server import StubJudgeServer
from tests.stages.stub_judges import HABITS, Erring, Stub

KINDS = tuple((name, SETS[name]) for name in ("pairs", "groups", "references"))


class Counting:
    """A model that says how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def answer(self, user: str) -> str:
        self.asked += 1
        return f"{user} {self.asked}"


async def _said(url: str, text: str) -> str:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/chat/completions", json=body) as response,
    ):
        answer = await response.json()
    said: str = answer["choices"][0]["message"]["content"]
    return said


async def test_what_was_asked_once_is_not_asked_again(tmp_path: Path) -> None:
    """Not in the same run, and not in the next one with the same file."""
    model, replies = Counting(), tmp_path / "replies.jsonl"
    async with StubJudgeServer(model) as behind:
        for _ in range(2):
            async with RecordingServer(behind.url, replies) as server:
                told = [await _said(server.url, text) for text in ("a", "b", "a")]
            assert told == ["a 1", "b 2", "a 1"]
    assert model.asked == 2


def test_a_mix_has_every_set_in_turns() -> None:
    """Each as often as it is alone, and none at one end."""
    sets = {name: {each.interaction.interaction_id for each in make(60)} for name, make in KINDS}
    order = [
        next(name for name, ids in sets.items() if each.interaction.interaction_id in ids)
        for each in SETS["mixed"](60)
    ]
    assert {name: order.count(name) for name in sets} == {
        name: len(ids) for name, ids in sets.items()
    }
    assert {*order[:5]} == {*order[-5:]} == {*sets}


async def test_errors_are_handed_on_and_not_kept(tmp_path: Path) -> None:
    """A run that goes on later asks again."""
    replies = tmp_path / "replies.jsonl"
    async with StubJudgeServer(Counting()) as behind:
        wrong = behind.url.removesuffix("/v1")
        async with RecordingServer(wrong, replies) as server:
            with pytest.raises(aiohttp.ContentTypeError):
                await _said(server.url, "a")
    assert not replies.exists()


@pytest.mark.parametrize("make", [pairs, groups, referenced, asked_canaries])
def test_sets_are_as_large_as_asked_for_and_labelled(make: Callable[[int], list[Labelled]]) -> None:
    """Labels of both kinds, one for each claim and text where texts are asked about one by one."""
    found = make(8)
    assert len(found) == 8
    assert {label for each in found for label in each.labels} == {True, False}
    for each in found:
        if each.asked:
            assert len(each.labels) == sum(len(claims) for _, claims in each.asked)


def test_figures_are_right() -> None:
    """Of a judge that is always right, one that guesses, and one without a label of one kind."""
    right = [[(True, True), (False, False)]]
    assert (balanced(right), balanced([[(True, True)]])) == (1.0, None)
    assert area([[(True, 0.4), (False, 0.4)], [(True, 0.9), (False, 0.1)]]) == 0.875


async def test_a_run_asks_the_judge_as_the_monitor_does() -> None:
    """A model that knows the canaries is right in all; one that says n is found to guess."""
    told = []
    async with StubJudgeServer(Erring(0.0, seed=1)) as server:
        settings = LlmSettings(model="m", api_base=server.url, structured="prompt", retries=0)
        for model in (Erring(0.0, seed=1), Stub(HABITS["always n"])):
            server.model = model
            found = await run(settings, asked_canaries(12))
            assert found.judged == 12
            assert found.accepted == found.firsts >= 12
            told.append((balanced(found.hits), guessing(found)))
    assert told[0] == (1.0, "judges; 12 of 12 canaries wholly right")
    assert told[1] == (
        0.5,
        "answers, but does not judge: found at canary 10; 0 of 12 canaries wholly right",
    )


async def test_the_bare_question_counts_the_word_where_no_probability_is_told() -> None:
    """And what is another word is no verdict."""
    said = iter(["Yes.", "no", "perhaps", "Yes"])

    class Saying:
        def answer(self, user: str) -> str:
            return next(said)

    async with StubJudgeServer(Saying()) as server:
        found = await bare(server.url, "m", pairs(4))
    assert (found.asked, found.judged) == (4, 3)
    assert [verdict for hits in found.hits for _, verdict in hits] == [True, False, True]
