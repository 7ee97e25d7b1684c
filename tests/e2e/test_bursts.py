"""Evidence of drift asks for more judgements: exporter and scorer on a broker, by one clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp

from monitor.app.process import Monitor, Role
from monitor.config import load
from monitor.records import read_score_record
from monitor.records.control import BurstRecord, read_control_record
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.baselines import PAIR, QUICK, scored
from tests.stages.plain import encoded, interaction
from tests.stages.process import parsed, total, until
from tests.stages.topics import MakeTopics, Topics

RATE = 0.25
SETTINGS = {**QUICK, "sampling__rate": str(RATE), "drift__burst__per_day": "90s"}


class Clock:
    """Stands still until it is told otherwise; noon, so that no midnight comes between."""

    def __init__(self) -> None:
        self.consumed = 0
        self.now = (time.time() // 86_400 - 1) * 86_400 + 43_200.0

    def __call__(self) -> float:
        return self.now


Shows = Callable[..., Callable[[], object]]


@asynccontextmanager
async def running(
    broker: str, topics: Topics, role: Role, clock: Callable[[], float]
) -> AsyncIterator[Shows]:
    """A role that is ready; what it gives is a condition: a metric of its page has a value."""
    flags = {key.replace("__", "."): value for key, value in {**topics, **SETTINGS}.items()}
    settings = load({}, flags={"kafka.bootstrap_servers": broker, "http.port": 0, **flags})
    monitor, stop = Monitor(settings, clock), asyncio.Event()
    task = asyncio.create_task(monitor.run([role], stop))

    def shows(name: str, value: float, **labels: str) -> Callable[[], object]:
        async def is_so() -> bool:
            url = f"http://127.0.0.1:{monitor.port}/metrics"
            async with aiohttp.ClientSession() as session, session.get(url) as answer:
                return total(parsed(await answer.text()), name, **labels) == value

        return is_so

    try:
        await until(lambda: monitor.port and not monitor.shared.health.waiting, "readiness")
        yield shows
    finally:
        stop.set()
        await task


async def judged(
    broker: str, topics: Topics, name: str, clock: Clock, scorer: Shows
) -> tuple[int, set[float | None]]:
    """Of 400 interactions: how many are judged, and the probabilities that they were taken with."""
    value = [encoded(interaction(f"{name}{i}")) for i in range(400)]
    sent = [Record(each, timestamp_ms=int(clock.now * 1000)) for each in value]
    await produce(broker, topics["kafka__topics__interactions"], sent)
    clock.consumed += 400
    await until(scorer("rag_monitor_interactions_consumed_total", clock.consumed), "reading")
    await until(scorer("rag_monitor_interactions_in_flight", 0), "their ends")
    read = await read_all(broker, topics["kafka__topics__scores"])
    records = [read_score_record(each.value or b"") for each in read]
    found = [r.sampling.q for r in records if r.interaction_id.startswith(name)]
    return len(found), set(found)


async def grants(broker: str, topics: Topics) -> list[BurstRecord]:
    """All that was ever granted."""
    read = await read_all(broker, topics["kafka__topics__control"])
    found = [read_control_record(each.key, each.value) for each in read]
    return [record for record in found if isinstance(record, BurstRecord)]


async def test_while_evidence_is_high_more_is_judged_within_the_allowance(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """The share rises and falls back; two exporters and a restarted one grant it once."""
    broker, topics, clock = kafka_broker.bootstrap, await make_topics(1), Clock()
    scores, start = topics["kafka__topics__scores"], clock.now - 900
    good = [scored(i, start + i) for i in range(120)]
    async with running(broker, topics, "score", clock) as scorer:
        export = running(broker, topics, "export", clock)
        async with export as exporter, running(broker, topics, "export", clock):
            await produce(broker, scores, good)
            await until(exporter("rag_monitor_baseline_slots", 60), "a baseline")
            usual, q = await judged(broker, topics, "calm", clock, scorer)
            assert (60 <= usual <= 140, q) == (True, {RATE})
            assert await grants(broker, topics) == []
            bad = [scored(i, start + i, faithfulness=0.0) for i in range(120, 150)]
            await produce(broker, scores, bad)
            await until(scorer("rag_monitor_burst", 4), "a burst")
            await until(exporter("rag_monitor_burst_granted_seconds", 60), "what was granted")
            assert await judged(broker, topics, "more", clock, scorer) == (400, {4 * RATE})
            clock.now += 60
            await until(exporter("rag_monitor_burst_granted_seconds", 90), "the rest of it")
            await until(scorer("rag_monitor_burst", 4), "the burst to go on")
            clock.now += 31
            await until(scorer("rag_monitor_burst", 1), "its end")
            usual, q = await judged(broker, topics, "less", clock, scorer)
            assert (60 <= usual <= 140, q) == (True, {RATE})
        async with running(broker, topics, "export", clock) as again:
            await until(again("rag_monitor_burst_granted_seconds", 90), "what was granted before")
            await until(again("rag_drift_alarm", 1, metric="faithfulness"), "the evidence")
            await judged(broker, topics, "last", clock, scorer)
    found = await grants(broker, topics)
    assert sorted({record.granted_s for record in found}) == [60, 90]
    assert {record.asked_by for record in found} == {(f"faithfulness/{PAIR[0]}/{PAIR[1]}",)}
    first, last = min(r.from_ for r in found), max(r.until for r in found)
    assert (last - first).total_seconds() == 90
