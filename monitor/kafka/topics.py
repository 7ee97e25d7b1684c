"""Creating the topics that are missing – only when the configuration asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from aiokafka import errors
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from monitor.errors import DependencyRefused
from monitor.health import Health
from monitor.kafka.connection import REFUSALS, Connection, refusal, start_patiently
from monitor.logs import logger

BROKER_DEFAULT = -1


class _Admin(AIOKafkaAdminClient):  # type: ignore[misc]  # aiokafka ships no types
    async def stop(self) -> None:
        await self.close()


class TopicSpec(NamedTuple):
    """A topic to create; −1 partitions is the broker's default."""

    name: str
    partitions: int = BROKER_DEFAULT
    configs: Mapping[str, str] = {}


async def create_missing(connection: Connection, specs: list[TopicSpec], health: Health) -> None:
    """Create those that do not exist; existing ones are left as they are.

    Raises ``DependencyRefused`` when the broker does not allow it.
    """
    admin = await start_patiently(
        lambda: _Admin(**connection.options()), connection, health, "create_topics"
    )
    try:
        existing = set(await admin.list_topics())
        for spec in specs:
            if spec.name not in existing:
                await _create(admin, connection, spec)
    finally:
        await admin.close()


async def _create(admin: _Admin, connection: Connection, spec: TopicSpec) -> None:
    topic = NewTopic(spec.name, spec.partitions, BROKER_DEFAULT, topic_configs=dict(spec.configs))
    answer = await admin.create_topics([topic])
    error = errors.for_code(answer.topic_errors[0][1])
    if error in (errors.NoError, errors.TopicAlreadyExistsError):
        logger().info("topic_created", topic=spec.name)
    elif issubclass(error, REFUSALS):
        raise DependencyRefused(refusal(connection, error(spec.name), spec.name))
    else:
        raise DependencyRefused(f"Kafka: cannot create topic {spec.name}: {error.__name__}")
