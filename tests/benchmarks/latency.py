"""From produce to gauge: how long until an interaction counts in ``rag_score_samples``.

Five interactions a second go to a real broker, each judged by an LLM judge through litellm; the
judge answers each call after 50 ms or 1 s, and a judgement makes two rounds of calls, one after the
other. Watched is ``/metrics`` of one process with both roles (``run``), and of the exporter of two
(``score`` and ``export``). The applications take turns, so that an application's next count is a
certain interaction. The time begins before the record is sent and ends when a scrape that shows it
has come back. The bar: p95 at most the judge's time + 2 s.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
from aiokafka import AIOKafkaProducer

from monitor.records import ScoreRecord
from tests.benchmarks._judge import CALLS_IN_SEQUENCE, light_judge
from tests.benchmarks._sizes import parser
from tests.benchmarks._stage import Settings, new_topics, quantile, score_records
from tests.servers.kafka_broker import KafkaBroker
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess

PER_SECOND = 5
APPLICATIONS = 10
#: A scrape costs the process that is measured: not more than it must.
SCRAPE_EVERY_S = 0.1
SLACK_S = 2.0
PATIENCE_S = 60.0
_COUNT = re.compile(
    r'^rag_score_samples\{application="app-(\d+)",[^}]*metric="faithfulness"[^}]*\} (\S+)$', re.M
)


class Row(NamedTuple):
    """Latencies in seconds of one pair of roles and one judge."""

    roles: str
    call_s: float
    latencies: Sequence[float]
    scrape_s: float
    #: Of each interaction, in seconds: until it is read, judged, written, shown.
    parts: Sequence[tuple[float, float, float, float]]

    @property
    def judge_s(self) -> float:
        """What the judge alone takes."""
        return CALLS_IN_SEQUENCE * self.call_s


@asynccontextmanager
async def started(
    roles: str, bootstrap: str, directory: Path, settings: Settings
) -> AsyncIterator[MonitorProcess]:
    """The processes; given is the one that serves the gauges."""
    commands = ["run"] if roles == "run" else ["score", "export"]
    processes = [
        MonitorProcess(command, bootstrap, directory, f"{command}-{time.time()}", **settings)
        for command in commands
    ]
    try:
        for process in processes:
            await process.ready()
        yield processes[-1]
    finally:
        for process in processes:
            await process.end()


async def send(bootstrap: str, topic: str, count: int, sent: list[float]) -> None:
    """One record every 1 / 5 s, noting when."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all")
    await producer.start()
    try:
        begun = time.time()
        for i in range(count):
            await asyncio.sleep(begun + i / PER_SECOND - time.time())
            fields = interaction(f"i{i}", application=f"app-{i % APPLICATIONS}")
            sent.append(time.time())
            await producer.send_and_wait(topic, encoded(fields), f"i{i}".encode())
    finally:
        await producer.stop()


async def watch(url: str, count: int) -> tuple[dict[int, float], float]:
    """When the number of each interaction was first seen to count; and the median scrape."""
    seen: dict[int, float] = {}
    scrapes: list[float] = []
    counted: Counter[int] = Counter()
    give_up = time.time() + count / PER_SECOND + PATIENCE_S
    async with aiohttp.ClientSession() as session:
        while len(seen) < count and time.time() < give_up:
            begun = time.time()
            async with session.get(f"{url}/metrics") as answer:
                text = await answer.text()
            at = time.time()
            scrapes.append(at - begun)
            for application, samples in _COUNT.findall(text):
                number = int(application)
                while counted[number] < round(float(samples)):
                    seen[number + counted[number] * APPLICATIONS] = at
                    counted[number] += 1
            await asyncio.sleep(SCRAPE_EVERY_S)
    return seen, quantile(scrapes, 0.5)


async def measure(roles: str, call_s: float, count: int, bootstrap: str, directory: Path) -> Row:
    """One row."""
    topics = await new_topics(bootstrap, 4)
    sent: list[float] = []
    async with light_judge(call_s, directory) as judge:
        settings = {**topics, **judge, "export__windows": "1h", "judge__concurrency": 32}
        async with started(roles, bootstrap, directory, settings) as exporter:
            watching = asyncio.create_task(watch(exporter.url, count))
            await send(bootstrap, topics["kafka__topics__interactions"], count, sent)
            seen, scrape_s = await watching
    if len(seen) < count:
        raise RuntimeError(f"{count - len(seen)} of {count} were never seen")
    records = await score_records(bootstrap, topics["kafka__topics__scores"])
    parts = [_parts(record, written, sent, seen) for record, written in records]
    return Row(roles, call_s, [seen[i] - sent[i] for i in range(count)], scrape_s, parts)


def _parts(
    record: ScoreRecord, written: float, sent: Sequence[float], seen: Mapping[int, float]
) -> tuple[float, float, float, float]:
    number = int(record.interaction_id[1:])
    done = record.judged_at.timestamp()
    took = sum(record.timings.values())
    return done - took - sent[number], took, written - done, seen[number] - written


async def run(count: int, roles: Sequence[str], calls_s: Sequence[float]) -> list[Row]:
    """All rows, on one broker."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with_broker = KafkaBroker(directory)
        await asyncio.to_thread(with_broker.start)
        try:
            return [
                await measure(each, call_s, count, with_broker.bootstrap, directory)
                for call_s in calls_s
                for each in roles
            ]
        finally:
            await asyncio.to_thread(with_broker.stop)


def main() -> None:
    """Print one row a judge and pair of roles."""
    arguments = parser(__doc__)
    arguments.add_argument("--roles", nargs="*", default=["run", "score+export"])
    arguments.add_argument("--calls", nargs="*", type=float, default=[0.05, 1.0], metavar="S")
    given = arguments.parse_args()
    count = 300 if given.full else 60
    rows = asyncio.run(run(count, given.roles, given.calls))
    print(f"{count} interactions, {PER_SECOND} a second; {CALLS_IN_SEQUENCE} calls in sequence")
    print(
        "roles         a call   judge     p50     p95     max   p95 - judge   bar     "
        "(medians: until read, judged, written, shown; a scrape)"
    )
    for row in rows:
        print(described(row))


def described(row: Row) -> str:
    """One line."""
    p50, p95 = (quantile(row.latencies, share) for share in (0.5, 0.95))
    said = "met" if p95 <= row.judge_s + SLACK_S else "MISSED"
    medians = [quantile(part, 0.5) for part in zip(*row.parts, strict=True)]
    return (
        f"{row.roles:13} {row.call_s:5.2f} s {row.judge_s:5.2f} s {p50:5.2f} s {p95:5.2f} s "
        f"{max(row.latencies):5.2f} s {p95 - row.judge_s:11.2f} s   {said:6}  "
        f"({', '.join(f'{x:.2f}' for x in [*medians, row.scrape_s])} s)"
    )


if __name__ == "__main__":
    main()
