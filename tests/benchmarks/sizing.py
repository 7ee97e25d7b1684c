"""What does a deployment need? Records a second per core, memory under way, memory of scores.

1. Scorer: records per CPU second at 1 % and 10 % sampling, from a real broker to the acknowledged
   score record; the judge answers at once. (``drain.py`` compares the first with bare reading.)
2. Scorer with an LLM judge through litellm: the most memory with 256 and with 1,256 interactions of
   4 KB under way, and what 1,000 more cost.
3. Exporter: memory by the score records of the horizon, without segments and with 20.

    python -m tests.benchmarks.sizing [--full] [--only 1|2|3]

The figures of docs/operations.md are those of ``--full``.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import statistics
import tempfile
import uuid
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

from monitor.kafka.connection import Connection
from monitor.runtime import logs
from monitor.sampling.rules import EVERYTHING
from tests.benchmarks._judge import light_judge
from tests.benchmarks._sizes import parser
from tests.benchmarks.drain import Case, fill, scored
from tests.benchmarks.exporter import Scene, memory_mb
from tests.benchmarks.exporting.traffic import DAY, START
from tests.benchmarks.memory import LATENCY_S
from tests.benchmarks.memory import measure as measured_memory
from tests.servers.kafka_broker import KafkaBroker
from tests.servers.kafka_topics import create_topic

RATES: Final = (0.01, 0.1)
IN_FLIGHT: Final = (256, 1_256)
SIZE: Final = 4_000
CHUNK: Final = 500


def load() -> str:
    """What else this machine does."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


async def throughput(broker: KafkaBroker, records: int, rounds: int) -> None:
    """Part 1."""
    connection, run = Connection(broker.bootstrap), uuid.uuid4().hex[:6]
    topic, scores = f"backlog-{run}", f"scores-{run}"
    await create_topic(broker.bootstrap, topic, 6)
    await create_topic(broker.bootstrap, scores, 1)
    case = Case(6, SIZE, "zstd")
    await asyncio.to_thread(fill, broker.bootstrap, topic, case, records)
    for key in ("interaction_id", "record_key"):
        for rate in RATES:
            spent = [
                await scored(connection, topic, records, key, scores, EVERYTHING, rate)
                for _ in range(rounds)
            ]
            cpu = statistics.median(each.cpu for each in spent)
            print(
                f"  {key:14} {rate:4.0%}: {records / cpu:8,.0f} records per CPU second, "
                f"{records * rate / cpu:6,.0f} of them judged   ({load()})",
                flush=True,
            )


async def in_flight(broker: KafkaBroker, directory: Path, judged: int) -> None:
    """Part 2."""
    peaks = []
    async with light_judge(LATENCY_S, directory) as judge:
        for most in IN_FLIGHT:
            row = await measured_memory(
                broker.bootstrap, judge, directory, judged, judged, most=most, size=SIZE
            )
            peaks.append((row.in_flight, row.peak_mb))
            print(
                f"  {row.in_flight:6,} in flight: {row.peak_mb:5.0f} MB at most, idle "
                f"{row.idle_mb:4.0f} MB   ({load()})",
                flush=True,
            )
    (few, low), (many, high) = peaks
    print(f"  {(high - low) / (many - few) * 1_000:6.0f} MB for 1,000 more in flight")


def held_mb(records: int, segments: bool) -> float:
    """What so many records of a horizon add to a process, with the page of their gauges."""
    before = memory_mb()
    scene = Scene(1, START, 2 * DAY / records, segments=segments)
    scene.now = START + 2 * DAY - 1
    scene.aggregator.advance(scene.now)
    for read in range(0, records, CHUNK):  # as from a topic: no more lines at a time
        scene.read(min(CHUNK, records - read))
    scene.page()
    return memory_mb() - before


def scores_held(counts: Sequence[int], *, segments: bool) -> None:
    """Part 3; each in a process of its own, since freed memory would be used again."""
    held = []
    for records in counts:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
            held.append(alone.submit(held_mb, records, segments).result())
        what = "20 segments" if segments else "no segments"
        print(f"  {records:9,} records, {what}: {held[-1]:6,.0f} MB", flush=True)
    more = (held[-1] - held[0]) / (counts[-1] - counts[0]) * 100_000
    print(f"  {more:6.0f} MB for 100,000 more   ({load()})")


async def with_kafka(full: bool, parts: Sequence[int]) -> None:
    """Parts 1 and 2, on one broker."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "kafka").mkdir()
        broker = KafkaBroker(directory / "kafka")
        await asyncio.to_thread(broker.start)
        try:
            if 1 in parts:
                print("1. records per CPU second of a scorer")
                await throughput(broker, 60_000 if full else 12_000, 5 if full else 2)
            if 2 in parts:
                print("2. memory of a scorer")
                await in_flight(broker, directory, 6_000 if full else 3_000)
        finally:
            await asyncio.to_thread(broker.stop)


def main() -> None:
    """Print all parts."""
    line = parser(__doc__)
    line.add_argument("--only", type=int, choices=[1, 2, 3], help="this part alone")
    chosen = line.parse_args()
    parts = [chosen.only] if chosen.only else [1, 2, 3]
    logs.configure("error", "console")
    if {1, 2} & set(parts):
        asyncio.run(with_kafka(chosen.full, parts))
    if 3 in parts:
        print("3. memory of an exporter")
        counts = (100_000, 500_000) if chosen.full else (20_000, 120_000)
        for segments in (False, True):
            scores_held(counts, segments=segments)


if __name__ == "__main__":
    main()
