"""A member of a consumer group whose offsets are committed by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition, errors

from monitor.errors import DependencyRefused
from monitor.health import Health
from monitor.kafka.connection import Connection
from monitor.kafka.patience import (
    REFUSALS,
    bounded,
    refusal,
    start_patiently,
)
from monitor.kafka.record import KafkaRecord, Partition
from monitor.logs import logger

COMMIT_LIMIT_S = 10.0
STOP_LIMIT_S = 10.0
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


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types
    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        await self._assignment.assigned([Partition(*p) for p in sorted(assigned)])

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        await self._assignment.revoked([Partition(*p) for p in sorted(revoked)])


class GroupConsumer:
    """aiokafka's consumer, cut down to what the scorer needs."""

    def __init__(self, connection: Connection, client: AIOKafkaConsumer) -> None:
        self._connection, self._client = connection, client
        self._failing_since: float | None = None

    @classmethod
    async def start(
        cls, connection: Connection, group_id: str, health: Health, *, drain_s: float
    ) -> GroupConsumer:
        """Connect; reading begins with ``subscribe``."""

        def build() -> AIOKafkaConsumer:
            return AIOKafkaConsumer(
                **connection.options(),
                group_id=group_id,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                rebalance_timeout_ms=int((drain_s + REBALANCE_SLACK_S) * 1000),
                max_partition_fetch_bytes=262_144,
                metadata_max_age_ms=60_000,
            )

        return cls(connection, await start_patiently(build, connection, health, "consumer"))

    def subscribe(self, topic: str, assignment: Assignment) -> None:
        """Join the group."""
        self._client.subscribe([topic], listener=_Listener(assignment))

    async def poll(self, timeout_ms: int, max_records: int) -> list[KafkaRecord]:
        """The next records, per partition in order; an empty list after ``timeout_ms``."""
        try:
            batches = await self._client.getmany(timeout_ms=timeout_ms, max_records=max_records)
        except REFUSALS as error:
            raise DependencyRefused(refusal(self._connection, error)) from error
        except errors.KafkaError as error:
            self._give_up_on(error)
            logger().warning("kafka_read_retried", error=f"{type(error).__name__}: {error}")
            await asyncio.sleep(timeout_ms / 1000)
            return []
        self._failing_since = None
        return [record for records in batches.values() for record in records]

    def _give_up_on(self, error: errors.KafkaError) -> None:
        """A client whose inner tasks have died fails for ever; a broker that is away does not."""
        now = asyncio.get_running_loop().time()
        self._failing_since = self._failing_since or now
        if now - self._failing_since > FAILING_LIMIT_S:
            raise DependencyRefused(
                f"Kafka {self._connection.bootstrap_servers}: every read has failed for "
                f"{FAILING_LIMIT_S:.0f} s, last with {type(error).__name__}: {error}; start again"
            ) from error

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

    def pause(self) -> None:
        """Fetch nothing; polling goes on, or the member would leave the group."""
        self._client.pause(*self._client.assignment())

    def resume(self) -> None:
        """Fetch again."""
        self._client.resume(*self._client.paused())

    def end_offset(self, partition: Partition) -> int | None:
        """The end of the partition as of the last fetch; None before the first."""
        try:
            found: int | None = self._client.highwater(TopicPartition(*partition))
        except errors.IllegalStateError:  # revoked since
            return None
        return found

    async def standing(self, partitions: Sequence[Partition]) -> dict[Partition, tuple[int, int]]:
        """Partition → (position, end offset) as the broker tells it; empty when it does not."""
        asked = [TopicPartition(*partition) for partition in partitions]
        try:
            ends = await bounded(self._client.end_offsets(asked), REQUEST_LIMIT_S)
            return {
                Partition(*p): (
                    await bounded(self._client.position(p), REQUEST_LIMIT_S),
                    ends[p],
                )
                for p in asked
            }
        except (errors.KafkaError, TimeoutError):  # away, or revoked meanwhile
            return {}

    async def stop(self) -> None:
        """Leave the group and disconnect."""
        try:
            await bounded(self._client.stop(), STOP_LIMIT_S)
        except TimeoutError:
            logger().warning("kafka_stop_timeout", what="consumer")
