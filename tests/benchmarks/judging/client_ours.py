"""The monitor's own judge, as the scorer builds it, over litellm and HTTP.

``--variant PIPELINE/CLAIMS_PER_CALL[/shifted]``; ``shifted`` reads every verdict one place off, to
show that the comparison of scores would notice.
"""

from __future__ import annotations

import argparse
import asyncio
from datetime import datetime
from typing import Any

from monitor.judge.llm import LlmJudge, LlmSettings
from monitor.records import Interaction, Judgement, Passage, Source, Verdicts
from tests.benchmarks.judging.harness import Judge, Scores, main
from tests.benchmarks.judging.truth import scores


def make(options: argparse.Namespace) -> Judge:
    """The client; its connections belong to one event loop, which is kept."""
    pipeline, claims_per_call, *more = options.variant.split("/")
    judge = LlmJudge(settings(options.url, pipeline, int(claims_per_call)))
    loop = asyncio.new_event_loop()

    async def judge_all(items: list[dict[str, Any]], concurrency: int) -> Scores:
        places = asyncio.Semaphore(concurrency)

        async def one(item: dict[str, Any]) -> tuple[str, dict[str, float | None]]:
            async with places:
                judgement = await judge.judge(interaction(item))
            return item["interaction_id"], scores(shifted(judgement) if more else judgement)

        return dict(await asyncio.gather(*map(one, items)))

    return lambda items, concurrency: loop.run_until_complete(judge_all(items, concurrency))


def settings(url: str, pipeline: str, claims_per_call: int) -> LlmSettings:
    """A judge that asks the server at ``url``."""
    del pipeline
    return LlmSettings(
        model="openai/cost-judge", api_base=f"{url}/v1", claims_per_call=claims_per_call, retries=0
    )


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
    """The judgement with the verdicts of each matrix moved on by one place."""
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
