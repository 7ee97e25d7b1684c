"""Exporters of the same topics, whose clock a test holds, and what they agree on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from monitor.records import JudgeIdentity, Outcome, SamplingRecord, ScoreRecord, Source
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record
from tests.stages.clocked import CLOCK
from tests.stages.process import MonitorProcess, total, until
from tests.stages.topics import Topics

DAY, HOUR = 86_400, 3_600
#: Two of four applications keep their names, and 20 of 30 tenants; A follows the traffic.
SETTINGS = {
    "drift__learn_slots": "60",
    "drift__learn_for": "0s",
    # By itself it may be another one after midnight, and then all is read again.
    "drift__period": "1d",
    "drift__learn_wait": "1s",
    "export__segment": "tenant",
    "export__top_k": "2",
}
#: What follows from records, control records, configuration and clock.
COMMON = (
    "rag_score",
    "rag_segment",
    "rag_drift",
    "rag_judge",
    "rag_monitor_series",
    "rag_monitor_b",
)


def scored(offset: int, seconds: float, rng: Random) -> ScoreRecord:
    """A score record of one of four applications, two judges and 30 tenants."""
    moment = datetime.fromtimestamp(seconds, UTC)
    version = "2" if rng.random() < 0.2 else "1"
    return ScoreRecord(
        application=rng.choice(["bot", "bot", "bot", "shop", "shop", "hr", "it"]),
        interaction_id=f"i{offset}",
        event_time=moment,
        judged_at=moment,
        source=Source(topic="in", partition=0, offset=offset),
        judge=JudgeIdentity(name="llm", version=version, model="m", prompts="p", pipeline="joint"),
        sampling=SamplingRecord(first_offset=offset, last_offset=offset, kind="with_reference"),
        segment=f"tenant-{rng.randrange(30)}",
        scores={
            "faithfulness": rng.randint(0, 3) / 3,
            "noise_sensitivity_irrelevant": float(rng.random() < 0.1),
        },
        outcome=Outcome.SCORED,
    )


def on_topic(found: list[ScoreRecord], rng: Random) -> list[Record]:
    """In any order, on any partition; one in five twice, one in ten judged again."""
    again = [
        each.model_copy(
            update={
                "judged_at": each.judged_at + timedelta(seconds=9),
                "scores": {"faithfulness": 0.5},
            }
        )
        for each in found[::10]
    ]
    all_of_them = [*found, *found[::5], *again]
    return [
        Record(
            each.to_json(),
            each.key.encode(),
            partition=rng.randrange(4),
            timestamp_ms=int(each.event_time.timestamp() * 1000),
        )
        for each in rng.sample(all_of_them, len(all_of_them))
    ]


async def lines(exporter: MonitorProcess) -> list[str]:
    """What every exporter must say."""
    _, text = await exporter.get("/metrics")
    return [line for line in text.splitlines() if line.startswith(COMMON)]


async def pages(exporters: list[MonitorProcess]) -> list[list[str]]:
    """The lines of each."""
    return [await lines(each) for each in exporters]


@asynccontextmanager
async def running(
    broker: RunningBroker, topics: Topics, directory: Path, names: list[str], module: str
) -> AsyncIterator[list[MonitorProcess]]:
    """Exporters that are ready."""
    settings = {**topics, **SETTINGS}
    found = [
        MonitorProcess("export", broker.bootstrap, directory, name, module=module, **settings)
        for name in names
    ]
    try:
        await asyncio.gather(*(each.ready() for each in found))
        yield found
    finally:
        await asyncio.gather(*(each.end() for each in found))


@contextmanager
def clocked_by(clock: Path) -> Iterator[None]:
    """The processes that are started now go by this file."""
    os.environ[CLOCK] = str(clock)
    try:
        yield
    finally:
        del os.environ[CLOCK]


async def all_read(exporters: list[MonitorProcess], records: int) -> None:
    """Wait until each has read so many records."""

    async def read() -> bool:
        counts = [await each.metrics() for each in exporters]
        return all(total(c, "rag_monitor_score_records_total") == records for c in counts)

    await until(read, f"{records} records were read")


async def agreed(exporters: list[MonitorProcess]) -> list[str]:
    """What all of them say; baselines may still be on their way from one to another."""

    async def the_same() -> list[str]:
        first, *others = await pages(exporters)
        return first if all(other == first for other in others) else []

    found: list[str] = await until(the_same, "identical pages")
    return found
