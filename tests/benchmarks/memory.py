"""Memory of a scorer that asks an LLM judge through litellm, against the size of the backlog.

A real broker holds 1,000, 100,000 and 1,000,000 records of about 1 KB, in four partitions, before a
scorer starts. The sampling rate is such that about the same number is judged each time, slowly
enough to keep as many interactions in flight as are allowed (256). Printed are the most resident
memory of the process (VmHWM), against the first row's, and what it holds at the end. The bar:
at most 300 MB, and flat.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks._judge import light_judge
from tests.benchmarks._sizes import parser
from tests.benchmarks._stage import (
    Settings,
    all_ended,
    interactions,
    memory_mb,
    new_topics,
    write_backlog,
)
from tests.servers.kafka_broker import KafkaBroker
from tests.stages.process import MonitorProcess, total

MOST_MB = 300
LATENCY_S = 1.0
PATIENCE_S = 1_200.0


class Row(NamedTuple):
    """What one backlog cost."""

    backlog: int
    rate: float
    judged: int
    in_flight: int
    seconds: float
    idle_mb: float
    peak_mb: float
    end_mb: float


async def measure(
    bootstrap: str,
    judge: Settings,
    directory: Path,
    backlog: int,
    picks: int,
    *,
    most: int = 256,
    size: int = 1_000,
) -> Row:
    """One scorer on one backlog of which ``picks`` are judged, ``most`` of them at a time."""
    topics = await new_topics(bootstrap, 4)
    rate = min(1.0, picks / backlog)
    topic = topics["kafka__topics__interactions"]
    await asyncio.to_thread(write_backlog, bootstrap, topic, interactions(backlog, size))
    settings = {**topics, **judge, "sampling__rate": rate, "judge__concurrency": most}
    settings["ingest__max_in_flight"] = most
    name = f"scorer-{backlog}-{most}"
    scorer = MonitorProcess("score", bootstrap, directory, name, **settings)
    peak = _Peak(scorer)
    try:
        await scorer.listening()
        began = time.perf_counter()
        watching = asyncio.create_task(peak.watch())
        await all_ended([scorer], backlog, PATIENCE_S)
        seconds = time.perf_counter() - began
        watching.cancel()
        scored = total(await scorer.metrics(), "rag_monitor_interactions_total", outcome="scored")
        return Row(
            backlog,
            rate,
            int(scored),
            peak.in_flight,
            seconds,
            peak.idle_mb,
            memory_mb(scorer.pid, "VmHWM"),
            memory_mb(scorer.pid, "VmRSS"),
        )
    finally:
        await scorer.end()


class _Peak:
    """Looks at a scorer now and then: in flight, and its memory before it reads anything."""

    def __init__(self, scorer: MonitorProcess) -> None:
        self._scorer = scorer
        self.in_flight = 0
        self.idle_mb = 0.0

    async def watch(self) -> None:
        while True:
            samples = await self._scorer.metrics()
            if not total(samples, "rag_monitor_interactions_consumed_total"):
                self.idle_mb = memory_mb(self._scorer.pid, "VmRSS")
            found = total(samples, "rag_monitor_interactions_in_flight")
            self.in_flight = max(self.in_flight, int(found))
            await asyncio.sleep(0.2)


async def run(backlogs: list[int], picks: int) -> list[Row]:
    """All backlogs, one after the other, on one broker."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        broker = KafkaBroker(directory / "kafka")
        (directory / "kafka").mkdir()
        await asyncio.to_thread(broker.start)
        try:
            async with light_judge(LATENCY_S, directory) as judge:
                return [
                    await measure(broker.bootstrap, judge, directory, backlog, picks)
                    for backlog in backlogs
                ]
        finally:
            await asyncio.to_thread(broker.stop)


def main() -> None:
    """Print one row a backlog."""
    full = parser(__doc__).parse_args().full
    backlogs = [1_000, 100_000, 1_000_000] if full else [1_000, 50_000]
    rows = asyncio.run(run(backlogs, 2_000 if full else 1_000))
    print("  backlog    rate  judged  in flight  seconds   idle MB   peak MB  ratio   end MB")
    for row in rows:
        print(
            f"{row.backlog:9,} {row.rate:7.2%} {row.judged:7,} {row.in_flight:10} "
            f"{row.seconds:8.1f} {row.idle_mb:9.0f} {row.peak_mb:9.0f} "
            f"{row.peak_mb / rows[0].peak_mb:6.2f} {row.end_mb:8.0f}"
        )
    worst = max(row.peak_mb for row in rows)
    print(f"at most {worst:.0f} MB; the bar is {MOST_MB} MB: {'met' if worst <= 300 else 'MISSED'}")


if __name__ == "__main__":
    main()
