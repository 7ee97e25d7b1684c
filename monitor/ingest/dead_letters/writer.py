"""Dead letters: the original record, redacted, with headers that say what is wrong with it.

A letter that finds no place holds its partition, for as long as it takes: nothing is dropped, and
nothing is committed past it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from monitor.errors import DependencyRefused, MessageRejected
from monitor.ingest.dead_letter_headers import ERROR, error_headers, original_headers
from monitor.ingest.dead_letters.gate import DeadLetterGate, Hold
from monitor.ingest.offload import offloaded
from monitor.ingest.redaction.payload import Payload, redacted
from monitor.ingest.redaction.pieces import REDACT
from monitor.ingest.redaction.redactor import Redactor
from monitor.ingest.work import Work
from monitor.kafka.producer import Producer, RecordRefused
from monitor.kafka.record import KafkaRecord, Partition
from monitor.kafka.retrying import FIRST_WAIT_S, LONGEST_WAIT_S
from monitor.records.base import Headers
from monitor.runtime.threads import Threads

#: A letter without an answer for so long holds its partition, as one that is refused does.
SLOW_S = 5.0


class DeadLetters:
    """Writes dead letters; returns when they are on Kafka. ``slow_s`` is in seconds."""

    def __init__(
        self,
        producer: Producer,
        topic: str,
        gate: DeadLetterGate,
        *,
        group: str,
        version: str,
        slow_s: float = SLOW_S,
        redactor: Redactor | None = None,
        threads: Threads | None = None,
    ) -> None:
        self._producer, self._topic, self.gate = producer, topic, gate
        self._group, self._version, self._slow_s = group, version, slow_s
        self._redactor = redactor or Redactor(None)
        self._threads = threads or Threads("redaction")

    async def bury(
        self, record: KafkaRecord, error: MessageRejected, now: datetime, work: Work
    ) -> MessageRejected:
        """Send it, again and again with growing waits; meanwhile its partition and work are held.

        Returns what the letter says: a record that cannot be redacted is named for that, and is a
        letter without key, value and headers.
        """
        payload: Payload | None = None
        if error.stage != REDACT:
            parts = (record.key, record.value, *(value for _, value in record.headers))
            try:
                payload = await offloaded(
                    self._threads,
                    parts,
                    redacted,
                    record,
                    self._redactor,
                    may_be_slow=self._redactor.has_own,
                )
            except MessageRejected as failed:
                error = failed
        partition = Partition(record.topic, record.partition)
        hold = Hold(self.gate, partition, work)
        why = f"topic {self._topic} has not taken a dead letter for {self._slow_s:.0f} s: "
        why += "does it exist, and are its brokers there?"
        slow = asyncio.get_running_loop().call_later(self._slow_s, hold.begin_unless_held, why)
        try:
            await self._until_taken(record, payload, error, now, hold)
        finally:
            slow.cancel()
            hold.end()
        return error

    async def _until_taken(
        self,
        record: KafkaRecord,
        payload: Payload | None,
        error: MessageRejected,
        now: datetime,
        hold: Hold,
    ) -> None:
        wait = FIRST_WAIT_S
        while True:
            try:
                return await self._send(record, payload, error, now)
            except RecordRefused as refused:
                hold.begin(
                    f"topic {self._topic} takes no dead letter, not even without key and value: "
                    f"{refused}; raise its max.message.bytes"
                )
            except DependencyRefused as refused:
                hold.begin(f"topic {self._topic} takes no dead letter: {refused}")
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_S)

    async def _send(
        self, record: KafkaRecord, payload: Payload | None, error: MessageRejected, now: datetime
    ) -> None:
        """Key, value, timestamp and headers are the original ones, as far as the broker takes them.

        But for what is redacted in them: then ``x-error.redacted`` is the size of the original
        value. Where the broker does not, the timestamp is left out first (``x-error.timestamp``
        still tells it). Then value and original headers are, too (the source topic still has
        them), and ``x-error.value_omitted`` is the size of the value in bytes; then the key. Raises
        ``RecordRefused`` when the topic takes not even that, and ``DependencyRefused`` when it may
        not be written. Without a payload only the last form is left.
        """
        forms = list(self._forms(record, payload, error, now))
        for form in forms[:-1]:
            with suppress(RecordRefused):
                return await self._write(*form)
        return await self._write(*forms[-1])

    def _forms(
        self, record: KafkaRecord, payload: Payload | None, error: MessageRejected, now: datetime
    ) -> Iterator[tuple[bytes | None, bytes | None, int | None, Headers]]:
        kept = payload or Payload(None, None, ())
        headers = self._headers(record, kept, error, now)
        bare = [header for header in headers if header[0].startswith(ERROR)]
        bare.append((f"{ERROR}value_omitted", str(len(record.value or b"")).encode()))
        # An empty value, not none: a record with neither key nor value cannot be written.
        if payload:
            yield payload.key, payload.value, record.timestamp, headers
            yield payload.key, payload.value, None, headers
            yield payload.key, b"", None, bare
        yield None, b"", None, bare

    def _headers(
        self, record: KafkaRecord, payload: Payload, error: MessageRejected, now: datetime
    ) -> list[tuple[str, bytes | None]]:
        fields = error_headers(record, error, group=self._group, version=self._version, now=now)
        ours = [header for header in fields if header[0].startswith(ERROR)]
        original = Payload(record.key, record.value, list(record.headers))
        if payload._replace(headers=list(payload.headers)) != original:
            ours.append((f"{ERROR}redacted", str(len(record.value or b"")).encode()))
        return [*original_headers(payload.headers), *ours]

    async def _write(
        self, key: bytes | None, value: bytes | None, timestamp_ms: int | None, headers: Headers
    ) -> None:
        await self._producer.write(
            self._topic, value, key=key, timestamp_ms=timestamp_ms, headers=headers
        )
