"""Two replicas of the scorer against one, at equal work.

The same backlog goes to the same number of partitions, once with one scorer in the group and once
with two; both have their partitions before it is written. First a judge with latency bounds the
work (an LLM judge over HTTP, as many calls at a time as the settings allow), then the CPU does (the
offline judge). The time runs from the first record that is written to the last score record. Every
interaction must have been judged once, and every replica must have had a part in it.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks._judge import light_judge
from tests.benchmarks._sizes import parser
from tests.benchmarks._stage import (
    Settings,
    all_ended,
    interactions,
    new_topics,
    score_records,
    write_backlog,
)
from tests.servers.kafka_broker import KafkaBroker
from tests.stages.process import MonitorProcess, total, until

PARTITIONS = 8
CALL_S = 0.5
CONCURRENCY = 8
PATIENCE_S = 1_200.0


class Row(NamedTuple):
    """What so many replicas made of the work; ``shares`` are the interactions of each."""

    bound: str
    replicas: int
    work: int
    seconds: float
    shares: Sequence[int]
    twice: int
    never: int

    @property
    def per_second(self) -> float:
        """Interactions judged."""
        return self.work / self.seconds


async def measure(
    bound: str, replicas: int, count: int, judge: Settings, bootstrap: str, directory: Path
) -> Row:
    """One row."""
    topics = await new_topics(bootstrap, PARTITIONS)
    settings = {**topics, **judge, "judge__concurrency": CONCURRENCY}
    names = [f"{bound}-{replicas}-{i}" for i in range(replicas)]
    scorers = [MonitorProcess("score", bootstrap, directory, n, **settings) for n in names]
    try:
        await until(lambda: all_have_partitions(scorers), "a fair assignment")
        topic = topics["kafka__topics__interactions"]
        began = time.time()
        await asyncio.to_thread(write_backlog, bootstrap, topic, interactions(count, 1_000))
        await all_ended(scorers, count, PATIENCE_S)
        consumed = "rag_monitor_interactions_consumed_total"
        shares = [int(total(await scorer.metrics(), consumed)) for scorer in scorers]
        records = await score_records(bootstrap, topics["kafka__topics__scores"])
    finally:
        for scorer in scorers:
            await scorer.end()
    ids = Counter(record.interaction_id for record, _ in records if record.outcome == "scored")
    seconds = max(written for _, written in records) - began
    twice = sum(number > 1 for number in ids.values())
    return Row(bound, replicas, count, seconds, shares, twice, count - len(ids))


async def all_have_partitions(scorers: Sequence[MonitorProcess]) -> bool:
    """Whether each has some of the partitions, and together they have each of them once."""
    held: list[list[str]] = []
    for scorer in scorers:
        if not scorer.url:
            await scorer.listening()
        lags = [
            dict(x) for n, x in await scorer.metrics() if n == "rag_monitor_consumer_lag_records"
        ]
        held.append([labels["partition"] for labels in lags])
    together = sorted(number for numbers in held for number in numbers)
    return all(held) and together == [str(n) for n in range(PARTITIONS)]


def judge_of(bound: str, directory: Path) -> AbstractAsyncContextManager[Settings]:
    """The settings of the judge that bounds the work."""
    offline: Settings = {}
    return light_judge(CALL_S, directory) if bound == "judge" else nullcontext(offline)


async def run(latency_count: int, cpu_count: int) -> list[Row]:
    """All rows, on one broker."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        broker = KafkaBroker(directory)
        await asyncio.to_thread(broker.start)
        rows = []
        try:
            for bound, count in (("judge", latency_count), ("CPU", cpu_count)):
                async with judge_of(bound, directory) as judge:
                    for replicas in (1, 2):
                        row = await measure(
                            bound, replicas, count, judge, broker.bootstrap, directory
                        )
                        rows.append(row)
        finally:
            await asyncio.to_thread(broker.stop)
        return rows


def main() -> None:
    """Print one row a bound and number of replicas, with the ratio to one replica."""
    full = parser(__doc__).parse_args().full
    rows = asyncio.run(run(600, 20_000) if full else run(160, 4_000))
    print("bound by  replicas  interactions  seconds  a second  ratio  twice  never  shares")
    for row in rows:
        one = next(each for each in rows if each.bound == row.bound)
        print(
            f"{row.bound:8} {row.replicas:9} {row.work:13,} {row.seconds:8.1f} "
            f"{row.per_second:9.1f} {row.per_second / one.per_second:6.2f} {row.twice:6} "
            f"{row.never:6}  {' + '.join(map(str, row.shares))}"
        )


if __name__ == "__main__":
    main()
