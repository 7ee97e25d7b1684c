"""Dead letters: the original record as it was, with headers that say what is wrong with it."""

from __future__ import annotations

from datetime import datetime

from monitor.errors import MessageRejected
from monitor.kafka.producer import Producer, RecordTooLarge
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
        """Key, value and timestamp are the original ones.

        A value that the broker finds too large is left out, and ``x-error.value_omitted`` is its
        size in bytes; the source topic still has it.
        """
        headers = error_headers(record, error, group=self._group, version=self._version, now=now)
        try:
            await self._write(record, record.value, headers)
        except RecordTooLarge:
            size = str(len(record.value or b"")).encode()
            await self._write(record, None, [*headers, ("x-error.value_omitted", size)])

    async def _write(
        self, record: KafkaRecord, value: bytes | None, headers: list[tuple[str, bytes]]
    ) -> None:
        await self._producer.write(
            self._topic, value, key=record.key, timestamp_ms=record.timestamp, headers=headers
        )
