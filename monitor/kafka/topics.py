"""Topics as the monitor needs them: created when the configuration asks, checked at start."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from aiokafka import errors
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from monitor.errors import DependencyRefused
from monitor.kafka.cluster_state import retention_complaint
from monitor.kafka.connection import Connection
from monitor.kafka.retrying import REFUSALS, patiently, refusal, start_patiently, stopped
from monitor.runtime.health import Health
from monitor.runtime.logs import logger

#: A question on the side, while a record waits.
ASK_LIMIT_S = 5.0


class _Admin(AIOKafkaAdminClient):
    async def stop(self) -> None:
        await self.close()


class TopicSpec(NamedTuple):
    """A topic to create; without a number of partitions the broker's default."""

    name: str
    partitions: int | None = None
    configs: Mapping[str, str] = {}


async def create_missing(connection: Connection, specs: list[TopicSpec], health: Health) -> None:
    """Create those that do not exist; existing ones are left as they are.

    Raises ``DependencyRefused`` when the broker does not allow it.
    """
    admin = await start_patiently(
        lambda: _Admin(**connection.options()), connection, health, "create_topics"
    )

    async def create() -> None:
        existing = set(await admin.list_topics())
        missing = [spec for spec in specs if spec.name not in existing]
        defaults = await _broker_settings(admin) if missing else {}
        for spec in missing:
            await _create(admin, connection, spec, defaults)

    try:
        await patiently(create, connection, health, "create_topics", operation="Create")
    finally:
        await stopped(admin.close(), "admin")


async def _create(
    admin: _Admin, connection: Connection, spec: TopicSpec, defaults: Mapping[str, str]
) -> None:
    topic = NewTopic(
        spec.name,
        spec.partitions or int(defaults.get("num.partitions", 1)),
        int(defaults.get("default.replication.factor", 1)),
        topic_configs=dict(spec.configs),
    )
    answer = await admin.create_topics([topic])
    error = errors.for_code(answer.topic_errors[0][1])
    if error in (errors.NoError, errors.TopicAlreadyExistsError):
        logger().info("topic_created", topic=spec.name)
    elif issubclass(error, REFUSALS):
        raise DependencyRefused(refusal(connection, error(spec.name), operation="Create"))
    else:
        raise DependencyRefused(f"Kafka: cannot create topic {spec.name}: {error.__name__}")


async def _broker_settings(admin: _Admin) -> dict[str, str]:
    """The settings of one broker: the library speaks a version without «take the default»."""
    brokers = (await admin.describe_cluster())["brokers"]
    resource = ConfigResource(ConfigResourceType.BROKER, str(brokers[0]["node_id"]))
    return _settings(await admin.describe_configs([resource]))


def _settings(answers: Any) -> dict[str, str]:
    """Name → value of the one resource that was asked for."""
    return {entry[0]: str(entry[1]) for entry in answers[0].resources[0][4]}


async def record_limit(connection: Connection, topic: str) -> int | None:
    """The most bytes of a record that the topic takes; None when the broker does not tell."""
    try:
        async with asyncio.timeout(ASK_LIMIT_S):
            configs = await _topic_settings(connection, topic)
        return int(configs["max.message.bytes"])
    except (errors.KafkaError, OSError, TimeoutError, LookupError, ValueError):
        return None


async def _topic_settings(connection: Connection, topic: str) -> dict[str, str]:
    admin = connection.renewing(_Admin(**connection.options()))
    try:
        await admin.start()
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        return _settings(await admin.describe_configs([resource]))
    finally:
        await stopped(admin.close(), "admin")


async def check_retention(connection: Connection, topic: str, keep_s: int, health: Health) -> None:
    """Warn when the topic deletes or compacts records that a restart still needs.

    A broker that does not tell (no right, no such request) is taken at its word: nothing is said.
    """
    found = await _described(connection, topic, health, "check_retention")
    if found is not None and (complaint := retention_complaint(found, keep_s)):
        logger().warning("scores_retention", topic=topic, what=complaint)


async def check_compaction(
    connection: Connection, topic: str, health: Health, *, event: str, loses: str
) -> None:
    """Warn when the topic forgets its records with time; unless the broker does not tell.

    ``loses`` is what would happen then.
    """
    found = await _described(connection, topic, health, "check_compaction")
    if found is not None and found.get("cleanup.policy", "compact") != "compact":
        logger().warning(
            event,
            topic=topic,
            what=f"cleanup.policy is {found['cleanup.policy']}, {loses}: set it to compact",
        )


async def _described(
    connection: Connection, topic: str, health: Health, part: str
) -> dict[str, str] | None:
    """The settings of a topic; None when the broker does not tell."""
    admin = await start_patiently(lambda: _Admin(**connection.options()), connection, health, part)
    try:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        return _settings(await admin.describe_configs([resource]))
    except (errors.KafkaError, OSError, TimeoutError, IndexError) as error:
        logger().debug("topic_settings_unknown", topic=topic, error=str(error))
        return None
    finally:
        await stopped(admin.close(), "admin")
