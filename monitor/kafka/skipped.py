"""What is said of records that were left out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Final, NamedTuple, TypeVar

from monitor.errors import RecordSkipped
from monitor.kafka.record import KafkaRecord
from monitor.runtime.logs import logger

R = TypeVar("R")
#: The event of score records that a command leaves out.
SCORES_SKIPPED: Final = "score_records_skipped"


def warn_skipped(event: str, record: KafkaRecord, skipped: RecordSkipped) -> None:
    """Say in the log where it stands, and why nothing follows from it."""
    logger().warning(event, **_place(record), **_reason(skipped))


class FirstSkipped(NamedTuple):
    """Where the first record that is left out stands, and the label of why."""

    topic: str
    partition: int
    offset: int
    reason: str


class SkippedRecords:
    """What a command leaves out of a topic that it reads once: how many, and the first of them."""

    def __init__(self) -> None:
        self.records = 0
        self._first: tuple[KafkaRecord, RecordSkipped] | None = None

    def add(self, record: KafkaRecord, skipped: RecordSkipped) -> None:
        """Count one."""
        self.records += 1
        self._first = self._first or (record, skipped)

    @property
    def first(self) -> FirstSkipped | None:
        """The first of them; without the error, which quotes its key."""
        if self._first is None:
            return None
        record, skipped = self._first
        return FirstSkipped(record.topic, record.partition, record.offset, skipped.cause)

    def say(self, event: str) -> None:
        """One line in the log for all, if there are any.

        An error: a command logs nothing less, and what it answers is without them.
        """
        if self._first is not None:
            record, skipped = self._first
            logger().error(event, records=self.records, **_place(record), **_reason(skipped))

    def __str__(self) -> str:
        """All in one line; empty where none was left out."""
        if self._first is None:
            return ""
        record, skipped = self._first
        number = f"{self.records} records are" if self.records > 1 else "1 record is"
        first = "the first at " if self.records > 1 else ""
        place = f"partition {record.partition}, offset {record.offset}"
        return f"{number} left out, {first}{place}: {skipped}"


async def readable(
    records: AsyncIterator[KafkaRecord], read: Callable[[bytes], R], event: str
) -> AsyncIterator[tuple[KafkaRecord, R]]:
    """Each with what is read of its value, as far as it has one that can be read.

    ``read`` raises ``RecordSkipped`` for the others: the log says once how many there were.
    """
    left_out = SkippedRecords()
    try:
        async for record in records:
            if record.value is None:
                continue
            try:
                found = read(record.value)
            except RecordSkipped as skipped:
                left_out.add(record, skipped)
            else:
                yield record, found
    finally:
        left_out.say(event)


def _place(record: KafkaRecord) -> dict[str, str | int]:
    return {"topic": record.topic, "partition": record.partition, "offset": record.offset}


def _reason(skipped: RecordSkipped) -> dict[str, str | None]:
    return {"reason": skipped.cause, "error": str(skipped)}
