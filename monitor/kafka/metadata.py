"""Which topics and partitions exist, without asking for a topic by name.

Asking by name creates the topic on brokers that allow it; asking for all never does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaClient, errors

from monitor.health import Health
from monitor.kafka.connection import Connection
from monitor.kafka.patience import (
    FIRST_WAIT_S,
    LONGEST_WAIT_S,
    bounded,
    start_patiently,
)
from monitor.logs import logger

REQUEST_LIMIT_S = 30.0


class _Client(AIOKafkaClient):  # type: ignore[misc]  # aiokafka ships no types
    async def start(self) -> None:
        await self.bootstrap()

    async def stop(self) -> None:
        await self.close()


class ClusterView:
    """The cluster's list of topics."""

    def __init__(self, client: _Client) -> None:
        self._client = client

    @classmethod
    async def start(cls, connection: Connection, health: Health, part: str) -> ClusterView:
        """Connect."""
        return cls(
            await start_patiently(lambda: _Client(**connection.options()), connection, health, part)
        )

    async def partitions(self) -> dict[str, list[int]]:
        """Topic → its partition numbers, for every topic that we may describe."""
        cluster = await bounded(self._client.fetch_all_metadata(), REQUEST_LIMIT_S)
        return {
            topic: sorted(cluster.partitions_for_topic(topic) or ()) for topic in cluster.topics()
        }

    async def stop(self) -> None:
        """Disconnect."""
        await self._client.stop()


async def _existing(cluster: ClusterView) -> dict[str, list[int]]:
    """No topic at all while the broker is away."""
    try:
        return await cluster.partitions()
    except (errors.KafkaError, TimeoutError, OSError) as error:
        logger().warning("kafka_unreachable", what="topics", error=str(error))
        return {}


async def wait_for_topics(
    connection: Connection, topics: Sequence[str], health: Health, part: str
) -> None:
    """Return when all topics exist; until then the part is not ready."""
    cluster = await ClusterView.start(connection, health, part)
    wait = FIRST_WAIT_S
    try:
        while missing := sorted(set(topics) - set(await _existing(cluster))):
            why = f"topics {', '.join(missing)}: create them, or grant the right to describe them"
            health.waits(part, why)
            logger().warning("kafka_topic_missing", topic=missing[0], what=part, hint=why)
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_S)
    finally:
        await cluster.stop()
    health.ready(part)
