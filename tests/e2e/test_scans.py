"""What commands do with a topic, while its broker stops to answer: they end, and say so."""

from __future__ import annotations

import json
import time
from asyncio import Event, to_thread
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from monitor.app.connections import connection
from monitor.config import load
from monitor.control.latest_records import LatestRecords
from monitor.control.scanned import scan_control
from monitor.control.state import ControlState
from monitor.errors import DependencyRefused
from monitor.kafka.record import KafkaRecord
from monitor.kafka.replay import Redelivery, TopicScan
from monitor.records.control import CORRECTION, CorrectionRecord
from monitor.runtime.health import Health
from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, KafkaBroker, RunningBroker, missing_kafka
from tests.servers.kafka_topics import Record, admin_client, create_topic, produce, read_all
from tests.stages.captured_log import captured_log
from tests.stages.command import environ_of, running
from tests.stages.corrections import correction
from tests.stages.process import until
from tests.stages.topics import MakeTopics
from tests.tools import requires_tool

TOPIC, MADE_UP, SILENCE_S = "letters", "made-up", 1.0
#: Together far more than a client fetches ahead.
RECORDS = [Record(b"x" * 900_000) for _ in range(12)]
SAID = r"cannot read topic letters: nothing came for 1 s; check that its brokers are there"


async def test_what_is_deleted_under_a_look_at_a_topic_is_nobodys_loss(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """A scorer looks at its backlog beside reading it: what both miss is counted once."""
    topic, broker = (await make_topics())["kafka__topics__interactions"], kafka_broker.bootstrap
    await produce(broker, topic, [replace(record, partition=0) for record in RECORDS])
    kafka = connection(load({}, None, {"kafka.bootstrap_servers": broker}))
    counted = Counter[str]()
    kafka.losses.counted_by(
        lambda name, number: counted.update({name: number}),
        lambda name, number: counted.update({name: number}),
    )
    scan, offsets = await TopicScan.start(kafka, Health(time.monotonic)), list[int]()
    try:
        async for record in scan.records(topic):
            offsets.append(record.offset)
            if len(offsets) == 1:
                async with admin_client(broker) as admin:
                    place = TopicPartition(topic, 0)
                    await admin.delete_records({place: RecordsToDelete(len(RECORDS) - 1)})
    finally:
        await scan.stop()
    assert len(offsets) < len(RECORDS), "some were gone before they were read"
    assert offsets[-1] == len(RECORDS) - 1
    assert +counted == {}


async def test_what_is_left_out_of_the_control_topic_is_said(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """A report and ``doctor`` go by the rest: what they do not know of is named, with its place."""
    topic, broker = (await make_topics())["kafka__topics__control"], kafka_broker.bootstrap
    good = correction("bot", "llm@1")
    broken = Record(b"{", key=b"correction/bot/llm@2")
    await produce(broker, topic, [broken, Record(good.to_json(), key=good.key.encode())])
    latest = LatestRecords(CorrectionRecord)
    kafka = connection(load({}, None, {"kafka.bootstrap_servers": broker}))
    with captured_log("INFO", "json") as logged:
        scan = await TopicScan.start(kafka, Health(time.monotonic))
        try:
            await scan_control(scan, topic, ControlState({CORRECTION: latest.apply}))
        finally:
            await scan.stop()
    assert [*latest.by_key.values()] == [good]
    (told,) = (line for line in logged().splitlines() if "control_record_skipped" in line)
    assert json.loads(told)["topic"] == topic


async def test_a_broker_that_freezes_ends_what_reads_a_topic(tmp_path: Path) -> None:
    """In the time that it may be silent: a client by itself would poll for ever."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    broker = KafkaBroker(tmp_path)
    await to_thread(broker.start)
    try:
        for topic in (TOPIC, MADE_UP):
            await create_topic(broker.bootstrap, topic, 1)
        await produce(broker.bootstrap, TOPIC, RECORDS)
        await _written_for_ever(broker)
        await _read_by_both(broker)
    finally:
        await to_thread(broker.stop)


async def _written_for_ever(broker: KafkaBroker) -> None:
    """Traffic ends when it is not acknowledged any more, and not with its own end."""
    environ = environ_of(broker.bootstrap, {"kafka__topics__interactions": MADE_UP})
    with running("traffic", "--for", "3600", "--timeout", "15", environ=environ) as process:
        await until(lambda: _has_records(broker.bootstrap), "the first interaction", every_s=0.2)
        broker.freeze()
        try:
            ended = await process.ended()
        finally:
            broker.thaw()
    assert (ended.returncode, ended.stdout) == (3, ""), ended.stderr
    last = ended.stderr.splitlines()[-1]
    where = f"rag-monitor: Kafka {broker.bootstrap}: "
    assert last.startswith(f"{where}writing was not done within 15 s (")
    assert "takes connections, but answers nothing" in last
    assert last.endswith("); --timeout gives it more")


async def _has_records(broker: str) -> bool:
    return bool(await read_all(broker, MADE_UP))


async def _read_by_both(broker: KafkaBroker) -> None:
    kafka = connection(load({}, None, {"kafka.bootstrap_servers": broker.bootstrap}))
    health = Health(time.monotonic)
    async with AsyncExitStack() as stack:
        scan = await TopicScan.start(kafka, health, silence_s=SILENCE_S)
        stack.push_async_callback(scan.stop)
        member = await Redelivery.start(kafka, health, group_id="again", topic=TOPIC)
        stack.push_async_callback(member.stop)
        stack.callback(broker.thaw)
        await _both_end(broker, scan, member)


async def _both_end(broker: KafkaBroker, scan: TopicScan, member: Redelivery) -> None:
    read = 0

    async def all_of_it() -> None:
        nonlocal read
        async for _ in scan.records(TOPIC):
            read += 1
            if read == 1:
                broker.freeze()

    async def take(records: Sequence[KafkaRecord]) -> int:
        return len(records)

    with pytest.raises(DependencyRefused, match=SAID):
        await all_of_it()
    assert 1 <= read < len(RECORDS)
    with pytest.raises(DependencyRefused, match=SAID):
        await member.work_through(take, Event(), SILENCE_S)
