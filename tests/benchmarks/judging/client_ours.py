"""The monitor's own judge, as the scorer builds it: litellm over HTTP, claims cached in memory.

``--variant PIPELINE/CLAIMS_PER_CALL[/shifted|/replayed]``. ``shifted`` reads all verdicts one place
off, to show that the comparison of scores would notice. ``replayed`` hears during the primers what
the model answers, and then gives the same answers from memory: what is left is our own CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, get_args

from monitor.judge.cache.claims import ClaimsCache
from monitor.judge.cache.memory import MemoryStore
from monitor.judge.llm.judge import LlmClient, LlmJudge
from monitor.judge.pipeline.asking import Asker
from monitor.judge.pipeline.extraction import Extractor
from monitor.judge.pipeline.identity import LlmSettings, identify
from monitor.judge.pipeline.pipeline import Pipeline
from monitor.judge.pipeline.plans import PLANS, PipelineName
from monitor.judge.pipeline.prompts import load_prompts
from monitor.judge.ports import Reply, Task, Terms
from monitor.records import Interaction, Judgement, Passage, Source, Verdicts
from tests.benchmarks.judging.harness import Judge, Scores, main
from tests.benchmarks.judging.truth import scores
from tests.stages.unobserved import Unobserved

MODEL = "cost-judge"
"""A bare name: a model that somebody serves at an address of their own."""


class Recorded:
    """The port ``Complete``: only the first time a question goes to the model."""

    def __init__(self, client: LlmClient) -> None:
        self._client = client
        self._known: dict[tuple[str, str], Reply] = {}

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        """A reply."""
        if (task, user) not in self._known:
            self._known[task, user] = await self._client(task, system, user, terms)
        return self._known[task, user]


def make(options: argparse.Namespace) -> Judge:
    """The client; its connections belong to one event loop, which is kept."""
    name, claims_per_call, *more = options.variant.split("/")
    found = settings(options.url, name, int(claims_per_call))
    judge = replayed(found) if "replayed" in more else cached(found)
    loop = asyncio.new_event_loop()

    async def judge_all(items: list[dict[str, Any]], concurrency: int) -> Scores:
        places = asyncio.Semaphore(concurrency)

        async def one(item: dict[str, Any]) -> tuple[str, dict[str, float | None]]:
            async with places:
                judgement = await judge(interaction(item))
            return item["interaction_id"], scores(
                shifted(judgement) if "shifted" in more else judgement
            )

        return dict(await asyncio.gather(*map(one, items)))

    return lambda items, concurrency: loop.run_until_complete(judge_all(items, concurrency))


def settings(url: str, pipeline: str, claims_per_call: int) -> LlmSettings:
    """A judge that asks the server at ``url``; raises ``ValueError`` for an unknown pipeline."""
    for known in get_args(PipelineName):
        if known == pipeline:
            return LlmSettings(
                model=MODEL,
                pipeline=known,
                api_base=f"{url}/v1",
                claims_per_call=claims_per_call,
                retries=0,
                max_calls=1_000,  # a call a pair
            )
    raise ValueError(f"no pipeline {pipeline}")


def cached(found: LlmSettings) -> Callable[[Interaction], Awaitable[Judgement]]:
    """As it is shipped."""
    store = MemoryStore(max_entries=10_000, max_bytes=2**26, ttl_s=3600, clock=time.monotonic)
    return LlmJudge(found, cache=ClaimsCache(store, Unobserved())).judge


def replayed(found: LlmSettings) -> Callable[[Interaction], Awaitable[Judgement]]:
    """The pipeline over a memory of replies, without a cache: every call is made."""
    prompts = load_prompts()
    asker = Asker(Recorded(LlmClient(found)), prompts)
    identity = identify(found, prompts.hash, (MODEL,))
    return Pipeline(
        asker, Extractor(asker), lambda _: identity, planner=PLANS[found.pipeline], caps=found.caps
    ).judge


def interaction(item: dict[str, Any]) -> Interaction:
    """An interaction from its native JSON."""
    return Interaction(
        interaction_id=item["interaction_id"],
        event_time=datetime.fromisoformat(item["timestamp"]),
        application=item["application"],
        user_input=item["user_input"],
        response=item["response"],
        retrieved_contexts=tuple(Passage(text=text) for text in item["retrieved_contexts"]),
        reference=item["reference"],
        source=Source(topic="costs", partition=0, offset=0),
    )


def shifted(judgement: Judgement) -> Judgement:
    """The judgement with the verdicts of the response's matrices moved on by one place."""
    verdicts = judgement.verdicts
    rows = [row[-1:] + row[:-1] for row in verdicts.response_by_passage]
    context = verdicts.response_by_context[-1:] + verdicts.response_by_context[:-1]
    reference = verdicts.response_by_reference
    moved = Verdicts(
        response_by_passage=tuple(rows),
        response_by_context=tuple(any(r) or f for r, f in zip(rows, context, strict=True)),
        response_by_reference=reference[-1:] + reference[:-1],
        reference_by_passage=verdicts.reference_by_passage,
        reference_by_response=verdicts.reference_by_response,
    )
    return judgement.model_copy(update={"verdicts": moved})


if __name__ == "__main__":
    main(make)
