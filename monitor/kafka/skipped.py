"""The warning about a record that was left out."""

from __future__ import annotations

from monitor.errors import RecordSkipped
from monitor.kafka.record import KafkaRecord
from monitor.runtime.logs import logger


def warn_skipped(event: str, record: KafkaRecord, skipped: RecordSkipped) -> None:
    """Say in the log where it stands, and why nothing follows from it."""
    logger().warning(
        event,
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        reason=skipped.cause,
        error=str(skipped),
    )
