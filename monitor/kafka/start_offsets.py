"""Where a group begins a partition of which it has committed nothing.

The place is committed before anything is read from it: a process that is killed before its first
commit begins there again, and not where the rule would lead it later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from aiokafka import TopicPartition, errors

from monitor.runtime.logs import logger

REQUEST_LIMIT_S: Final = 10.0
#: A right is missing: asked again, a broker says the same.
NO_RIGHT: Final = (
    errors.TopicAuthorizationFailedError,
    errors.GroupAuthorizationFailedError,
    errors.ClusterAuthorizationFailedError,
)
#: Kafka's own names for the two ends of a partition, in the place of a time.
LATEST, EARLIEST = -1, -2


class StartRule(NamedTuple):
    """Where to begin: ``name`` as configured, ``at_ms`` gives epoch milliseconds or an end.

    ``strictly``: what has no younger record is not begun at its first, but at its end.
    """

    name: str
    at_ms: Callable[[], int]
    strictly: bool = False


class Offsets(Protocol):
    """What a consumer's client tells and takes of offsets."""

    async def beginning_offsets(
        self, partitions: Sequence[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """Where partitions begin."""

    async def end_offsets(
        self, partitions: Sequence[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """Where they end."""

    async def since(
        self, partitions: Sequence[TopicPartition], start_ms: int
    ) -> Mapping[TopicPartition, int]:
        """The first offset at or after this time, where there is one."""

    async def has_committed(self, topic: str) -> bool:
        """Whether the group has committed an offset of any partition of the topic."""

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> object:
        """Commit the offsets."""


async def chosen(
    client: Offsets, rule: StartRule, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int] | None:
    """Partition → offset, committed already; empty where that cannot be done now.

    None where a right is missing: whoever reads on meets the same refusal, and says it.
    """
    try:
        async with asyncio.timeout(REQUEST_LIMIT_S):
            topics = {part.topic for part in partitions}
            read = {topic for topic in topics if await client.has_committed(topic)}
            found = await begun(client, rule, sorted(partitions), read)
            await client.commit(found)
            ends = await client.end_offsets(list(found))
    except NO_RIGHT as error:
        logger().debug("start_not_chosen", error=f"{type(error).__name__}: {error}")
        return None
    except (errors.KafkaError, TimeoutError) as error:  # a rebalance, or away: it is asked again
        logger().debug("start_not_chosen", error=f"{type(error).__name__}: {error}")
        return {}
    for part, offset in found.items():
        where = {"topic": part.topic, "partition": part.partition, "offset": offset}
        unread = max(0, ends[part] - offset)
        logger().info("partition_begun", start=rule.name, unread=unread, **where)
    return found


async def begun(
    client: Offsets,
    rule: StartRule,
    partitions: Sequence[TopicPartition],
    read_topics: Collection[str],
) -> dict[TopicPartition, int]:
    """Partition → offset; nothing is committed. Of ``read_topics`` the group has committed some.

    A partition that was added to a topic which the group reads begins at its first record: nobody
    has seen it. So does one in which no record is younger than the rule's time, since the broker
    says the same of records without a time; what is too old is found when it is decoded.
    """
    new, at_ms = [part for part in partitions if part.topic not in read_topics], rule.at_ms()
    found = dict(await client.beginning_offsets(partitions))
    if at_ms == LATEST:
        found |= await client.end_offsets(new)
    elif at_ms != EARLIEST and new:
        if rule.strictly:
            found |= await client.end_offsets(new)
        found |= await client.since(new, at_ms)
    return found
