"""Reading other people's topics: several of them, uneven ones, with records nobody can unpack."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry

from monitor.ingest.consumer.loop import ConsumingLoop
from monitor.ingest.consumer.worker import LoopLimits
from monitor.kafka.connection import Connection
from monitor.kafka.fair_reader import RecordBatch
from monitor.kafka.group import GroupConsumer
from monitor.kafka.record import Partition
from monitor.records import read_score_record
from monitor.runtime.health import Health
from monitor.telemetry import ScorerTelemetry
from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, KafkaBroker, RunningBroker, missing_kafka
from tests.servers.kafka_topics import Record, create_topic, produce, read_all
from tests.stages.broken import corrupt_on_disk, produce_strange_header
from tests.stages.loop import ToldWorker
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, outcomes, total, until
from tests.stages.topics import MakeTopics, Topics
from tests.tools import requires_tool

HOT, COLD = range(3), 3
LIMITS = LoopLimits(max_in_flight=12, commit_interval_s=0.2, drain_s=0.1)


class Counting(GroupConsumer):
    """Counts the polls until each partition was seen."""

    polls = 0
    seen: dict[int, int]

    async def poll(self, timeout_ms: int, max_records: int) -> list[RecordBatch]:
        batches = await super().poll(timeout_ms, max_records)
        self.polls += 1
        for batch in batches:
            self.seen.setdefault(batch[0].partition, self.polls)
        return batches


async def uneven_topic(broker: str) -> str:
    """Three partitions with 3,000 records each, and one with a single record."""
    topic = f"uneven-{uuid.uuid4().hex[:8]}"
    await create_topic(broker, topic, len(HOT) + 1)
    hot = [Record(b"x" * 500, partition=number) for _ in range(3_000) for number in HOT]
    await produce(broker, topic, [*hot, Record(b"cold", partition=COLD)])
    return topic


async def member(broker: str) -> Counting:
    """A member of a new group."""
    health, group = Health(time.monotonic), f"group-{uuid.uuid4().hex[:8]}"
    found = await Counting.start(
        Connection(broker), group, health, drain_s=1.0, session_timeout_s=10.0
    )
    consumer = Counting(found._connection, found._client)
    consumer.seen = {}
    return consumer


class Deaf:
    """Takes no notice of what is assigned."""

    async def assigned(self, partitions: Sequence[Partition]) -> None:
        return

    async def revoked(self, partitions: Sequence[Partition]) -> None:
        return


async def test_a_cold_partition_is_read_within_a_few_polls(kafka_broker: RunningBroker) -> None:
    """However full the others are: each that has records gets its share of every poll."""
    topic = await uneven_topic(kafka_broker.bootstrap)
    consumer = await member(kafka_broker.bootstrap)
    try:
        consumer.subscribe([topic], Deaf())
        read = 0
        while COLD not in consumer.seen:
            batches = await consumer.poll(200, 80)
            assert all(len({record.partition for record in batch}) == 1 for batch in batches)
            assert all(len(batch) <= 21 for batch in batches)
            read += sum(map(len, batches))
    finally:
        await consumer.stop()
    first = min(consumer.seen.values())
    assert consumer.seen[COLD] - first <= 30, "more than what was fetched before it"
    assert read < 3 * 3_000 / 2


async def test_a_cold_partition_begins_while_the_hot_ones_are_full(
    kafka_broker: RunningBroker,
) -> None:
    """All places taken, thousands of records waiting: it gets one of the next places."""
    topic = await uneven_topic(kafka_broker.bootstrap)
    consumer, worker, stop = await member(kafka_broker.bootstrap), ToldWorker(), asyncio.Event()
    loop = ConsumingLoop(
        consumer,
        worker,
        LIMITS,
        ScorerTelemetry(CollectorRegistry()),
        Health(time.monotonic),
        time.time,
    )
    running = asyncio.create_task(loop.run([topic], stop))
    try:
        await until(lambda: COLD in consumer.seen, "the cold partition", every_s=0.005)
        assert consumer.polls - min(consumer.seen.values()) <= 10
        ended = 0
        while (COLD, 0) not in worker.begun:
            worker.may_end[worker.begun[ended]].set()
            ended += 1
            await until(partial(_have_begun, worker, ended), "the next one", every_s=0.002)
        assert ended <= 2 * (len(HOT) + 1)
    finally:
        stop.set()
        await running


def _have_begun(worker: ToldWorker, ended: int) -> bool:
    return len(worker.begun) >= LIMITS.max_in_flight + ended


async def ended(scorer: MonitorProcess, count: int) -> bool:
    """Whether so many interactions have ended."""
    return sum(outcomes(await scorer.metrics()).values()) == count


async def letters(broker: str, topics: Topics) -> list[dict[str, bytes]]:
    """The headers of the dead letters, all of which must be bare."""
    found = await read_all(broker, topics["kafka__topics__dead_letters"])
    assert {(letter.key, letter.value) for letter in found} <= {(None, b"")}
    return [dict(letter.headers) for letter in found]


async def test_a_header_that_is_no_text_stops_nobody(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Two of them, side by side, in the middle: two bare dead letters, the others are scored, and
    after a restart nothing is read again."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs = topics["kafka__topics__interactions"]
    good = [Record(encoded(interaction(f"i{n}"))) for n in range(30)]
    await produce(broker, inputs, good[:20])
    strange = [
        await produce_strange_header(broker, inputs, encoded(interaction(f"strange{n}")))
        for n in range(2)
    ]
    await produce(broker, inputs, good[20:])
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        await until(lambda: ended(scorer, 32), "all outcomes")
        samples = await scorer.metrics()
    finally:
        await scorer.end()
    assert outcomes(samples) == {"scored": 30, "dead_lettered": 2}
    name = "rag_monitor_interactions_total"
    assert total(samples, name, outcome="dead_lettered", reason="unreadable_record") == 2
    found = await letters(broker, topics)
    assert sorted(int(one["x-error.offset"]) for one in found) == strange
    assert {one["x-error.topic"].decode() for one in found} == {inputs}
    assert {one["x-error.class"] for one in found} == {b"unreadable_record"}
    again = MonitorProcess("score", broker, tmp_path, "again", **topics)
    try:
        await again.ready()
        await produce(broker, inputs, [Record(encoded(interaction("last")))])
        await until(lambda: ended(again, 1), "the last outcome")
    finally:
        await again.end()


async def test_a_batch_that_is_broken_on_disk_stops_nobody(tmp_path: Path) -> None:
    """Its checksum is wrong: each of its records is a bare dead letter, those around are scored."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    broker = await asyncio.to_thread(KafkaBroker(tmp_path).__enter__)
    topics = {f"kafka__topics__{key}": key for key in ("interactions", "scores", "dead_letters")}
    try:
        for name in topics.values():
            await create_topic(broker.bootstrap, name)
        for names in (["a1", "a2"], ["marked1", "marked2", "marked3"], ["b1"]):
            sent = [Record(encoded(interaction(name))) for name in names]
            await produce(broker.bootstrap, "interactions", sent)
        await asyncio.to_thread(broker.stop)
        corrupt_on_disk(tmp_path, "interactions", b"marked2")
        await asyncio.to_thread(broker.start)
        scorer = MonitorProcess("score", broker.bootstrap, tmp_path, "scorer", **topics)
        try:
            await scorer.ready()
            await until(lambda: ended(scorer, 6), "all outcomes")
            assert outcomes(await scorer.metrics()) == {"scored": 3, "dead_lettered": 3}
        finally:
            await scorer.end()
        found = await letters(broker.bootstrap, topics)
        assert sorted(int(one["x-error.offset"]) for one in found) == [2, 3, 4]
    finally:
        await asyncio.to_thread(broker.stop)


async def test_several_topics_are_read_by_one_group(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Each of their partitions has its own watermark and its own lag; the records say whence."""
    topics, broker = await make_topics(partitions=2), kafka_broker.bootstrap
    first = topics["kafka__topics__interactions"]
    second = f"{first}-second"
    await create_topic(broker, second, 1)
    topics["kafka__topics__interactions"] = f"{first},{second}"
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        for topic in (first, second):
            sent = [Record(encoded(interaction(f"{topic}-{n}"))) for n in range(10)]
            await produce(broker, topic, sent)
        await until(lambda: ended(scorer, 20), "all outcomes")

        async def lags() -> bool:
            samples = await scorer.metrics()
            found = [dict(at) for name, at in samples if name == "rag_monitor_consumer_lag_records"]
            return sorted((at["topic"], at["partition"]) for at in found) == [
                (first, "0"),
                (first, "1"),
                (second, "0"),
            ]

        await until(lags, "the lag of three partitions")
    finally:
        await scorer.end()
    read = await read_all(broker, topics["kafka__topics__scores"])
    sources = [read_score_record(record.value or b"").source for record in read]
    assert sorted({source.topic for source in sources}) == sorted([first, second])
    assert len(sources) == 20
