"""Which topics and partitions exist, and whether we may know of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaClient, errors
from aiokafka.protocol.metadata import MetadataRequest

from monitor.kafka.connection import Connection
from monitor.kafka.problems import Problem, ProblemKind
from monitor.kafka.retrying import (
    FIRST_WAIT_S,
    LONGEST_WAIT_S,
    bounded,
    patiently,
    start_patiently,
    stopped,
)
from monitor.runtime.health import Health

REQUEST_LIMIT_S = 10.0


class _MetadataClient(AIOKafkaClient):
    async def start(self) -> None:
        await self.bootstrap()

    async def stop(self) -> None:
        await self.close()


class ClusterView:
    """The cluster's list of topics."""

    def __init__(self, client: _MetadataClient) -> None:
        self._client = client

    @classmethod
    async def start(cls, connection: Connection, health: Health, part: str) -> ClusterView:
        """Connect."""
        return cls(
            await start_patiently(
                lambda: _MetadataClient(**connection.options()), connection, health, part
            )
        )

    async def partitions(self) -> dict[str, list[int]]:
        """Topic → its partition numbers, for every topic that we may describe.

        Asks for all topics: asking for one by name creates it on brokers that allow that.
        """
        cluster = await bounded(self._client.fetch_all_metadata(), REQUEST_LIMIT_S)
        return {
            topic: sorted(cluster.partitions_for_topic(topic) or ()) for topic in cluster.topics()
        }

    async def missing(self, topics: Sequence[str]) -> list[str]:
        """Those of the topics that do not exist; asked for by name, with creation forbidden.

        Raises aiokafka's ``TopicAuthorizationFailedError`` naming those that we may not describe,
        whether or not they exist, and other errors of the broker as they are.
        """
        node = self._client.get_random_node()
        request = MetadataRequest(list(topics), allow_auto_topic_creation=False)
        answer = await bounded(self._client.send(node, request), REQUEST_LIMIT_S)
        answered = {topic: errors.for_code(code) for code, topic, *_ in answer.topics}
        hidden = [t for t in topics if answered.get(t) is errors.TopicAuthorizationFailedError]
        if hidden:
            raise errors.TopicAuthorizationFailedError(sorted(set(hidden)))
        away = {errors.UnknownTopicOrPartitionError, errors.LeaderNotAvailableError, None}
        for error in set(answered.values()) - away - {errors.NoError}:
            raise error()
        return sorted({topic for topic in topics if answered.get(topic) in away})

    async def stop(self) -> None:
        """Disconnect."""
        await stopped(self._client.stop(), "metadata")


async def wait_for_topics(
    connection: Connection, topics: Sequence[str], health: Health, part: str
) -> None:
    """Return when all topics exist; until then the part is not ready.

    Raises ``DependencyRefused`` when one of them may not be described.
    """
    cluster = await ClusterView.start(connection, health, part)
    wait = FIRST_WAIT_S
    try:
        while missing := await patiently(
            lambda: cluster.missing(topics), connection, health, part, operation="Describe"
        ):
            names = ", ".join(missing)
            found = f"there is no topic {names}"
            mend = "create them, or set kafka.create_topics"
            health.waits(part, f"{found}: {mend}")
            finding = Problem(ProblemKind.MISSING_TOPIC, found, mend, topic=names)
            connection.problems.meet(connection.name, f"{part}_topics", finding)
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_S)
    finally:
        await cluster.stop()
    connection.problems.over(connection.name, f"{part}_topics")
    health.ready(part)
