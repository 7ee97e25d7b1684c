"""ragas 0.4.3 in an environment of its own: faithfulness and noise sensitivity in both modes.

``--variant collections`` takes the metrics that its documents recommend, over instructor;
``legacy`` those that ``ragas.evaluate`` runs, over langchain. An interaction's three metrics run
side by side, as ``evaluate`` runs them. ``evaluate`` is ``ragas.evaluate`` itself.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

from tests.benchmarks.judging.harness import Judge, Scores, main

MODES = ("relevant", "irrelevant")
Metric = Callable[[dict[str, Any]], Awaitable[float]]


def collections(url: str) -> dict[str, Metric]:
    """The metrics of ``ragas.metrics.collections``."""
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory
    from ragas.metrics.collections import Faithfulness, NoiseSensitivity

    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    llm = llm_factory("gpt-4o-mini", client=client)
    faithfulness = Faithfulness(llm=llm)

    async def faithful(item: dict[str, Any]) -> float:
        asked = {key: item[key] for key in ("user_input", "response", "retrieved_contexts")}
        return float((await faithfulness.ascore(**asked)).value)

    def noise(mode: str) -> Metric:
        metric = NoiseSensitivity(llm=llm, mode=mode)

        async def score(item: dict[str, Any]) -> float:
            keys = ("user_input", "response", "reference", "retrieved_contexts")
            return float((await metric.ascore(**{key: item[key] for key in keys})).value)

        return score

    return {"faithfulness": faithful, **{f"noise_sensitivity_{m}": noise(m) for m in MODES}}


def legacy(url: str) -> dict[str, Metric]:
    """The metrics of ``ragas.metrics``."""
    from langchain_openai import ChatOpenAI
    from ragas.dataset_schema import SingleTurnSample
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import Faithfulness, NoiseSensitivity

    model = ChatOpenAI(model="gpt-4o-mini", base_url=f"{url}/v1", api_key="none", max_retries=0)
    llm = LangchainLLMWrapper(model)

    def scorer(metric: Any) -> Metric:
        async def score(item: dict[str, Any]) -> float:
            keys = ("user_input", "response", "reference", "retrieved_contexts")
            turn = SingleTurnSample(**{key: item[key] for key in keys})
            return float(await metric.single_turn_ascore(turn))

        return score

    metrics: dict[str, Any] = {"faithfulness": Faithfulness(llm=llm)}
    metrics |= {f"noise_sensitivity_{m}": NoiseSensitivity(llm=llm, mode=m) for m in MODES}
    return {name: scorer(metric) for name, metric in metrics.items()}


def whole(url: str) -> Judge:
    """``ragas.evaluate`` over a set of samples, with so many workers as are asked at a time."""
    from langchain_openai import ChatOpenAI
    from ragas import EvaluationDataset, RunConfig, evaluate
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import Faithfulness, NoiseSensitivity

    model = ChatOpenAI(model="gpt-4o-mini", base_url=f"{url}/v1", api_key="none", max_retries=0)
    metrics = [Faithfulness(), *(NoiseSensitivity(mode=mode) for mode in MODES)]
    names = ["faithfulness", *(f"noise_sensitivity_{mode}" for mode in MODES)]
    keys = ("user_input", "response", "reference", "retrieved_contexts")

    def judge(items: list[dict[str, Any]], concurrency: int) -> Scores:
        found = evaluate(
            dataset=EvaluationDataset.from_list([{k: item[k] for k in keys} for item in items]),
            metrics=metrics,
            llm=LangchainLLMWrapper(model),
            run_config=RunConfig(max_workers=concurrency),
            show_progress=False,
        )
        # It gives NaN where a job of its own has failed.
        values = [[None if math.isnan(x) else x for x in row.values()] for row in found.scores]
        rows = [dict(zip(names, row, strict=True)) for row in values]
        return dict(zip((item["interaction_id"] for item in items), rows, strict=True))

    return judge


def make(options: argparse.Namespace) -> Judge:
    """The client; its connections belong to one event loop, which is kept."""
    # Where it cannot phone home it blocks the event loop for seconds, and calls fail.
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    warnings.simplefilter("ignore")
    if options.variant == "evaluate":
        return whole(options.url)
    metrics = (legacy if options.variant == "legacy" else collections)(options.url)
    loop = asyncio.new_event_loop()

    async def judge(items: list[dict[str, Any]], concurrency: int) -> Scores:
        places = asyncio.Semaphore(concurrency)

        async def one(item: dict[str, Any]) -> tuple[str, dict[str, float | None]]:
            async with places:
                values = await asyncio.gather(*(metric(item) for metric in metrics.values()))
            return item["interaction_id"], dict(zip(metrics, values, strict=True))

        return dict(await asyncio.gather(*map(one, items)))

    return lambda items, concurrency: loop.run_until_complete(judge(items, concurrency))


if __name__ == "__main__":
    main(make)
