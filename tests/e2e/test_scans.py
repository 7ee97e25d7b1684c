"""What commands do with a topic, while its broker stops to answer: they end, and say so."""

from __future__ import annotations

import json
import time
from asyncio import Event, to_thread
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from monitor.app.connections import connection
from monitor.config import load
from monitor.errors import DependencyRefused
from monitor.kafka.record import KafkaRecord
from monitor.kafka.replay import Redelivery, TopicScan
from monitor.runtime.health import Health
from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, KafkaBroker, RunningBroker, missing_kafka
from tests.servers.kafka_topics import Record, admin_client, create_topic, produce, read_all
from tests.stages.command import environ_of, rag_monitor, running
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


CONTROL, SCORES, ALARMS = (f"{of}_records_skipped" for of in ("control", "score", "alarm"))
#: Commands that read topics once; and of which topics each says what it leaves out.
READERS = {
    ("report", "--since", "1h", "--out", "-"): {CONTROL, ALARMS},
    ("alarms", "--json"): {CONTROL, ALARMS},
    ("resume", "--application", "bot"): {CONTROL},
    ("baseline", "show"): {CONTROL, SCORES},
    ("status", "--url", "http://127.0.0.1:9"): {CONTROL, SCORES},
    ("score", "--dry-run"): {CONTROL},
    ("audit", "forget", "--interaction", "1", "--yes"): {CONTROL, SCORES, ALARMS},
    ("worst",): {SCORES},
    ("show", "1"): {SCORES},
    ("why", "1"): {CONTROL, SCORES},
}


async def test_what_a_command_leaves_out_is_said(
    kafka_broker: RunningBroker, make_topics: MakeTopics
) -> None:
    """Each goes by the rest: one line on stderr says how many, where the first stands, and why."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    environ = environ_of(broker, {"http__port": 0, **topics})

    async def left_out() -> dict[tuple[str, ...], dict[str, dict[str, object]]]:
        return {it: await _left_out(it, environ) for it in READERS}

    assert set(map(len, (await left_out()).values())) == {0}
    kinds = ("correction", "pause", "baseline", "forgotten")
    control = [Record(b"{", key=f"{kind}/bot/{n}".encode()) for kind in kinds for n in "12"]
    newer = [Record(b'{"schema": "rag.score/2", "interaction_id": "1"}', b"bot/1")] * 3
    await produce(broker, topics["kafka__topics__control"], control)
    await produce(broker, topics["kafka__topics__scores"], newer)
    await produce(broker, topics["kafka__topics__alarms"], [Record(b"{", key=b"faithfulness/bot")])
    for command, told in (await left_out()).items():
        assert set(told) == READERS[command], (command, told)
        if SCORES in told:
            assert (told[SCORES]["records"], told[SCORES]["offset"]) == (3, 0)
            assert "rag.score/2" in str(told[SCORES]["error"])
        if CONTROL in told:
            assert told[CONTROL]["topic"] == topics["kafka__topics__control"]
            assert told[CONTROL]["records"] in (2, len(control))


async def _left_out(
    command: Sequence[str], environ: Mapping[str, str]
) -> dict[str, dict[str, object]]:
    """By event."""
    ended = await to_thread(rag_monitor, *command, environ=environ)
    events = [json.loads(line) for line in ended.stderr.splitlines() if line.startswith("{")]
    assert "records_skipped" not in ended.stdout
    return {it["event"]: it for it in events if it["event"].endswith("records_skipped")}


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
