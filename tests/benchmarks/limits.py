"""How much of a provider's limits is used, and how often it refuses.

A judge server enforces sliding windows of 60 requests and 40,000 tokens a minute; the judge knows
these limits, and has more to judge than they allow. From second 60 on at least 95 % of the tighter
limit is to be used, with at most 0.5 % refusals.

    python -m tests.benchmarks.limits [--full] [--latency SECONDS]

``--quick`` takes 90 seconds, ``--full`` six minutes.
"""

from __future__ import annotations

import asyncio
import time
from itertools import cycle

from monitor.ingest.formats import native
from monitor.judge.limits.limits import Limits
from monitor.judge.limits.provider_gates import ProviderGates
from monitor.judge.limits.quota import LocalQuota, PerMinute
from monitor.judge.llm.judge import LlmJudge
from monitor.judge.pipeline.identity import LlmSettings
from monitor.records import Interaction, Source
from tests.benchmarks._sizes import parser
from tests.benchmarks.judging.cases import Case, all_labels, short_set
from tests.servers.judge_limits import SlidingLimits
from tests.servers.judge_server import JudgeServer

REQUESTS, TOKENS = 60, 40_000
#: Half of the limits bind where a judgement is short, the other half where it is long.
BARS = {"share": 0.95, "refused": 0.005}


async def run(seconds: float, latency_s: float) -> None:
    """Judge for so long, and print what was used from the second minute on."""
    cases = short_set()
    gate = SlidingLimits(REQUESTS, TOKENS, latency_s=latency_s)
    async with JudgeServer(all_labels(cases), gate=gate) as server:
        settings = LlmSettings(model="openai/judge", api_base=server.url, api_key="none")
        quota = LocalQuota(PerMinute(REQUESTS, TOKENS), time.monotonic)
        provider_gates = ProviderGates(quota=lambda _: quota)
        judge = LlmJudge(settings, provider_gates=provider_gates)
        await judge.prepare()
        limits = Limits(8, 60.0, provider_gates.all_of(settings))
        began, failures = time.monotonic(), list[str]()
        work = [asyncio.create_task(_judge(judge, limits, cases[i::8], failures)) for i in range(8)]
        await asyncio.sleep(seconds)
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await judge.aclose()
    _report(gate, began, seconds, failures)


async def _judge(judge: LlmJudge, limits: Limits, cases: list[Case], failures: list[str]) -> None:
    for case in cycle(cases):
        try:
            async with limits.admitted(), limits.deadline():
                await judge.judge(_interaction(case))
        except Exception as error:  # noqa: BLE001 - counted, and shown
            failures.append(f"{type(error).__name__}: {error}")


def _interaction(case: Case) -> Interaction:
    source = Source(topic="t", partition=0, offset=0)
    return native.decode(native_line(case), source, 0).interaction


def native_line(case: Case) -> bytes:
    """The interaction as it is logged."""
    import json

    return json.dumps(case.interaction).encode()


def _report(gate: SlidingLimits, began: float, seconds: float, failures: list[str]) -> None:
    start = 60 if seconds >= 120 else seconds - 60  # whole minutes
    span = seconds - start
    requests, tokens = gate.used(began + start, began + seconds)
    shares = requests / (REQUESTS * span / 60), tokens / (TOKENS * span / 60)
    refused = len(gate.refused) / (len(gate.refused) + len(gate.admitted))
    busiest = gate.busiest()
    print(
        f"seconds {start:.0f} to {seconds:.0f}: {requests} requests ({shares[0]:.1%} of the limit),"
    )
    print(f"{tokens:.0f} tokens ({shares[1]:.1%}); busiest minute {busiest[0]}, {busiest[1]:.0f}")
    print(
        f"refused: {len(gate.refused)} of {len(gate.refused) + len(gate.admitted)} ({refused:.2%})"
    )
    print(f"judgements that failed: {len(failures)} {failures[:2]}")
    print(f"share of the tighter limit ≥ 95 %: {'yes' if max(shares) >= BARS['share'] else 'NO'}")
    print(f"refused ≤ 0.5 %: {'yes' if refused <= BARS['refused'] else 'NO'}")


def main() -> None:
    """Run it."""
    line = parser(__doc__)
    line.add_argument("--latency", type=float, default=0.5, help="seconds of an answer")
    options = line.parse_args()
    asyncio.run(run(360 if options.full else 90, options.latency))


if __name__ == "__main__":
    main()
