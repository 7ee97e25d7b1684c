"""Dead letters: the original record as it was, with headers that say what is wrong with it."""

from __future__ import annotations

from datetime import datetime

from monitor.errors import DependencyRefused, MessageRejected
from monitor.kafka.producer import Producer, RecordRefused
from monitor.kafka.record import KafkaRecord

MOST_MESSAGE_CHARACTERS = 500


def error_headers(
    record: KafkaRecord, error: MessageRejected, *, group: str, version: str, now: datetime
) -> list[tuple[str, bytes]]:
    """The original headers and, after them, ``x-error.*``."""
    said = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "stage": error.stage,
        "class": error.cause,
        "message": str(error)[:MOST_MESSAGE_CHARACTERS],
        "attempts": 1,
        "group": group,
        "version": version,
        "first_failed_at": now.isoformat(),
    }
    original = [(key, value if value is not None else b"") for key, value in record.headers]
    return original + [(f"x-error.{key}", str(value).encode()) for key, value in said.items()]


class DeadLetters:
    """Writes dead letters; returns when they are on Kafka."""

    def __init__(self, producer: Producer, topic: str, *, group: str, version: str) -> None:
        self._producer, self._topic = producer, topic
        self._group, self._version = group, version

    async def send(self, record: KafkaRecord, error: MessageRejected, now: datetime) -> None:
        """Key, value, timestamp and headers are the original ones, as far as the broker takes them.

        Where it does not, value, timestamp and original headers are left out (the source topic
        still has them), and ``x-error.value_omitted`` is the size of the value in bytes; then the
        key too. Raises ``DependencyRefused`` when the topic takes not even that: the record is not
        done, and is read again.
        """
        headers = error_headers(record, error, group=self._group, version=self._version, now=now)
        size = str(len(record.value or b"")).encode()
        bare = [header for header in headers if header[0].startswith("x-error.")]
        bare.append(("x-error.value_omitted", size))
        try:
            await self._producer.write(
                self._topic,
                record.value,
                key=record.key,
                timestamp_ms=record.timestamp,
                headers=headers,
            )
        except RecordRefused:
            await self._send_bare(record.key, bare)

    async def _send_bare(self, key: bytes | None, headers: list[tuple[str, bytes]]) -> None:
        # An empty value, not none: a record with neither key nor value cannot be written.
        try:
            await self._producer.write(self._topic, b"", key=key, headers=headers)
        except RecordRefused as refused:
            if key is None:
                raise DependencyRefused(
                    f"Kafka: topic {self._topic} takes no dead letter, not even without key and "
                    f"value: {refused}; check its max.message.bytes"
                ) from refused
            await self._send_bare(None, headers)
