"""Dead letters: the original record as it was, with headers that say what is wrong with it.

A letter that finds no place holds its partition, for as long as it takes: nothing is dropped, and
nothing is committed past it.
"""

from __future__ import annotations

import asyncio
from datetime import datetime

from monitor.errors import DependencyRefused, MessageRejected
from monitor.ingest.gate import Gate, Hold
from monitor.ingest.letter import ERROR, error_headers
from monitor.kafka.patience import FIRST_WAIT_S, LONGEST_WAIT_S
from monitor.kafka.producer import Producer, RecordRefused
from monitor.kafka.record import KafkaRecord, Partition

#: A letter without an answer for so long holds its partition, as one that is refused does.
SLOW_S = 5.0


class DeadLetters:
    """Writes dead letters; returns when they are on Kafka."""

    def __init__(
        self, producer: Producer, topic: str, gate: Gate, *, group: str, version: str
    ) -> None:
        self._producer, self._topic, self.gate = producer, topic, gate
        self._group, self._version = group, version

    async def bury(self, record: KafkaRecord, error: MessageRejected, now: datetime) -> None:
        """Send it, again and again with growing waits; meanwhile its partition is held."""
        hold = Hold(self.gate, Partition(record.topic, record.partition))
        why = f"topic {self._topic} has not taken a dead letter for {SLOW_S:.0f} s: does it exist, "
        why += "and are its brokers there?"
        slow = asyncio.get_running_loop().call_later(SLOW_S, hold.begin, why)
        try:
            await self._until_taken(record, error, now, hold)
        finally:
            slow.cancel()
            hold.end()

    async def _until_taken(
        self, record: KafkaRecord, error: MessageRejected, now: datetime, hold: Hold
    ) -> None:
        wait = FIRST_WAIT_S
        while True:
            try:
                return await self.send(record, error, now)
            except RecordRefused as refused:
                hold.begin(
                    f"topic {self._topic} takes no dead letter, not even without key and value: "
                    f"{refused}; raise its max.message.bytes"
                )
            except DependencyRefused as refused:
                hold.begin(f"topic {self._topic} takes no dead letter: {refused}")
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_S)

    async def send(self, record: KafkaRecord, error: MessageRejected, now: datetime) -> None:
        """Key, value, timestamp and headers are the original ones, as far as the broker takes them.

        Where it does not, value, timestamp and original headers are left out (the source topic
        still has them), and ``x-error.value_omitted`` is the size of the value in bytes; then the
        key too. Raises ``RecordRefused`` when the topic takes not even that, and
        ``DependencyRefused`` when it may not be written.
        """
        headers = error_headers(record, error, group=self._group, version=self._version, now=now)
        try:
            await self._producer.write(
                self._topic,
                record.value,
                key=record.key,
                timestamp_ms=record.timestamp,
                headers=headers,
            )
        except RecordRefused:
            bare = [header for header in headers if header[0].startswith(ERROR)]
            bare.append((f"{ERROR}value_omitted", str(len(record.value or b"")).encode()))
            await self._send_bare(record.key, bare)

    async def _send_bare(self, key: bytes | None, headers: list[tuple[str, bytes | None]]) -> None:
        # An empty value, not none: a record with neither key nor value cannot be written.
        try:
            await self._producer.write(self._topic, b"", key=key, headers=headers)
        except RecordRefused:
            if key is None:
                raise
            await self._producer.write(self._topic, b"", headers=headers)
