"""A member of a consumer group whose offsets are committed by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence, Set
from typing import Any, Protocol

from aiokafka import ConsumerRebalanceListener, TopicPartition, errors

from monitor.errors import DependencyRefused
from monitor.kafka.bounded.consumer import BoundedConsumer
from monitor.kafka.connection import Connection
from monitor.kafka.fair_reader import FairReader, RecordBatch
from monitor.kafka.record import Partition
from monitor.kafka.retrying import REFUSALS, bounded, refusal, start_patiently, stopped
from monitor.kafka.start_offsets import StartRule
from monitor.runtime.health import Health
from monitor.runtime.logs import logger

COMMIT_LIMIT_S = 10.0
REQUEST_LIMIT_S = 5.0
FAILING_LIMIT_S = 60.0
#: Beyond the drain budget, so that a draining member is not evicted.
REBALANCE_SLACK_S = 30.0


class Assignment(Protocol):
    """Who is told about partitions that come and go."""

    async def assigned(self, partitions: Sequence[Partition]) -> None:
        """These partitions are ours from now on."""

    async def revoked(self, partitions: Sequence[Partition]) -> None:
        """They are ours until this returns: finish, commit, forget."""


class _Listener(ConsumerRebalanceListener):
    def __init__(self, assignment: Assignment, reader: FairReader, client: BoundedConsumer) -> None:
        self._assignment, self._reader, self._client = assignment, reader, client

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self._reader.assigned()
        self._client.assigned()
        await self._assignment.assigned([Partition(*p) for p in sorted(assigned)])

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        await self._assignment.revoked([Partition(*p) for p in sorted(revoked)])
        self._client.revoked()


def member_options(group_id: str, drain_s: float, session_timeout_s: float) -> dict[str, Any]:
    """Options of the client; its time limits leave room for ``drain_s`` seconds of draining."""
    longest_s = drain_s + REBALANCE_SLACK_S
    return {
        "group_id": group_id,
        "session_timeout_ms": int(session_timeout_s * 1000),
        # At most a third of it, so that two of them may be lost.
        "heartbeat_interval_ms": int(min(3.0, session_timeout_s / 3) * 1000),
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "rebalance_timeout_ms": int(longest_s * 1000),
        # While it drains for the last time, or stands still, nobody polls.
        "max_poll_interval_ms": int(max(300.0, longest_s, session_timeout_s) * 1000),
        "max_partition_fetch_bytes": 262_144,
        # A topic that was deleted and made anew is read again after so long at most.
        "metadata_max_age_ms": 30_000,
    }


class GroupConsumer:
    """aiokafka's consumer, cut down to what the scorer needs."""

    def __init__(self, connection: Connection, client: BoundedConsumer) -> None:
        self._connection, self._client = connection, client
        self._reader = FairReader(client, connection.max_read_bytes)
        self._failing_since: float | None = None

    @classmethod
    async def start(
        cls,
        connection: Connection,
        group_id: str,
        health: Health,
        *,
        drain_s: float,
        session_timeout_s: float,
        start: StartRule | None = None,
    ) -> GroupConsumer:
        """Connect; reading begins with ``subscribe``.

        Where nothing is committed it begins by ``start``, or at the first record without a rule.
        """
        options = member_options(group_id, drain_s, session_timeout_s)

        def build() -> BoundedConsumer:
            return BoundedConsumer(connection, start=start, **options)

        return cls(connection, await start_patiently(build, connection, health, "consumer"))

    def subscribe(self, topics: Sequence[str], assignment: Assignment) -> None:
        """Join the group."""
        for topic in topics:
            self._connection.losses.follows(topic)
        self._client.subscribe(
            list(topics), listener=_Listener(assignment, self._reader, self._client)
        )

    async def poll(self, timeout_ms: int, max_records: int) -> list[RecordBatch]:
        """The next records, in batches of one partition; an empty list after ``timeout_ms``.

        Every partition that has records is served. A record that the client cannot unpack is an
        ``Unreadable`` in its place. Raises ``DependencyRefused``.
        """
        try:
            await self._client.look_at_logs()
            batches = await self._reader.read(timeout_ms, max_records)
            if forbidden := self._client.forbidden_topics():
                raise errors.TopicAuthorizationFailedError(forbidden)
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error)) from error
        except errors.InvalidSessionTimeoutError as error:
            raise DependencyRefused(
                f"Kafka {self._connection.bootstrap_servers}: it takes no member with such a "
                "session: set kafka.session_timeout_s between the broker's "
                "group.min.session.timeout.ms and group.max.session.timeout.ms"
            ) from error
        except errors.KafkaError as error:
            self._give_up_on(error)
            logger().warning("kafka_read_retried", error=f"{type(error).__name__}: {error}")
            await asyncio.sleep(timeout_ms / 1000)
            return []
        self._failing_since = None
        return batches

    def _give_up_on(self, error: errors.KafkaError) -> None:
        """A client whose inner tasks have died fails for ever; a broker that is away does not."""
        if self._connection.problems.present:  # not the client's doing
            self._failing_since = None
            return
        now = asyncio.get_running_loop().time()
        self._failing_since = self._failing_since or now
        if now - self._failing_since > FAILING_LIMIT_S:
            raise DependencyRefused(
                f"Kafka {self._connection.bootstrap_servers}: every read has failed for "
                f"{FAILING_LIMIT_S:.0f} s, last with {type(error).__name__}: {error}; start again"
            ) from error

    def share(self) -> float | None:
        """The part of all partitions that is ours; None while nobody knows.

        Over the members of a group these add up to 1.
        """
        topics = self._client.subscription() or ()
        known = [self._client.partitions_for_topic(topic) or () for topic in topics]
        whole, own = sum(map(len, known)), len(self._client.assignment())
        return min(1.0, own / whole) if whole and own else None

    async def look_at_logs(self) -> bool:
        """Look now whether the logs are those that were read, before the last commit.

        Where one is not, its partitions are at the beginning of the new one after it, or they are
        ``is_old``. False where nobody has answered: of what was read nothing is known.
        """
        return await self._client.look_at_logs(at_once=True)

    def is_old(self, partition: Partition) -> bool:
        """Whether its log is no more, as the last look found: offsets of it say nothing now."""
        return self._client.logs.is_old(TopicPartition(*partition))

    async def commit(self, offsets: Mapping[Partition, int]) -> str:
        """Commit; the result is ``ok`` or why not (a rebalance: the next owner reads again)."""
        try:
            await bounded(
                self._client.commit({TopicPartition(*p): o for p, o in offsets.items()}),
                COMMIT_LIMIT_S,
            )
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error)) from error
        except (errors.CommitFailedError, errors.IllegalStateError):
            return "rebalance"
        except TimeoutError:
            return "timeout"
        except errors.KafkaError as error:
            logger().warning("kafka_commit_failed", error=f"{type(error).__name__}: {error}")
            return "error"
        return "ok"

    def pause_only(self, partitions: Set[Partition]) -> None:
        """Fetch nothing of these, and the others again; polling goes on, or the member is evicted.

        A pause discards what was fetched ahead: nothing is done where nothing changes.
        """
        paused = self._client.paused()
        wanted = {TopicPartition(*p) for p in partitions} & self._client.assignment()
        if more := wanted - paused:
            self._client.pause(*more)
            self._client.forget(*more)  # what is unpacked of them takes the room of others
        if fewer := paused - wanted:
            self._client.resume(*fewer)

    def end_offset(self, partition: Partition) -> int | None:
        """The end of the partition as of the last fetch; None before the first."""
        try:
            return self._client.end_offset(TopicPartition(*partition))
        except errors.IllegalStateError:  # revoked since
            return None

    def position(self, partition: Partition) -> int | None:
        """The offset that is read next: behind all that was given, and what is no record."""
        return self._client.position_now(TopicPartition(*partition))

    async def positions(self, partitions: Sequence[Partition]) -> dict[Partition, tuple[int, int]]:
        """Partition → (position, end offset) as the broker tells it; empty when it does not."""
        asked = [TopicPartition(*partition) for partition in partitions]
        try:
            async with asyncio.timeout(REQUEST_LIMIT_S):
                ends = await self._client.end_offsets(asked)
                return {Partition(*p): (await self._client.position(p), ends[p]) for p in asked}
        except (errors.KafkaError, TimeoutError):  # away, or revoked meanwhile
            return {}

    async def group_answers(self, topic: str) -> bool:
        """Whether the broker that leads the group answers a request of ours.

        While the group waits for its members to join again, it does not: that is not our doing.
        """
        try:
            await bounded(self._client.committed(TopicPartition(topic, 0)), REQUEST_LIMIT_S)
        except (errors.KafkaError, TimeoutError):
            return False
        return True

    async def stop(self) -> None:
        """Leave the group and disconnect."""
        await stopped(self._client.stop(), "consumer")
