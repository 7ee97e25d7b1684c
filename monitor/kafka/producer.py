"""Writing to Kafka: a write returns when all in-sync replicas have the record, or raises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from aiokafka import AIOKafkaProducer, errors
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.structs import RecordMetadata

from monitor.errors import DependencyRefused
from monitor.kafka.connection import Connection
from monitor.kafka.problems import Problem, ProblemKind
from monitor.kafka.retrying import (
    FIRST_WAIT_S,
    LONGEST_WAIT_S,
    REFUSALS,
    refusal,
    start_patiently,
    stopped,
)
from monitor.kafka.topics import record_limit
from monitor.runtime.health import Health

#: What the client lets through; the broker's own limit is the one that counts. Dead letters carry
#: whatever could be read, which may be far more than a score record.
MOST_BYTES = 64 * 1_048_576

#: Answers that are about the size of a record, or of the batch that it came in.
SIZE_FAULTS = (
    errors.MessageSizeTooLargeError,
    errors.RecordListTooLargeError,
    errors.RecordTooLargeError,
)

#: Answers that are about this one record: neither waiting nor another record changes them.
RECORD_FAULTS = (
    *SIZE_FAULTS,
    errors.InvalidTimestampError,
    errors.PolicyViolationError,
)

#: A topic's limit may be changed while we run.
ASK_LIMIT_EVERY_S = 300.0


#: Of a batch; nothing joins a record that is larger.
BATCH_BYTES = 16_384

_partition_of = DefaultPartitioner()
_LOG_APPEND_TIME = 1


class RecordRefused(Exception):
    """The client or the broker does not take this record: its size, its timestamp, a policy."""


class Outgoing(NamedTuple):
    """A record as it is to be written; in the order in which the client takes its parts."""

    topic: str
    value: bytes | None
    key: bytes | None
    partition: int | None
    timestamp_ms: int | None
    headers: list[tuple[str, bytes | None]]


class Producer:
    """Patient writes. Duplicates are possible after a time-out; readers deduplicate by id."""

    def __init__(
        self,
        connection: Connection,
        client: AIOKafkaProducer,
        health: Health,
        retried: Callable[[str], None],
    ) -> None:
        self._connection, self._client = connection, client
        self._health, self._retried = health, retried
        self._limits: dict[str, tuple[float, int | None]] = {}

    @classmethod
    async def start(
        cls,
        connection: Connection,
        health: Health,
        *,
        retried: Callable[[str], None] = lambda _topic: None,
    ) -> Producer:
        """Connect; ``retried`` is told the topic of every write that is tried again."""

        def build() -> AIOKafkaProducer:
            return AIOKafkaProducer(
                **connection.options(),
                acks="all",
                compression_type="zstd",
                linger_ms=5,
                max_request_size=MOST_BYTES,
                max_batch_size=BATCH_BYTES,
            )

        client = await start_patiently(build, connection, health, "producer")
        return cls(connection, client, health, retried)

    async def write(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> None:
        """Write one record and wait for the acknowledgement; try again while brokers are away.

        Raises ``RecordRefused``, and ``DependencyRefused`` when the broker says no for good.
        """
        await self.deliver(Outgoing(topic, value, key, partition, timestamp_ms, list(headers)))

    async def deliver(self, record: Outgoing) -> None:
        """The whole of ``write``; what stands in for Kafka has its own."""
        topic, value, wait, send = record.topic, record.value, FIRST_WAIT_S, self._send
        while True:
            try:
                await send(self._timed(record))
            except RECORD_FAULTS as error:
                # The broker refuses a whole batch: it may be another record that it does not like.
                if send != self._send_alone and _has_company(error, value):
                    send = self._send_alone
                    continue
                if isinstance(error, errors.InvalidTimestampError) and record.timestamp_ms is None:
                    self._clock_is_off(topic)
                    wait = await self._waited(wait)
                    continue
                if isinstance(error, SIZE_FAULTS):
                    await self._too_large(topic, len(value or b""))
                raise RecordRefused(f"{type(error).__name__}: {error}") from error
            except REFUSALS as error:
                line = refusal(self._connection, error, topic, operation="Write")
                raise DependencyRefused(line) from error
            except (errors.KafkaError, OSError) as error:
                self._retried(topic)
                self._is_stuck(topic, error)
                wait = await self._waited(wait)
            else:
                if record.timestamp_ms is None:
                    self._connection.clock.taken()
                self._health.ready("producer")
                self._connection.problems.over(self._connection.name, "producer")
                return

    def _timed(self, record: Outgoing) -> Outgoing:
        """The record with a time: its own, or what our clock says at this very try."""
        if record.timestamp_ms is not None:
            return record
        return record._replace(timestamp_ms=int(self._connection.clock.own() * 1000))

    async def _waited(self, wait_s: float) -> float:
        await asyncio.sleep(wait_s)
        return min(2 * wait_s, LONGEST_WAIT_S)

    async def _send(self, record: Outgoing) -> None:
        began_s = self._connection.clock.own()
        self._hear(await self._client.send_and_wait(*record), began_s)

    def _hear(self, written: RecordMetadata, began_s: float) -> None:
        """Where the topic's times are the broker's own, it has just told its time."""
        if written.timestamp_type == _LOG_APPEND_TIME:
            self._connection.clock.observe(written.timestamp / 1000, began_s)

    async def _send_alone(self, record: Outgoing) -> None:
        """In a batch of its own, to the partition where it would have gone."""
        topic, value, key, partition, timestamp_ms, headers = record
        if partition is None:
            there = sorted(await self._client.partitions_for(topic))
            partition = _partition_of(key, there, there)
        batch = self._client.create_batch()
        batch.append(timestamp=timestamp_ms, key=key, value=value, headers=headers)
        began_s = self._connection.clock.own()
        sent = await self._client.send_batch(batch, topic, partition=partition)
        self._hear(await sent, began_s)

    def _is_stuck(self, topic: str, error: Exception) -> None:
        why = f"a write to topic {topic} failed: {type(error).__name__}"
        self._health.waits("producer", why)
        unknown = isinstance(error, errors.UnknownTopicOrPartitionError)
        problems = self._connection.problems
        if unknown and not problems.lasts(ProblemKind.BROKER_AWAY):
            mend = "create it; records wait for it"
            finding = Problem(
                ProblemKind.MISSING_TOPIC, f"there is no topic {topic}", mend, topic=topic
            )
        else:
            mend = "it is tried again until it succeeds; check the brokers that lead the topic"
            finding = Problem(ProblemKind.BROKER_AWAY, why, mend)
        problems.meet(self._connection.name, "producer", finding)

    def _clock_is_off(self, topic: str) -> None:
        """It passes when somebody sets the clock: nothing that was paid for is lost."""
        clock = self._connection.clock
        clock.refused()
        found = f"topic {topic} takes no record with the time of this machine: {clock.in_words}"
        mend = (
            "set this machine's clock right; records wait for it (the topic's "
            "message.timestamp.after.max.ms is how far ahead it may be)"
        )
        self._health.waits("producer", f"{found}; {mend}")
        finding = Problem(ProblemKind.CLOCK, found, mend, topic=topic)
        self._connection.problems.meet(self._connection.name, "producer", finding)

    async def _too_large(self, topic: str, size: int) -> None:
        limit = await self._limit_of(topic)
        finding = Problem(
            ProblemKind.RECORD_TOO_LARGE,
            f"a record of {size} bytes is, even compressed, more than topic {topic} takes"
            + (f": its max.message.bytes is {limit}" if limit else ""),
            "raise the topic's max.message.bytes, or lower kafka.max_record_bytes",
            topic=topic,
        )
        self._connection.problems.happened(self._connection.name, "producer", finding)

    async def _limit_of(self, topic: str) -> int | None:
        """The topic's limit, asked for now and then; None when the broker does not tell."""
        now = asyncio.get_running_loop().time()
        known = self._limits.get(topic)
        if known is None or now - known[0] > ASK_LIMIT_EVERY_S:
            self._limits[topic] = known = (now, await record_limit(self._connection, topic))
        return known[1]

    async def stop(self) -> None:
        """Flush, where the broker is there, and disconnect."""
        await stopped(self._client.stop(), "producer")


def _has_company(error: Exception, value: bytes | None) -> bool:
    """Whether another record of the batch may be at fault, and it is worth asking.

    A value that is empty stands for one that was refused: it has been asked for already.
    """
    return bool(value) and not (isinstance(error, SIZE_FAULTS) and len(value or b"") >= BATCH_BYTES)
