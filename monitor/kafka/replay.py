"""Reading a topic to its end: without a group to look at it, in a group to work through it once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

from aiokafka import ConsumerRebalanceListener, TopicPartition, errors

from monitor.errors import DependencyRefused
from monitor.kafka.bounded.consumer import BoundedConsumer
from monitor.kafka.connection import Connection
from monitor.kafka.idle import Silence
from monitor.kafka.losses import Unheard
from monitor.kafka.metadata import ClusterView
from monitor.kafka.record import KafkaRecord, KeptPartition
from monitor.kafka.retrying import REFUSALS, bounded, patiently, refusal, start_patiently, stopped
from monitor.kafka.start_offsets import StartRule, begun
from monitor.kafka.time_merge import Head, in_time
from monitor.runtime.health import Health
from monitor.runtime.logs import logger

REQUEST_LIMIT_S = 30.0
#: For so long nothing may come of records that are there.
SILENCE_S = 30.0
POLL_MS = 200
#: Records that are taken, and committed, together.
CHUNK = 100
#: For how long one chunk may take before its partitions go to another member.
REBALANCE_MS = 300_000

#: Multiples of it fill the numbers from 0 to 1 evenly.
_GOLDEN: Final = 0.6180339887498949

#: Handles records in order; how many of them, from the first, are done: fewer than all ends it.
Take = Callable[[Sequence[KafkaRecord]], Awaitable[int]]


class Unread(NamedTuple):
    """What a group has not read of a partition: offsets from ``start`` up to before ``end``.

    ``is_new``: it has committed nothing. The records since the time asked for begin at ``recent``.
    """

    topic: str
    partition: int
    start: int
    end: int
    is_new: bool
    recent: int


class TopicScan:
    """Topics from their beginning to where they end when asked; no group, nothing is committed.

    A broker that goes away meanwhile is waited for, for ``silence_s`` seconds.
    """

    def __init__(
        self,
        connection: Connection,
        client: BoundedConsumer,
        topics: dict[str, list[int]],
        silence_s: float = SILENCE_S,
    ) -> None:
        self._connection, self._client, self._silence_s = connection, client, silence_s
        #: Topic → its partition numbers.
        self.partitions = topics
        self._one_at_a_time = asyncio.Lock()

    @classmethod
    async def start(
        cls,
        connection: Connection,
        health: Health,
        *,
        group_id: str | None = None,
        silence_s: float = SILENCE_S,
    ) -> TopicScan:
        """Connect; with ``group_id`` its committed offsets can be asked for (it is not joined)."""
        cluster = await ClusterView.start(connection, health, "scan")
        try:
            topics = await patiently(cluster.partitions, connection, health, "scan")
        finally:
            await cluster.stop()
        client = await start_patiently(
            lambda: BoundedConsumer(
                connection,
                losses=Unheard(),
                group_id=group_id,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
            ),
            connection,
            health,
            "scan",
        )
        return cls(connection, client, topics, silence_s)

    async def records(
        self,
        topic: str,
        *,
        from_committed: bool = False,
        start_ms: int = 0,
        until_ms: int | None = None,
        strictly: bool = False,
    ) -> AsyncIterator[KafkaRecord]:
        """All records, each partition in order; with ``from_committed`` the group's rest.

        From the first on whose broker time is ≥ ``start_ms``, up to that of ``until_ms``. Where the
        broker finds no first one, which is also what it says of records without a time, all are
        read, or ``strictly`` none.

        Raises ``DependencyRefused`` when there is no such topic, or it may not be read.
        """
        parts = self._existing(topic)
        self._client.assign(parts)
        try:
            await self._client.seek_to_beginning(*parts)
            if start_ms:
                await self._seek_to_time(parts, start_ms, strictly=strictly)
            if from_committed:
                await self._seek_to_committed(parts)
            ends = await self._ends(parts, until_ms)
            silence = Silence(self._silence_s)
            while await _unread(self._client, parts, ends):
                batches = await silence.broken(self._polled())
                for part, found in batches.items():
                    for record in found:
                        if record.offset < ends[part]:
                            yield record
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error, topic)) from error
        except (errors.KafkaError, TimeoutError) as error:
            raise _unreadable(self._connection, topic, error) from error

    async def spread(
        self, topic: str, start_ms: int, runs: int, most: int, until_ms: int | None = None
    ) -> AsyncIterator[KafkaRecord]:
        """Some of those since then: so many ``runs``, evenly over time, ``most`` in all.

        With ``until_ms`` of those before it: the same, whoever asks and whenever.

        Each is of one partition, in turn, so that many partitions take no longer. Whoever ends
        early has runs of all times, too. Raises ``DependencyRefused`` like ``records``.
        """
        parts = self._existing(topic)
        try:
            starts = await bounded(self._client.since(parts, start_ms), REQUEST_LIMIT_S)
            ends = await self._ends(parts, until_ms)
            filled = [part for part in parts if starts.get(part, ends[part]) < ends[part]]
            for number in _far_apart(runs if filled else 0):
                part = filled[number % len(filled)]
                begin, end = _run(starts[part], ends[part], number, runs, most)
                self._client.assign([part])
                self._client.seek(part, begin)
                while found := await self._fetched(part, end):
                    for record in found:
                        yield record
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error, topic)) from error
        except (errors.KafkaError, TimeoutError) as error:
            raise _unreadable(self._connection, topic, error) from error

    async def counts(self, topic: str, bounds_s: Sequence[int]) -> list[int]:
        """How many offsets lie between two times after each other, epoch seconds, by broker time.

        Raises ``DependencyRefused`` like ``records``.
        """
        parts = self._existing(topic)
        try:
            ends = await bounded(self._client.end_offsets(parts), REQUEST_LIMIT_S)
            totals = []
            for bound in bounds_s:
                found = await bounded(self._client.since(parts, bound * 1000), REQUEST_LIMIT_S)
                totals.append(sum(found.get(part, ends[part]) for part in parts))
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error, topic)) from error
        except (errors.KafkaError, TimeoutError) as error:
            raise _unreadable(self._connection, topic, error) from error
        return [max(0, later - earlier) for earlier, later in pairwise(totals)]

    async def kept(self, topic: str) -> list[KeptPartition]:
        """What is kept of each partition; raises ``DependencyRefused`` like ``records``."""
        parts = self._existing(topic)
        try:
            begins = await bounded(self._client.beginning_offsets(parts), REQUEST_LIMIT_S)
            ends = await bounded(self._client.end_offsets(parts), REQUEST_LIMIT_S)
            times = await bounded(self._client.first_times(parts), REQUEST_LIMIT_S)
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error, topic)) from error
        except (errors.KafkaError, TimeoutError) as error:
            raise _unreadable(self._connection, topic, error) from error
        return [
            KeptPartition(topic, part.partition, begins[part], ends[part], times.get(part))
            for part in parts
        ]

    async def in_time(
        self,
        topics: Sequence[str],
        slice_ms: int,
        most: int,
        start: StartRule | None = None,
        *,
        from_committed: bool = True,
    ) -> AsyncIterator[list[KafkaRecord]]:
        """The rest of the group's topics together, as they came: ``time_merge.py``.

        Where the group has committed nothing it begins by ``start``; so it does everywhere without
        ``from_committed``. Raises ``DependencyRefused``
        like ``records``.
        """
        parts = [part for topic in topics for part in self._existing(topic)]
        self._client.assign(parts)
        try:
            await self._client.seek_to_beginning(*parts)
            new = await self._seek_to_committed(parts) if from_committed else parts
            if start is not None and new:
                read = {part.topic for part in parts} - {part.topic for part in new}
                places = await bounded(begun(self._client, start, new, read), REQUEST_LIMIT_S)
                for part, offset in places.items():
                    self._client.seek(part, offset)
            ends = await bounded(self._client.end_offsets(parts), REQUEST_LIMIT_S)
            heads = [Head(partial(self._fetched, part, ends[part])) for part in parts]
            async for batch in in_time(heads, slice_ms, most):
                yield batch
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error)) from error
        except (errors.KafkaError, TimeoutError) as error:
            raise _unreadable(self._connection, ", ".join(topics), error) from error

    async def unread(
        self, group_id: str, topics: Sequence[str], start: StartRule, recent_ms: int
    ) -> list[Unread]:
        """By partition what a group would read; raises ``DependencyRefused``.

        ``recent_ms`` is the time that is asked for, in epoch milliseconds.
        """
        parts = [part for topic in topics for part in self._existing(topic)]
        self._client.assign(parts)
        try:
            begins = await bounded(self._client.beginning_offsets(parts), REQUEST_LIMIT_S)
            ends = await bounded(self._client.end_offsets(parts), REQUEST_LIMIT_S)
            committed = await bounded(self._client.committed_of(group_id, parts), REQUEST_LIMIT_S)
            new, read = [p for p in parts if p not in committed], {p.topic for p in committed}
            places = await bounded(begun(self._client, start, new, read), REQUEST_LIMIT_S)
            recent = await bounded(self._client.since(parts, recent_ms), REQUEST_LIMIT_S)
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error)) from error
        except (errors.KafkaError, TimeoutError) as error:
            raise _unreadable(self._connection, ", ".join(topics), error) from error
        return [
            Unread(
                part.topic,
                part.partition,
                min(ends[part], max(begins[part], places.get(part, committed.get(part, 0)))),
                ends[part],
                part in places,
                recent.get(part, ends[part]),
            )
            for part in parts
        ]

    async def _ends(
        self, parts: Sequence[TopicPartition], until_ms: int | None
    ) -> dict[TopicPartition, int]:
        """Where they end, or the records of before that time."""
        ends: dict[TopicPartition, int]
        ends = await bounded(self._client.end_offsets(parts), REQUEST_LIMIT_S)
        if until_ms is not None:
            ends |= await bounded(self._client.since(parts, until_ms), REQUEST_LIMIT_S)
        return ends

    async def _polled(self) -> dict[TopicPartition, list[KafkaRecord]]:
        found: dict[TopicPartition, list[KafkaRecord]] = await self._client.getmany(
            timeout_ms=POLL_MS, max_records=CHUNK
        )
        return found

    async def _fetched(self, part: TopicPartition, end: int) -> list[KafkaRecord]:
        silence = Silence(self._silence_s)
        while await _unread(self._client, [part], {part: end}):
            batches = await silence.broken(self._client.getmany_of(part, POLL_MS, CHUNK))
            if found := [one for one in batches.get(part, ()) if one.offset < end]:
                return found
        return []

    async def _seek_to_committed(self, parts: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Those left where they were: nothing is committed of them."""
        without = []
        for part in parts:
            committed = await bounded(self._client.committed(part), REQUEST_LIMIT_S)
            if committed is None:
                without.append(part)
            else:
                self._client.seek(part, committed)
        return without

    async def _seek_to_time(
        self, parts: list[TopicPartition], start_ms: int, *, strictly: bool
    ) -> None:
        found = await bounded(self._client.since(parts, start_ms), REQUEST_LIMIT_S)
        without = [part for part in parts if part not in found]
        for part, offset in found.items():
            self._client.seek(part, offset)
        if without and strictly:
            await self._client.seek_to_end(*without)

    def _existing(self, topic: str) -> list[TopicPartition]:
        if topic not in self.partitions:
            raise _missing(self._connection, topic)
        return [TopicPartition(topic, number) for number in self.partitions[topic]]

    async def one(self, topic: str, partition: int, offset: int) -> KafkaRecord | None:
        """The record at an offset, or what stands for it; None when it is not there (any more)."""
        if partition not in self.partitions.get(topic, []):
            return None
        async with self._one_at_a_time:
            return await self._one(topic, TopicPartition(topic, partition), offset)

    async def _one(self, topic: str, part: TopicPartition, offset: int) -> KafkaRecord | None:
        self._client.assign([part])
        try:
            begins = await bounded(self._client.beginning_offsets([part]), REQUEST_LIMIT_S)
            ends = await bounded(self._client.end_offsets([part]), REQUEST_LIMIT_S)
            if not begins[part] <= offset < ends[part]:
                return None
            self._client.seek(part, offset)
            found: KafkaRecord = await bounded(self._client.getone(part), REQUEST_LIMIT_S)
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error, topic)) from error
        except (errors.KafkaError, TimeoutError) as error:
            raise _unreadable(self._connection, topic, error) from error
        return found if found.offset == offset else None  # compacted away

    async def stop(self) -> None:
        """Disconnect."""
        # The client awaits a task that it has cancelled, which fails where that never began to run.
        await asyncio.sleep(0)
        await stopped(self._client.stop(), "scan")


def _run(first: int, beyond: int, number: int, runs: int, most: int) -> tuple[int, int]:
    """Where one of them begins and ends, somewhere in its part: what comes at regular times is met.

    >>> [_run(0, 1_000, number, 2, 100) for number in (0, 1)]
    [(0, 50), (778, 828)]
    """
    each, length = (beyond - first) / runs, max(1, most // runs)
    begin = first + round(each * number + max(0.0, each - length) * (number * _GOLDEN % 1.0))
    return max(first, min(begin, beyond - length)), min(begin + length, beyond)


def _far_apart(number: int) -> list[int]:
    """Numbers below it in an order of which each beginning lies evenly.

    >>> _far_apart(8)
    [0, 5, 2, 7, 4, 1, 6, 3]
    """
    return sorted(range(number), key=lambda one: one * _GOLDEN % 1.0)


async def require_topic(connection: Connection, health: Health, topic: str) -> None:
    """Raises ``DependencyRefused`` where the cluster has no such topic that we may describe."""
    cluster = await ClusterView.start(connection, health, "metadata")
    try:
        if topic not in await patiently(cluster.partitions, connection, health, "metadata"):
            raise _missing(connection, topic)
    finally:
        await cluster.stop()


class Redelivery(ConsumerRebalanceListener):
    """A member of a group that works through a topic once, to the end that it had at the start.

    A chunk is committed when it is done. Partitions go to another member only between chunks, so
    that two members side by side do nothing twice; only what ends without a commit (a kill) is
    delivered again.
    """

    def __init__(
        self, connection: Connection, client: BoundedConsumer, ends: dict[TopicPartition, int]
    ) -> None:
        self._connection, self._client, self._ends = connection, client, ends
        self._topics = sorted({part.topic for part in ends})
        self._chunk = asyncio.Lock()
        self._assigned = asyncio.Event()
        self._assignments = 0

    @classmethod
    async def start(
        cls, connection: Connection, health: Health, *, group_id: str, topic: str
    ) -> Redelivery:
        """Connect and join; raises ``DependencyRefused`` when there is no such topic."""
        client = await start_patiently(
            lambda: BoundedConsumer(
                connection,
                group_id=group_id,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                rebalance_timeout_ms=REBALANCE_MS,
                heartbeat_interval_ms=1_000,  # so that a second member soon has its share
            ),
            connection,
            health,
            "redrive",
        )
        async with AsyncExitStack() as on_failure:
            on_failure.push_async_callback(client.stop)
            ends = await patiently(
                partial(_ends_of, connection, client, health, topic), connection, health, "redrive"
            )
            member = cls(connection, client, ends)
            client.subscribe([topic], listener=member)
            on_failure.pop_all()
        return member

    async def on_partitions_revoked(self, _revoked: set[TopicPartition]) -> None:
        """Not before the chunk under way is done and committed."""
        async with self._chunk:
            self._assignments += 1
            self._assigned.clear()

    async def on_partitions_assigned(self, _assigned: set[TopicPartition]) -> None:
        """Reading begins at the committed offsets."""
        self._assigned.set()

    async def work_through(
        self, take: Take, stop: asyncio.Event, silence_s: float = SILENCE_S
    ) -> None:
        """Hand over chunks until all assigned partitions are done, ``take`` or ``stop`` says so.

        Raises ``DependencyRefused`` when topic or group may not be read, and when nothing comes of
        it for ``silence_s`` seconds, also because others have not left it partitions yet.
        """
        silence = Silence(silence_s)
        while not stop.is_set() and (batches := await self._polled(silence)) is not None:
            assignment = self._assignments  # theirs: nothing has happened since they were drained
            for part, records in batches.items():
                if not await self._take(take, part, records, assignment):
                    return

    async def _more(self) -> bool:
        if not self._assigned.is_set():
            return True
        parts = [part for part in self._client.assignment() if part in self._ends]
        try:
            return await _unread(self._client, parts, self._ends)
        except (errors.KafkaError, TimeoutError):  # revoked meanwhile; or the broker is away
            return True

    async def _polled(self, silence: Silence) -> dict[TopicPartition, list[KafkaRecord]] | None:
        """The next records; None at the end."""
        try:
            return await silence.broken(self._next())
        except TimeoutError as error:
            raise _unreadable(self._connection, ", ".join(self._topics), error) from error

    async def _next(self) -> dict[TopicPartition, list[KafkaRecord]] | None:
        return await self._poll() if await self._more() else None

    async def _poll(self) -> dict[TopicPartition, list[KafkaRecord]]:
        try:
            found: dict[TopicPartition, list[KafkaRecord]] = await self._client.getmany(
                timeout_ms=POLL_MS, max_records=CHUNK
            )
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error)) from error
        except errors.KafkaError as error:
            logger().warning("kafka_read_retried", error=f"{type(error).__name__}: {error}")
            await asyncio.sleep(POLL_MS / 1000)
            return {}
        return found

    async def _take(
        self, take: Take, part: TopicPartition, records: Sequence[KafkaRecord], assignment: int
    ) -> bool:
        due = [record for record in records if record.offset < self._ends.get(part, 0)]
        async with self._chunk:
            if self._assignments != assignment or not due:
                return True  # revoked since it was read: its new owner reads it again
            done = await take(due)
            if done:
                await self._commit(part, due[done - 1].offset + 1)
        return done == len(due)

    async def _commit(self, part: TopicPartition, offset: int) -> None:
        try:
            await bounded(self._client.commit({part: offset}), REQUEST_LIMIT_S)
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error)) from error
        except (errors.KafkaError, TimeoutError) as error:  # these are delivered once more
            logger().error("kafka_commit_failed", error=f"{type(error).__name__}: {error}")

    async def stop(self) -> None:
        """Leave the group and disconnect."""
        await stopped(self._client.stop(), "redrive")


async def _unread(
    client: BoundedConsumer, parts: Sequence[TopicPartition], ends: dict[TopicPartition, int]
) -> bool:
    for part in parts:
        if await bounded(client.position(part), REQUEST_LIMIT_S) < ends[part]:
            return True
    return False


async def _ends_of(
    connection: Connection, client: BoundedConsumer, health: Health, topic: str
) -> dict[TopicPartition, int]:
    """Where the partitions end; raises ``DependencyRefused`` when there is no such topic."""
    cluster = await ClusterView.start(connection, health, "redrive")
    try:
        numbers = (await cluster.partitions()).get(topic, [])
    finally:
        await cluster.stop()
    if not numbers:
        raise _missing(connection, topic)
    parts = [TopicPartition(topic, number) for number in numbers]
    return await bounded(client.end_offsets(parts), REQUEST_LIMIT_S)


def _missing(connection: Connection, topic: str) -> DependencyRefused:
    return DependencyRefused(
        f"Kafka {connection.bootstrap_servers}: there is no topic {topic}, or it may not be "
        "described; check kafka.topics.*, and the rights"
    )


def _unreadable(connection: Connection, topic: str, error: BaseException) -> DependencyRefused:
    found = f"{type(error).__name__}: {error}"
    if isinstance(error, TimeoutError):
        found = str(error) or "no answer in time"
    return DependencyRefused(
        f"Kafka {connection.bootstrap_servers}: cannot read topic {topic}: {found}; "
        "check that its brokers are there, and run it again"
    )
