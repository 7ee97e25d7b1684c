"""Transactional producers: their marks take offsets, and what they abort was never said."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from monitor.records import read_score_record
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import read_all
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, outcomes, total, until
from tests.stages.topics import MakeTopics

#: In so many transactions; so many of them are aborted.
RECORDS, TRANSACTIONS, ABORTED = 40, 8, 3


async def send(broker: str, topic: str, name: str) -> None:
    """All records of one producer; those of the last transactions are aborted."""
    producer = AIOKafkaProducer(bootstrap_servers=broker, transactional_id=f"{topic}-{name}")
    await producer.start()
    try:
        for number in range(TRANSACTIONS):
            await producer.begin_transaction()
            for one in range(number, RECORDS, TRANSACTIONS):
                value = encoded(interaction(f"{name}-{one}"))
                await producer.send_and_wait(topic, value, partition=0)
            if number < TRANSACTIONS - ABORTED:
                await producer.commit_transaction()
            else:
                await producer.abort_transaction()
    finally:
        await producer.stop()


async def is_idle(process: MonitorProcess, ended: int) -> bool:
    """Whether so many interactions have ended, and nobody is behind."""
    samples = await process.metrics()
    lags = [
        total(samples, name)
        for name in ("rag_monitor_consumer_lag_records", "rag_monitor_consumer_lag_seconds")
    ]
    group = [
        value for (name, _), value in samples.items() if name == "rag_monitor_group_lag_records"
    ]
    return sum(outcomes(samples).values()) == ended and lags == [0, 0] and group == [0]


@pytest.mark.parametrize(
    ("isolation_level", "read"),
    [
        ("read_committed", RECORDS * (TRANSACTIONS - ABORTED) // TRANSACTIONS),
        ("read_uncommitted", RECORDS),
    ],
)
async def test_nobody_is_behind_a_mark_and_nothing_aborted_is_judged(
    kafka_broker: RunningBroker,
    make_topics: MakeTopics,
    tmp_path: Path,
    isolation_level: str,
    read: int,
) -> None:
    """Idle means a lag of 0 in all three gauges, also for a process that begins at a mark."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    topic = topics["kafka__topics__interactions"]
    settings = {**topics, "kafka__isolation_level": isolation_level}
    expected = {f"first-{n}" for n in range(RECORDS)} | {f"second-{n}" for n in range(RECORDS)}
    if isolation_level == "read_committed":
        kept = TRANSACTIONS - ABORTED
        expected = {name for name in expected if int(name.split("-")[1]) % TRANSACTIONS < kept}
    await send(broker, topic, "first")
    for begun, name in enumerate(("one", "two")):
        process = MonitorProcess("run", broker, tmp_path, name, **settings)
        try:
            await process.ready()
            if begun:
                await until(partial(is_idle, process, 0), "nothing to read again")
                await send(broker, topic, "second")
            await until(partial(is_idle, process, read), "a lag of 0")
        finally:
            await process.end()
    records = await read_all(broker, topics["kafka__topics__scores"])
    judged = [read_score_record(record.value or b"").interaction_id for record in records]
    assert sorted(judged) == sorted(expected)


async def test_what_is_not_committed_yet_waits_and_is_no_lag(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """An open transaction holds up what comes behind it, as for every consumer; then it ends."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    topic = topics["kafka__topics__interactions"]
    process = MonitorProcess("run", broker, tmp_path, "run", **topics)
    producer = AIOKafkaProducer(bootstrap_servers=broker, transactional_id=f"{topic}-open")
    await producer.start()
    try:
        await process.ready()
        await producer.begin_transaction()
        await producer.send_and_wait(topic, encoded(interaction("open")), partition=0)
        plain = AIOKafkaProducer(bootstrap_servers=broker)
        await plain.start()
        await plain.send_and_wait(topic, encoded(interaction("behind")), partition=0)
        await plain.stop()
        await until(partial(is_idle, process, 0), "nothing may be read")
        await producer.commit_transaction()
        await until(partial(is_idle, process, 2), "both")
    finally:
        await producer.stop()
        await process.end()
