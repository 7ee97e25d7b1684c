"""Looking at a cluster without leaving a trace: no topic, group, offset or record comes of it.

Topics are asked for by name with their creation forbidden. A group is asked at every broker in
turn instead of at its coordinator: to look for the coordinator creates ``__consumer_offsets`` on a
cluster that has none yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaClient, TopicPartition, errors
from aiokafka.protocol.admin import DescribeConfigsRequest
from aiokafka.protocol.api import Request

from monitor.kafka.bounded.consumer import BoundedConsumer
from monitor.kafka.cluster_state import GroupFound, TopicFound, Unanswered
from monitor.kafka.connection import Connection
from monitor.kafka.extra_requests import GroupRequest, TopicsRequest, rights
from monitor.kafka.record import KafkaRecord
from monitor.kafka.retrying import REFUSALS, bounded, settled

_TOPIC = 2  # the resource type of DescribeConfigs
_OTHER_COORDINATOR = (
    errors.NotCoordinatorForGroupError,
    errors.GroupCoordinatorNotAvailableError,
    errors.GroupLoadInProgressError,
)
_CLOSE_LIMIT_S = 2.0
#: More would not say more, and a topic may hold records of any size.
MOST_BYTES = 64 * 1_048_576


class Inspector:
    """One connection to a cluster that only asks; every answer takes at most ``limit_s``."""

    def __init__(self, connection: Connection, client: AIOKafkaClient, limit_s: float) -> None:
        self._connection, self._client, self._limit_s = connection, client, limit_s

    @classmethod
    async def start(cls, connection: Connection, limit_s: float) -> Inspector:
        """Connect to the first bootstrap address that answers; raises ``Unanswered``."""
        options = connection.options() | {"request_timeout_ms": int(limit_s * 1000)}
        client = AIOKafkaClient(**options)
        try:
            await bounded(settled(client.bootstrap()), limit_s)
        except (errors.KafkaError, OSError, TimeoutError) as error:
            await _closed(client.close())
            raise Unanswered(_why(error, limit_s)) from error
        return cls(connection, client, limit_s)

    @property
    def brokers(self) -> list[str]:
        """``host:port`` of every broker, as the cluster advertises it."""
        found = sorted(self._client.cluster.brokers(), key=lambda broker: broker.nodeId)
        return [f"{broker.host}:{broker.port}" for broker in found]

    async def topics(self, names: Sequence[str]) -> dict[str, TopicFound]:
        """What the cluster says of these topics; raises ``Unanswered``."""
        answer = await self._ask(TopicsRequest(list(names)))
        return {found["topic"]: _topic(found) for found in answer.to_object()["topics"]}

    async def settings(self, topics: Sequence[str]) -> dict[str, dict[str, str] | Unanswered]:
        """The settings of existing topics, each its own answer; raises ``Unanswered``."""
        answer = await self._ask(DescribeConfigsRequest([(_TOPIC, name, None) for name in topics]))
        found: dict[str, dict[str, str] | Unanswered] = {}
        for resource in answer.resources:
            error = errors.for_code(resource[0])
            found[resource[3]] = (
                {entry[0]: str(entry[1]) for entry in resource[4]}
                if error is errors.NoError
                else Unanswered(error.__name__, forbidden=issubclass(error, REFUSALS))
            )
        return found

    async def group(self, group_id: str) -> GroupFound:
        """What the cluster says of a consumer group; raises ``Unanswered``."""
        for broker in sorted(self._client.cluster.brokers(), key=lambda broker: broker.nodeId):
            answer = await self._ask(GroupRequest(group_id), broker.nodeId)
            found = answer.to_object()["groups"][0]
            error = errors.for_code(found["error_code"])
            if error is errors.GroupAuthorizationFailedError:
                return GroupFound(hidden=True, members=None, rights=None)
            if error is errors.NoError:
                bits = found["authorized_operations"]
                return GroupFound(False, len(found["members"]), rights(bits))
            if error not in _OTHER_COORDINATOR:
                raise Unanswered(error.__name__)
        return GroupFound(hidden=False, members=None, rights=None)

    async def newest(
        self, topic: str, partitions: Sequence[int], most: int
    ) -> AsyncIterator[list[KafkaRecord]]:
        """Batches of the newest ``most`` records, spread over the partitions.

        Of no group, so that nothing is joined or committed. Ends early after ``limit_s`` or 64 MiB;
        raises ``Unanswered`` when the records may not be read, or none came in time.
        """
        consumer = BoundedConsumer(
            self._connection,
            group_id=None,
            enable_auto_commit=False,
            request_timeout_ms=int(self._limit_s * 1000),
        )
        asked = [TopicPartition(topic, number) for number in partitions]
        try:
            async with asyncio.timeout(self._limit_s):
                await consumer.start()
                ends = await _seek_to_newest(consumer, asked, most)
            async for batch in _until(consumer, ends, self._limit_s):
                yield batch
        except (errors.KafkaError, OSError, TimeoutError) as error:
            forbidden = isinstance(error, REFUSALS)
            raise Unanswered(_why(error, self._limit_s), forbidden=forbidden) from error
        finally:
            await _closed(consumer.stop())

    async def _ask(self, request: Request, node: int | None = None) -> Any:
        """The answer of a broker, by default any that can be reached."""
        known = [broker.nodeId for broker in self._client.cluster.brokers()]
        why = "no broker can be reached"
        for number in known if node is None else [node]:
            try:
                return await bounded(self._client.send(number, request), self._limit_s)
            except (errors.IncompatibleBrokerVersion, NotImplementedError):
                why = "this broker's Kafka is too old to tell"
            except (errors.KafkaError, OSError, TimeoutError) as error:
                why = _why(error, self._limit_s)
        raise Unanswered(why)

    async def stop(self) -> None:
        """Disconnect."""
        await _closed(self._client.close())


def _topic(found: Mapping[str, Any]) -> TopicFound:
    error = errors.for_code(found["error_code"])
    partitions = found["partitions"]
    return TopicFound(
        missing=error in (errors.UnknownTopicOrPartitionError, errors.InvalidTopicError),
        hidden=error is errors.TopicAuthorizationFailedError,
        partitions=tuple(sorted(part["partition"] for part in partitions)),
        leaderless=tuple(sorted(part["partition"] for part in partitions if part["leader"] < 0)),
        least_in_sync=min((len(part["isr"]) for part in partitions), default=0),
        rights=rights(found["authorized_operations"]) if error is errors.NoError else None,
    )


def shares(sizes: Sequence[int], most: int) -> list[int]:
    """How many of each partition's records to read, ``most`` in all: even, as far as they go.

    >>> shares([5, 1000, 1000], 1000)
    [5, 497, 498]
    >>> shares([0, 3], 1000)
    [0, 3]
    """
    wanted, left = [0] * len(sizes), most
    smallest_first = sorted(range(len(sizes)), key=lambda index: sizes[index])
    for rank, index in enumerate(smallest_first):
        wanted[index] = min(sizes[index], left // (len(sizes) - rank))
        left -= wanted[index]
    return wanted


async def _seek_to_newest(
    consumer: BoundedConsumer, partitions: list[TopicPartition], most: int
) -> dict[TopicPartition, int]:
    """Assign and seek; the end offsets of the partitions that hold something.

    Assigned once, and only what is read: a client that is stopped right after its assignment has
    changed may not hear it (aiokafka 0.14 swallows the cancellation of its fetching task).
    """
    ends = await consumer.end_offsets(partitions)
    begins = await consumer.beginning_offsets(partitions)
    wanted = shares([ends[part] - begins[part] for part in partitions], most)
    filled = {part: n for part, n in zip(partitions, wanted, strict=True) if n}
    if filled:
        consumer.assign(list(filled))
    for part, n in filled.items():
        consumer.seek(part, ends[part] - n)
    return {part: ends[part] for part in filled}


async def _until(
    consumer: BoundedConsumer, ends: dict[TopicPartition, int], limit_s: float
) -> AsyncIterator[list[KafkaRecord]]:
    """Read to these ends; records that came later are left out. ``TimeoutError`` if none came.

    Not by counting: compaction and transactions leave gaps, so the position tells.
    """
    loop = asyncio.get_running_loop()
    deadline, size, got_any = loop.time() + limit_s, 0, False
    while ends and size < MOST_BYTES:
        if loop.time() > deadline:
            if got_any:
                return
            raise TimeoutError
        batches = await consumer.getmany(*ends, timeout_ms=200, max_records=200)
        for part, records in batches.items():
            kept = [record for record in records if record.offset < ends[part]]
            size += sum(len(record.value or b"") for record in kept)
            got_any = got_any or bool(kept)
            if kept:
                yield kept
        done = [part for part in ends if await consumer.position(part) >= ends[part]]
        for part in done:
            del ends[part]


async def _closed(closing: Awaitable[None]) -> None:
    """Wait for a client to end, but not for ever."""
    with suppress(TimeoutError):
        await bounded(closing, _CLOSE_LIMIT_S)


def _why(error: BaseException, limit_s: float) -> str:
    if isinstance(error, TimeoutError | errors.RequestTimedOutError | errors.KafkaTimeoutError):
        return f"no answer within {limit_s:.0f} s"
    if isinstance(error, errors.NodeNotReadyError):
        return "no broker can be reached at the address that the cluster advertises"
    return type(error).__name__
