"""Follows the topic of score records into the database.

Where the database is away, reading waits: the topic keeps what comes meanwhile. A record that is
read again, after a kill or from the beginning, leaves the rows as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from monitor.audit.forgetter import TextForgetter
from monitor.audit.store.database import DatabaseAway, ValueRefused
from monitor.audit.store.evidence import EachAdded, EvidenceStore, Position, RefusedRecord
from monitor.audit.store.rows import Placed, milliseconds
from monitor.errors import RecordSkipped
from monitor.kafka.connection import Connection
from monitor.kafka.reader import TopicReader
from monitor.kafka.record import KafkaRecord
from monitor.kafka.skipped import warn_skipped
from monitor.records import read_score_record
from monitor.runtime.health import Health
from monitor.runtime.logs import logger
from monitor.telemetry import AuditTelemetry

PART: Final = "audit"
#: Times of records may go back a little: so much before the place that was reached is read again.
SLACK_S: Final = 3_600
#: Seconds until a database that is away is asked again: the first time, and at most.
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 10.0
#: Seconds between two looks for what is too old.
PRUNE_EVERY_S: Final = 600.0


class KeptEvidence(NamedTuple):
    """How long interactions are kept, in seconds, and how many bytes of them."""

    seconds: float
    most_bytes: int


class EvidenceFollower:
    """Keeps the score records of some time, but no more than fit. ``clock`` gives epoch seconds."""

    def __init__(
        self,
        connection: Connection,
        topic: str,
        store: EvidenceStore,
        telemetry: AuditTelemetry,
        health: Health,
        clock: Callable[[], float],
        keep: KeptEvidence,
        forgetter: TextForgetter,
    ) -> None:
        self._connection, self._topic, self._store = connection, topic, store
        self._telemetry, self._health, self._clock = telemetry, health, clock
        self._keep_s, self._most_bytes = keep
        self._forgetter = forgetter

    async def run(self) -> None:
        """Replay what is missing, and follow until cancelled."""
        self._health.waits(PART, f"replay of {self._topic}")
        reader = await TopicReader.start(
            self._connection,
            self._topic,
            self._health,
            start_ms=self._oldest_ms(),
            starts_ms=await self._starts(),
            part="audit_reader",
        )
        is_ready = False
        try:
            async for records in reader.batches():
                self._health.beat(PART, needs="audit_database")
                await self._keep(records)
                if not is_ready and await _is_replayed(reader):
                    is_ready = True
                    self._health.ready(PART)
        finally:
            self._health.finished(PART)
            await reader.stop()

    async def prune(self) -> None:
        """For ever drop what is too old."""
        while True:
            try:
                oldest = milliseconds(self._clock() - self._keep_s)
                self._dropped("age", await self._store.drop_before(oldest))
                self._dropped("size", await self._store.drop_beyond(self._most_bytes))
                self._telemetry.evidence_bytes.set(await self._store.bytes())
            except DatabaseAway as error:
                logger().warning("audit_evidence_not_dropped", error=str(error))
            await asyncio.sleep(PRUNE_EVERY_S)

    def _dropped(self, why: str, number: int) -> None:
        self._telemetry.dropped.labels(why).inc(number)
        if number:
            logger().info("audit_evidence_dropped", interactions=number, why=why)

    def _oldest_ms(self) -> int:
        """What is older is not kept, in epoch milliseconds."""
        return max(0, milliseconds(self._clock() - self._keep_s))

    async def _starts(self) -> dict[int, int]:
        """By partition, from which time on records may be missing.

        Each for itself: a partition that is not among them was not read yet, however far the others
        are, and all of it may be missing.
        """
        positions, oldest = await self._store.positions(), self._oldest_ms()
        return {
            partition: max(oldest, each.broker_ms - milliseconds(SLACK_S))
            for partition, each in positions.items()
        }

    async def _keep(self, records: Sequence[KafkaRecord]) -> None:
        """All of them, however long the database is away."""
        placed = [found for record in records if (found := self._placed(record)) is not None]
        reached = _reached(records)
        wait_s = FIRST_WAIT_S
        while reached:
            try:
                async with self._forgetter.at_rest:
                    new, refused = await self._added(self._forgetter.cleared(placed), reached)
            except DatabaseAway as error:
                self._away(error)
                await asyncio.sleep(wait_s)
                wait_s = min(LONGEST_WAIT_S, 2 * wait_s)
                continue
            self._telemetry.records.labels("kept").inc(new)
            self._telemetry.records.labels("known").inc(len(placed) - new - len(refused))
            for each in refused:
                self._left_out(each)
            break
        self._back()

    async def _added(self, placed: Sequence[Placed], reached: Mapping[int, Position]) -> EachAdded:
        """One record that cannot be kept must not keep the others out."""
        try:
            return EachAdded(await self._store.add(placed, reached), ())
        except ValueRefused:
            return await self._store.add_each(placed, reached)

    def _left_out(self, refused: RefusedRecord) -> None:
        self._telemetry.records.labels("refused").inc()
        logger().error(
            "score_record_not_kept",
            topic=self._topic,
            partition=refused.placed.partition,
            offset=refused.placed.offset,
            error=refused.why,
        )

    def _away(self, error: DatabaseAway) -> None:
        logger().warning("audit_database_away", error=str(error))
        self._telemetry.database_up.set(0)
        self._health.answers("audit_database", yes=False)
        self._health.waits("audit_database", str(error))

    def _back(self) -> None:
        self._telemetry.database_up.set(1)
        self._health.answers("audit_database", yes=True)
        self._health.ready("audit_database")

    def _placed(self, record: KafkaRecord) -> Placed | None:
        if record.value is None:
            self._telemetry.records.labels("tombstone").inc()
            return None
        try:
            found = read_score_record(record.value)
        except RecordSkipped as skipped:
            self._telemetry.records.labels(skipped.cause).inc()
            warn_skipped("score_record_skipped", record, skipped)
            return None
        return Placed(found, record.value, record.partition, record.offset)


def _reached(records: Sequence[KafkaRecord]) -> Mapping[int, Position]:
    return {each.partition: Position(each.offset + 1, each.timestamp) for each in records}


async def _is_replayed(reader: TopicReader) -> bool:
    try:
        return await reader.left_to_replay() == 0
    except TimeoutError:  # the broker is away
        return False
