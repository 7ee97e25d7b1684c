"""All that can be seen of a cluster, to prove that something has changed nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.servers.kafka_topics import admin_client


class Snapshot(NamedTuple):
    """Topic → partitions, (topic, partition) → end offset, topic → settings; groups, and committed
    offsets by group."""

    topics: dict[str, list[int]]
    ends: dict[tuple[str, int], int]
    settings: dict[str, dict[str, str]]
    groups: dict[str, dict[tuple[str, int], int]]


async def snapshot(bootstrap: str) -> Snapshot:
    """The cluster now; the internal topics stand in it, too."""
    async with admin_client(bootstrap) as admin:
        topics = {
            topic["topic"]: sorted(part["partition"] for part in topic["partitions"])
            for topic in await admin.describe_topics()
        }
        return Snapshot(
            topics,
            await _ends(bootstrap, topics),
            {topic: await _settings(admin, topic) for topic in topics},
            {group: await _committed(admin, group) for group in await _groups(admin)},
        )


async def _ends(bootstrap: str, topics: dict[str, list[int]]) -> dict[tuple[str, int], int]:
    every = [TopicPartition(topic, n) for topic, numbers in topics.items() for n in numbers]
    if not every:
        return {}
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
    await consumer.start()
    try:
        consumer.assign(every)
        found = await consumer.end_offsets(every)
    finally:
        await consumer.stop()
    return {(part.topic, part.partition): end for part, end in found.items()}


async def _settings(admin: AIOKafkaAdminClient, topic: str) -> dict[str, str]:
    answers = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    return {entry[0]: entry[1] for entry in answers[0].resources[0][4]}


async def _groups(admin: AIOKafkaAdminClient) -> list[str]:
    found: list[Any] = await admin.list_consumer_groups()
    return sorted(str(group[0]) for group in found)


async def _committed(admin: AIOKafkaAdminClient, group: str) -> dict[tuple[str, int], int]:
    found = await admin.list_consumer_group_offsets(group)
    return {(part.topic, part.partition): held.offset for part, held in found.items()}
