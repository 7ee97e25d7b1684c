"""What an interaction with many passages takes before it is refused, and what a plan takes.

``python -m tests.benchmarks.planning [--passages 60000]``: CPU seconds of a plan with its messages
for n and 2n passages (linear: about 2), and the longest time that the event loop stands still while
such an interaction is judged under the shipped ceiling.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import UTC, datetime

from monitor.errors import JudgeFailed
from monitor.judge.llm.judge import LlmJudge, LlmSettings
from monitor.judge.pipeline.material import Caps, Material
from monitor.judge.pipeline.parsing import ClaimVerdict, passage_order
from monitor.judge.pipeline.plans import PLANS, PipelineName, together
from monitor.records import Claims, Interaction, Passage, Source


def interaction(passages: int) -> Interaction:
    """So many passages of five characters."""
    return Interaction(
        interaction_id="x",
        event_time=datetime(2026, 1, 1, tzinfo=UTC),
        application="app",
        user_input="Why?",
        response="Because.",
        retrieved_contexts=tuple(Passage(text=f"F{n}") for n in range(passages)),
        source=Source(topic="t", partition=0, offset=0),
    )


def planned(pipeline: PipelineName, passages: int) -> float:
    """CPU seconds of plan, messages and what may follow, for one claim."""
    claims = Claims(response=("Because.",))
    began = time.process_time()
    material = Material.of(interaction(passages), claims, passage_order, "instructions")
    plan = PLANS[pipeline](material, Caps())
    for block in plan.blocks:
        material.request(block, plan.joined)
    together(material, plan, {"c1": ClaimVerdict({}, together=False)})
    return time.process_time() - began


async def stands_still(passages: int) -> tuple[float, str]:
    """Seconds of the longest gap, and what became of the interaction; nobody is there to ask."""
    longest, last = 0.0, time.perf_counter()

    async def tick() -> None:
        nonlocal longest, last
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    judge = LlmJudge(LlmSettings("some-model", api_base="http://127.0.0.1:9/v1", retries=0))
    await judge.prepare()
    found = interaction(passages)
    last = time.perf_counter()
    ticking = asyncio.create_task(tick())
    try:
        await judge.judge(found)
        ended = "judged"
    except JudgeFailed as failure:
        ended = f"{failure.reason}: {failure}"
    await asyncio.sleep(0.01)
    ticking.cancel()
    await judge.aclose()
    return longest, ended


def main() -> None:
    """Print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=60_000)
    most = parser.parse_args().passages
    for pipeline in PLANS:
        one, two = (planned(pipeline, n) for n in (most // 2, most))
        print(f"{pipeline:7} {most // 2:,}: {one:.2f} s, {most:,}: {two:.2f} s, × {two / one:.2f}")
    gap, ended = asyncio.run(stands_still(most))
    print(f"loop    {most:,} passages: still for {gap:.3f} s, {ended}")


if __name__ == "__main__":
    main()
