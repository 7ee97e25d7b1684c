"""Records and dead letters for tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from monitor.errors import MessageRejected
from monitor.ingest.dead_letter_headers import error_headers

ORIGINAL: list[tuple[str, bytes | None]] = [
    ("trace", b"1"),
    ("trace", b"2"),
    ("null", None),
    ("empty", b""),
    ("binary", b"\xff\x00"),
]


class Record(NamedTuple):
    """A consumed record."""

    topic: str = "rag.interactions.v1"
    partition: int = 3
    offset: int = 42
    timestamp: int = 1_795_176_000_000
    key: bytes | None = b"key"
    value: bytes | None = b"{"
    headers: Sequence[tuple[str, bytes | None]] = tuple(ORIGINAL)


def dead_letter(
    attempts: int = 1,
    at: datetime = datetime(2026, 11, 20, 12, tzinfo=UTC),
    record: Record | None = None,
    *,
    place: tuple[int, int] = (0, 7),
    omitted: int | None = None,
    cause: str = "missing_field",
) -> Record:
    """The dead letter of a record, at ``place`` on the dead letter topic."""
    record = record or Record()
    error = MessageRejected("response: found nothing", stage="validate", cause=cause)
    headers = error_headers(record, error, group="rag-monitor", version="0.1.0", now=at)
    counted = [
        (key, str(attempts).encode() if key == "x-error.attempts" else value)
        for key, value in headers
    ]
    if omitted is not None:
        counted = [header for header in counted if header[0].startswith("x-error.")]
        counted.append(("x-error.value_omitted", str(omitted).encode()))
    partition, offset = place
    return Record(
        "rag.dead-letters.v1",
        partition,
        offset,
        record.timestamp,
        record.key,
        record.value if omitted is None else b"",
        tuple(counted),
    )
