"""Reading whole topics without a group: replay, follow, and the lag of somebody else's group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack

from aiokafka import TopicPartition, errors

from monitor.errors import DependencyRefused
from monitor.kafka.bounded.consumer import BoundedConsumer
from monitor.kafka.connection import Connection
from monitor.kafka.metadata import REQUEST_LIMIT_S, ClusterView, wait_for_topics
from monitor.kafka.record import KafkaRecord, Partition
from monitor.kafka.retrying import REFUSALS, bounded, patiently, refusal, start_patiently, stopped
from monitor.runtime.health import Health
from monitor.runtime.logs import logger

REFRESH_S = 30.0
#: A broker that is away must not keep the loop that reads from coming round.
REFRESH_LIMIT_S = 10.0


class TopicReader:
    """All partitions of one topic, from a time on, followed for ever."""

    def __init__(
        self, connection: Connection, client: BoundedConsumer, cluster: ClusterView, topic: str
    ) -> None:
        self._connection, self._client, self._topic = connection, client, topic
        self._cluster = cluster
        self._ends: dict[TopicPartition, int] = {}
        self._start_ms = 0
        self._starts_ms: Mapping[int, int] = {}

    @classmethod
    async def start(
        cls,
        connection: Connection,
        topic: str,
        health: Health,
        *,
        start_ms: int,
        starts_ms: Mapping[int, int] | None = None,
        part: str = "reader",
    ) -> TopicReader:
        """Begin at the first record whose broker time is ≥ ``start_ms`` (epoch milliseconds).

        ``starts_ms`` has another such time for the partitions that it names.
        ``part`` is what waits when the topic or a broker is missing.

        Where the broker does not know such a record, and is not able to tell that there is none,
        reading begins at the beginning.
        """
        await wait_for_topics(connection, [topic], health, part)
        connection.losses.follows(topic)
        client = await start_patiently(
            lambda: BoundedConsumer(
                connection,
                group_id=None,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                max_partition_fetch_bytes=4 * 1_048_576,
            ),
            connection,
            health,
            part,
        )
        async with AsyncExitStack() as on_failure:
            on_failure.push_async_callback(client.stop)
            cluster = await ClusterView.start(connection, health, part)
            on_failure.push_async_callback(cluster.stop)
            reader = cls(connection, client, cluster, topic)
            reader._start_ms, reader._starts_ms = start_ms, starts_ms or {}
            await patiently(reader._assign_new, connection, health, part)
            await client.look_at_logs()  # from now on another log is noticed
            on_failure.pop_all()
        return reader

    async def _assign_new(self) -> None:
        """Take up partitions that are not read yet; those come with their own end offset."""
        partitions = (await self._cluster.partitions()).get(self._topic, [])
        known = self._client.assignment()
        new = [p for n in partitions if (p := TopicPartition(self._topic, n)) not in known]
        if not new:
            return
        # All that may fail comes first: what is assigned counts as known.
        ends = await bounded(self._client.end_offsets(new), REQUEST_LIMIT_S)
        starts = {p: self._starts_ms.get(p.partition, self._start_ms) for p in new}
        found = await bounded(self._client.since_each(starts), REQUEST_LIMIT_S)
        positions = {p: await self._client.position(p) for p in known}
        self._client.assign([*known, *new])
        for partition, position in positions.items():
            self._client.seek(partition, position)
        for partition in new:
            if partition in found:
                self._client.seek(partition, found[partition])
            else:
                # None is also what a broker without a time index says: read all, miss nothing.
                await self._client.seek_to_beginning(partition)
        self._ends.update(ends)

    async def aim_at_end(self) -> bool:
        """Let ``left_to_replay`` count to where the partitions end now; False: nobody answers."""
        try:
            assigned = self._client.assignment()
            self._ends.update(await bounded(self._client.end_offsets(assigned), REQUEST_LIMIT_S))
        except (errors.KafkaError, TimeoutError) as error:
            logger().debug("kafka_ends_unknown", topic=self._topic, error=str(error))
            return False
        return True

    async def left_to_replay(self) -> int:
        """Records between the position and the ends seen at the start, or by ``aim_at_end``."""
        left = 0
        for partition, end in list(self._ends.items()):
            # A log that was made anew may end before the one that was replayed at first.
            end = min(end, self._client.end_offset(partition) or end)
            missing = end - await bounded(self._client.position(partition), REQUEST_LIMIT_S)
            if missing <= 0:
                del self._ends[partition]
            left += max(missing, 0)
        return left

    async def batches(self, timeout_ms: int = 200) -> AsyncIterator[list[KafkaRecord]]:
        """Batches of records for ever; an empty one at least every ``REFRESH_LIMIT_S``.

        Raises ``DependencyRefused`` when the broker takes the right to read away.
        """
        loop = asyncio.get_running_loop()
        refreshed = loop.time()
        while True:
            try:
                batches = await self._client.getmany(timeout_ms=timeout_ms, max_records=2_000)
            except REFUSALS as error:
                raise DependencyRefused(refusal(self._connection, error, self._topic)) from error
            except errors.KafkaError as error:
                # What it is, the availability check finds out and says.
                logger().debug("kafka_read_retried", topic=self._topic, error=str(error))
                await asyncio.sleep(timeout_ms / 1000)
                batches = {}
            yield [record for records in batches.values() for record in records]
            await self._client.look_at_logs()
            if loop.time() - refreshed > REFRESH_S:
                refreshed = loop.time()
                await self._refresh()

    async def _refresh(self) -> None:
        """Look for new partitions, but not for so long that reading stands still."""
        try:
            await bounded(self._assign_new(), REFRESH_LIMIT_S)
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error, self._topic)) from error
        except (errors.KafkaError, TimeoutError) as error:
            logger().debug("kafka_refresh_failed", topic=self._topic, error=str(error))

    async def stop(self) -> None:
        """Disconnect."""
        await self._cluster.stop()
        await stopped(self._client.stop(), "reader")


class GroupWatch:
    """Committed offsets and end offsets of another group, without joining it."""

    def __init__(self, client: BoundedConsumer, cluster: ClusterView, topic: str) -> None:
        self._client, self._cluster, self._topic = client, cluster, topic

    @classmethod
    async def start(
        cls, connection: Connection, group_id: str, topic: str, health: Health
    ) -> GroupWatch:
        """Connect; a manual assignment with a group id reads offsets, but never joins."""
        client = await start_patiently(
            lambda: BoundedConsumer(connection, group_id=group_id, enable_auto_commit=False),
            connection,
            health,
            "group_watch",
        )
        async with AsyncExitStack() as on_failure:
            on_failure.push_async_callback(client.stop)
            cluster = await ClusterView.start(connection, health, "group_watch")
            on_failure.pop_all()
        return cls(client, cluster, topic)

    async def look(self) -> dict[Partition, tuple[int, int]]:
        """Partition → (committed offset, end offset); empty while the topic is missing.

        A group that has committed nothing stands at the beginning of the partition.
        """
        numbers = (await self._cluster.partitions()).get(self._topic, [])
        partitions = [TopicPartition(self._topic, n) for n in numbers]
        if not partitions:
            return {}
        self._client.assign(partitions)
        self._client.pause(*partitions)
        ends = await bounded(self._client.end_offsets(partitions), REQUEST_LIMIT_S)
        begins = await bounded(self._client.beginning_offsets(partitions), REQUEST_LIMIT_S)
        found = {}
        for partition in partitions:
            committed = await bounded(self._client.committed(partition), REQUEST_LIMIT_S)
            stands_at = begins[partition] if committed is None else committed
            found[Partition(*partition)] = (stands_at, ends[partition])
        return found

    async def stop(self) -> None:
        """Disconnect."""
        await self._cluster.stop()
        await stopped(self._client.stop(), "reader")


async def group_offsets(
    connection: Connection, group_id: str, topics: Iterable[str], health: Health
) -> dict[Partition, tuple[int, int]]:
    """One look at all these topics; see ``GroupWatch.look``."""
    found = dict[Partition, tuple[int, int]]()
    for topic in topics:
        watch = await GroupWatch.start(connection, group_id, topic, health)
        try:
            found |= await watch.look()
        finally:
            await watch.stop()
    return found
