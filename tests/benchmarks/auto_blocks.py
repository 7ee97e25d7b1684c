"""Blocks whose length the limits set: what is spent, what ends unjudged, what the gauges say.

A judge server enforces sliding windows of 60 requests a minute; two scorers with ``sampling.block:
auto`` know the limit, keep to their parts of it, and have five interactions a second to judge: ten
times as many as it allows. What is spent is what the server has let in; all else is read from the
topics, and held against the gauges.

    python -m tests.benchmarks.auto_blocks [--full] [--minutes N] [--scorers N]

``--quick`` takes six minutes, ``--full`` twelve; the first three are for finding the length, and
are not counted. Exit code 1 when something is not as it must be.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

from monitor.records import ScoreRecord, read_score_record
from monitor.sampling.pace import HEADROOM
from tests.benchmarks._sizes import parser
from tests.benchmarks._stage import Settings, new_topics
from tests.servers.judge_limits import SlidingLimits
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import KafkaBroker
from tests.servers.kafka_topics import committed, produce, read_all
from tests.stages.labelled import Case, all_labels, as_logged, case
from tests.stages.process import MonitorProcess, Samples, asking, outcomes, total, until

LIMIT, A_SECOND, PARTITIONS = 60, 5, 4
#: Minutes until the length fits: the first ones know no costs.
FINDING = 3
#: The least share of the limit to be used, the most refusals, and how far behind it may be.
LEAST_USED, MOST_REFUSED, MOST_BEHIND_S = 0.9, 0.005, 120.0
#: How far a gauge may be from what the topics say of the latest slots.
TOLERANCE = 0.35


class Share(NamedTuple):
    """What one scorer says at the end."""

    calls: float
    block: float
    probability: float
    affordable: float
    by_outcome: dict[str, int]


@dataclass(frozen=True)
class Found:
    """What there is at the end; times are in seconds of the clock of ``gate``."""

    gate: SlidingLimits
    began: float
    ended: float
    records: Sequence[ScoreRecord]
    shares: Sequence[Share]
    fed: int
    behind: int


async def feed(broker: str, topic: str, cases: Sequence[Case]) -> None:
    """Five a second, in order."""
    begun = time.monotonic()
    for first in range(0, len(cases), A_SECOND):
        await asyncio.sleep(max(0.0, begun + first / A_SECOND - time.monotonic()))
        await produce(broker, topic, as_logged(cases[first : first + A_SECOND]))


async def run(minutes: int, scorers: int, directory: Path) -> Found:
    """Judge for so long."""
    rng, gate = Random(5), SlidingLimits(LIMIT, 10**9, latency_s=0.3)
    # A minute more than is fed: it ends in the midst of traffic.
    cases = [case(f"a{i:05d}", rng, time.time()) for i in range((minutes + 1) * 60 * A_SECOND)]
    async with AsyncExitStack() as stack:
        broker = stack.enter_context(KafkaBroker(directory)).bootstrap
        topics = await new_topics(broker, PARTITIONS)
        judge = await stack.enter_async_context(JudgeServer(all_labels(cases), gate=gate))
        told = asking(judge, limits__requests_per_minute=LIMIT, sampling__block="auto", **topics)
        running = [
            MonitorProcess("score", broker, directory, f"scorer{i}", **told) for i in range(scorers)
        ]
        for process in running:
            stack.push_async_callback(process.end)
        await asyncio.gather(*(process.ready() for process in running))
        # Before the last has joined, the first takes all of the limit for its own.
        await until(lambda: _all_have(running), "partitions for all")
        inputs = topics["kafka__topics__interactions"]
        feeding, began = asyncio.create_task(feed(broker, inputs, cases)), time.monotonic()
        for minute in range(minutes):
            await asyncio.sleep(began + 60 * (minute + 1) - time.monotonic())
            pages = [await process.metrics() for process in running]
            _say(minute, gate, began, pages)
        found = await _found(broker, topics, gate, began, pages)
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        return found


def _all_have(running: Sequence[MonitorProcess]) -> bool:
    """Whether the latest assignment of each is its part of the partitions."""
    found = [
        [e["partitions"] for e in process.events() if e.get("event") == "partitions_assigned"]
        for process in running
    ]
    return all(each and len(each[-1]) == PARTITIONS // len(running) for each in found)


def _say(minute: int, gate: SlidingLimits, began: float, pages: Sequence[Samples]) -> None:
    used, _ = gate.used(began + 60 * minute, began + 60 * (minute + 1))
    blocks = [total(page, "rag_monitor_sampling_block") for page in pages]
    behind = sum(total(page, "rag_monitor_consumer_lag_records") for page in pages)
    print(f"minute {minute}: {used} requests, blocks {blocks}, behind {behind:.0f}", flush=True)


async def _found(
    broker: str, topics: Settings, gate: SlidingLimits, began: float, pages: Sequence[Samples]
) -> Found:
    inputs = topics["kafka__topics__interactions"]
    ended = time.monotonic()
    fed = len(await read_all(broker, inputs))
    marks = await committed(broker, topics["kafka__group_id"], inputs)
    read = await read_all(broker, topics["kafka__topics__scores"])
    records = [read_score_record(one.value or b"") for one in read]
    return Found(
        gate,
        began,
        ended,
        sorted(records, key=lambda one: one.judged_at),
        [_share(page) for page in pages],
        fed,
        fed - sum(marks.values()),
    )


def _share(page: Samples) -> Share:
    return Share(
        total(page, "rag_monitor_judge_calls_total"),
        total(page, "rag_monitor_sampling_block"),
        total(page, "rag_monitor_sampling_probability"),
        total(page, "rag_monitor_judgements_affordable"),
        outcomes(page),
    )


def report(found: Found) -> bool:
    """Print everything; whether it is as it must be."""
    gate, shares = found.gate, found.shares
    used, _ = gate.used(found.began + 60 * FINDING, found.ended)
    part = used / (LIMIT * (found.ended - found.began - 60 * FINDING) / 60)
    # Later ones are those of whoever is left when the first one goes.
    refusals = [at - found.began for at in gate.refused if at <= found.ended]
    asked = len(refusals) + gate.used(found.began, found.ended)[0]
    refused = len(refusals) / asked
    behind_s = found.behind / A_SECOND
    latest = found.records[-200:]
    calls = sum(one.usage.calls for one in latest) / len(latest)
    probability = len(latest) / sum((r.sampling.m or 1) / (r.sampling.q or 1.0) for r in latest)
    affordable = HEADROOM * LIMIT / calls
    said = sum(each.affordable for each in shares)
    shown = sum(each.probability for each in shares) / len(shares)
    print(f"from minute {FINDING} on {used} requests: {part:.1%} of the limit")
    print(
        f"refused: {len(refusals)} of {asked} ({refused:.2%}), after seconds "
        f"{[round(after) for after in refusals]}"
    )
    print(f"fed {found.fed}, not committed {found.behind} ({behind_s:.0f} s of traffic)")
    for number, each in enumerate(shares):
        print(f"scorer {number}: {each}")
    print(f"latest {len(latest)} records: {calls:.2f} calls each, members {_sizes(latest)}")
    print(f"probability {probability:.4f} by the topic, {shown:.4f} by the gauges")
    print(f"affordable {affordable:.1f} a minute by limit and topic, {said:.1f} by the gauges")
    checks = {
        f"used ≥ {LEAST_USED:.0%}": part >= LEAST_USED,
        f"refused ≤ {MOST_REFUSED:.1%}": refused <= MOST_REFUSED,
        f"behind ≤ {MOST_BEHIND_S:.0f} s": behind_s <= MOST_BEHIND_S,
        "most ends unjudged": all(
            each.by_outcome.get("not_sampled", 0) > each.by_outcome.get("scored", 0)
            for each in shares
        ),
        "the gauges agree": _near(shown, probability) and _near(said, affordable),
        "each has its part": max(s.calls for s in shares) <= 1.5 * min(s.calls for s in shares),
    }
    for what, is_so in checks.items():
        print(f"{what}: {'yes' if is_so else 'NO'}")
    return all(checks.values())


def _sizes(records: Sequence[ScoreRecord]) -> str:
    sizes = sorted(one.sampling.m or 1 for one in records)
    return f"{sizes[0]} to {sizes[-1]}, half of them at most {sizes[len(sizes) // 2]}"


def _near(said: float, found: float) -> bool:
    return abs(said - found) <= TOLERANCE * found


def main() -> int:
    """Run it; the exit code."""
    line = parser(__doc__)
    line.add_argument("--minutes", type=int, help="how long it takes")
    line.add_argument("--scorers", type=int, default=2)
    options = line.parse_args()
    minutes = options.minutes or (12 if options.full else 6)
    with tempfile.TemporaryDirectory(prefix="auto-blocks-") as directory:
        found = asyncio.run(run(minutes, options.scorers, Path(directory)))
    return 0 if report(found) else 1


if __name__ == "__main__":
    sys.exit(main())
