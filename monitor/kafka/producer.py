"""Writing to Kafka: a write returns when all in-sync replicas have the record, or raises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from aiokafka import AIOKafkaProducer, errors

from monitor.errors import DependencyRefused
from monitor.health import Health
from monitor.kafka.connection import Connection
from monitor.kafka.patience import (
    FIRST_WAIT_S,
    LONGEST_WAIT_S,
    REFUSALS,
    refusal,
    start_patiently,
)
from monitor.logs import logger

#: What the client lets through; the broker's own limit is the one that counts. Dead letters carry
#: whatever could be read, which may be far more than a score record.
MOST_BYTES = 64 * 1_048_576


#: Answers that are about this one record: neither waiting nor another record changes them.
RECORD_FAULTS = (
    errors.MessageSizeTooLargeError,
    errors.RecordListTooLargeError,
    errors.RecordTooLargeError,
    errors.InvalidTimestampError,
    errors.PolicyViolationError,
)


class RecordRefused(Exception):
    """The client or the broker does not take this record: its size, its timestamp, a policy."""


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
            )

        client = await start_patiently(build, connection, health, "producer")
        return cls(connection, client, health, retried)

    async def write(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        """Write one record and wait for the acknowledgement; try again while brokers are away.

        Raises ``RecordRefused``, and ``DependencyRefused`` when the broker says no for good.
        """
        wait = FIRST_WAIT_S
        while True:
            try:
                await self._client.send_and_wait(
                    topic, value, key=key, timestamp_ms=timestamp_ms, headers=list(headers)
                )
            except RECORD_FAULTS as error:
                raise RecordRefused(f"{type(error).__name__}: {error}") from error
            except REFUSALS as error:
                raise DependencyRefused(refusal(self._connection, error, topic)) from error
            except (errors.KafkaError, OSError) as error:
                self._retried(topic)
                self._health.waits("producer", f"topic {topic}: {type(error).__name__}")
                logger().warning("kafka_write_retried", topic=topic, error=str(error))
                await asyncio.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT_S)
            else:
                self._health.ready("producer")
                return

    async def stop(self) -> None:
        """Flush and disconnect."""
        await self._client.stop()
