"""Hostile texts in every position, through litellm and a real server that reads strictly."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from random import Random

import pytest

from monitor.judge.llm.judge import LlmJudge, LlmSettings
from monitor.judge.pipeline.plans import PipelineName
from monitor.records import Interaction, Judgement, Passage, Source
from tests.servers.judge_labels import Labels
from tests.servers.judge_server import JudgeServer
from tests.stages.hostile_texts import FRAGMENTS, whole

COUNT = 40


def text(rng: Random, name: str) -> str:
    """A hostile text that no other one is equal to."""
    return whole("".join(rng.choices(FRAGMENTS, k=rng.randint(1, 8))) + name)


def claim(rng: Random, name: str) -> str:
    """The same, but without halves of characters: no server can answer with one."""
    pieces = [piece for piece in FRAGMENTS if not any("\ud800" <= c <= "\udfff" for c in piece)]
    return "".join(rng.choices(pieces, k=rng.randint(1, 8))) + name


def hostile(i: int) -> tuple[Interaction, Labels]:
    """An interaction that is hostile throughout, and its labels: passage 1 supports claim 1."""
    rng = Random(i)
    item = Interaction(
        interaction_id=text(rng, f"id{i}"),
        event_time=datetime(2026, 1, 1, tzinfo=UTC),
        application="app",
        user_input=text(rng, f"q{i}"),
        response=text(rng, f"a{i}"),
        retrieved_contexts=tuple(Passage(text=text(rng, f"p{i}.{j}")) for j in (1, 2)),
        reference=text(rng, f"r{i}"),
        source=Source(topic="t", partition=0, offset=i),
    )
    c = tuple(claim(rng, f"c{i}.{k}") for k in (1, 2))
    r = (claim(rng, f"r{i}.1"),)
    reference = item.reference or ""
    first, second = (passage.text for passage in item.retrieved_contexts)
    joined = f"{first}\n{second}"
    own = {(one, item.response) for one in c} | {(one, reference) for one in r}
    return item, Labels(
        claims={(item.user_input, item.response): c, (item.user_input, reference): r},
        supported=frozenset(own | {(c[0], first), (c[0], joined), (c[1], reference)}),
        relevant=frozenset([(item.user_input, second)]),
    )


@pytest.mark.parametrize("pipeline", ["joint", "single", "ragas"])
async def test_every_verdict_is_the_labels_own(pipeline: PipelineName) -> None:
    """No request is refused or asked twice, no verdict moves, and claims arrive as they are."""
    cases = [hostile(i) for i in range(COUNT)]
    labels = Labels()
    for _, known in cases:
        labels |= known
    async with JudgeServer(labels) as server:
        judge = LlmJudge(
            LlmSettings(
                model="judge",
                api_base=server.url,
                pipeline=pipeline,
                retries=0,
                relevant_to_question="judged",
            )
        )
        places = asyncio.Semaphore(16)

        async def judged(item: Interaction) -> Judgement:
            async with places:
                return await judge.judge(item)

        found = await asyncio.gather(*(judged(item) for item, _ in cases))
        counts = server.counts()
        await judge.aclose()
    assert (counts["refused"], counts["reasks"]) == (0, 0)
    for (item, known), judgement in zip(cases, found, strict=True):
        assert judgement.claims.response == known.claims[item.user_input, item.response]
        verdicts = judgement.verdicts
        assert verdicts.response_by_passage == ((True, False), (False, False))
        assert verdicts.response_by_context == (True, False)
        assert verdicts.response_by_reference == (False, True)
        assert verdicts.reference_by_passage == ((False, False),)
        assert verdicts.reference_by_response == (False,)
        assert verdicts.relevant_to_question == (False, True)
