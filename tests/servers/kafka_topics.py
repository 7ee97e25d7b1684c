"""What tests do with a Kafka topic: create it, write to it, read all of it, delete it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import NodeNotReadyError, for_code


@dataclass(frozen=True)
class Record:
    """A Kafka record; ``partition`` and ``timestamp_ms`` None leave the choice to the producer."""

    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp_ms: int | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    offset: int | None = None


@asynccontextmanager
async def admin_client(bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    """A client that knows a broker to ask.

    A broker that was frozen answers a moment before its controller counts it again; meanwhile its
    metadata name no broker at all, and a client that started on them can send nothing.
    """
    while True:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        try:
            await admin.start()
            await admin.describe_cluster()
            break
        except NodeNotReadyError:
            await admin.close()
            await asyncio.sleep(0.1)
        except BaseException:
            await admin.close()
            raise
    try:
        yield admin
    finally:
        await admin.close()


async def create_topic(
    bootstrap: str, name: str, partitions: int = 1, config: Mapping[str, str] | None = None
) -> None:
    """Create a topic; raises ``TopicAlreadyExistsError`` when there is one."""
    async with admin_client(bootstrap) as admin:
        topic = NewTopic(name, partitions, 1, topic_configs=dict(config or {}))
        for _, code, message in (await admin.create_topics([topic])).topic_errors:
            if code:
                raise for_code(code)(message)
        await _until_it_has_leaders(admin, name, partitions)


async def delete_topic(bootstrap: str, name: str) -> None:
    """Delete a topic; others may be told of it for a moment more."""
    async with admin_client(bootstrap) as admin:
        await admin.delete_topics([name])


async def produce(bootstrap: str, topic: str, records: Iterable[Record]) -> list[Record]:
    """Write the records in order; back, when all are acknowledged, with partition and offset."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", max_request_size=2**26)
    await producer.start()
    try:
        sent = []
        for r in records:
            future = await producer.send(
                topic, r.value, r.key, r.partition, r.timestamp_ms, list(r.headers)
            )
            sent.append((r, future))
        return [_placed(record, await future) for record, future in sent]
    finally:
        await producer.stop()


async def read_all(bootstrap: str, topic: str) -> list[Record]:
    """All records that there are when the reading starts, by partition and offset.

    Raises ``UnknownTopicOrPartitionError`` when there is no such topic.
    """
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        partitions = await _partitions(bootstrap, topic)
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        found: list[Record] = []
        for partition in partitions:
            # Not by counting: compaction and transactions leave gaps.
            while await consumer.position(partition) < ends[partition]:
                batch = await consumer.getmany(partition, timeout_ms=200)
                found += [_record(message) for message in batch.get(partition, [])]
        return found
    finally:
        await consumer.stop()


async def committed(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """Partition → the offset that the group has committed; those without one are left out."""
    async with admin_client(bootstrap) as admin:
        found = await admin.list_consumer_group_offsets(group)
    return {
        place.partition: mark.offset
        for place, mark in found.items()
        if place.topic == topic and mark.offset >= 0
    }


async def _partitions(bootstrap: str, topic: str) -> list[TopicPartition]:
    async with admin_client(bootstrap) as admin:
        (found,) = await admin.describe_topics([topic])
    if found["error_code"]:
        raise for_code(found["error_code"])(topic)
    return [TopicPartition(topic, n) for n in sorted(p["partition"] for p in found["partitions"])]


async def _until_it_has_leaders(admin: AIOKafkaAdminClient, name: str, partitions: int) -> None:
    """The broker learns of a new topic a moment after its controller has said yes."""
    while True:
        (topic,) = await admin.describe_topics([name])
        led = [part for part in topic["partitions"] if part["leader"] >= 0]
        if topic["error_code"] == 0 and len(led) == partitions:
            return
        await asyncio.sleep(0.02)


def _placed(record: Record, written: Any) -> Record:
    # The time stays the record's own: aiokafka gives the one of the batch for each record in it.
    return replace(record, partition=written.partition, offset=written.offset)


def _record(message: Any) -> Record:
    return Record(
        value=message.value,
        key=message.key,
        partition=message.partition,
        timestamp_ms=message.timestamp,
        headers=tuple(message.headers),
        offset=message.offset,
    )
