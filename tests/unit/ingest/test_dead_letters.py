"""A dead letter is the original record, and its headers say what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from monitor.errors import MessageRejected
from monitor.ingest.dead_letters import error_headers

ORIGINAL = [("trace", b"1"), ("trace", b"2"), ("empty", None), ("binary", b"\xff\x00")]


class Record(NamedTuple):
    """A consumed record."""

    topic: str = "rag.interactions.v1"
    partition: int = 3
    offset: int = 42
    timestamp: int = 1_795_176_000_000
    key: bytes | None = b"key"
    value: bytes | None = b"{"
    headers: Sequence[tuple[str, bytes | None]] = tuple(ORIGINAL)


def headers_of(message: str) -> list[tuple[str, bytes]]:
    """The headers of the dead letter of a record that was refused with a message."""
    return error_headers(
        Record(),
        MessageRejected(message, stage="validate", cause="missing_field"),
        group="rag-monitor",
        version="0.1.0",
        now=datetime(2026, 11, 20, 12, tzinfo=UTC),
    )


def test_the_original_headers_come_first() -> None:
    """In their order, repeated ones too; null becomes empty, which is all a client can write."""
    found = headers_of("x")
    assert found[:4] == [("trace", b"1"), ("trace", b"2"), ("empty", b""), ("binary", b"\xff\x00")]


def test_the_error_headers_say_where_what_and_when() -> None:
    """Enough to find the record, to group by cause and to send it again."""
    assert dict(headers_of("response: found nothing, expected a value")[4:]) == {
        "x-error.topic": b"rag.interactions.v1",
        "x-error.partition": b"3",
        "x-error.offset": b"42",
        "x-error.timestamp": b"1795176000000",
        "x-error.stage": b"validate",
        "x-error.class": b"missing_field",
        "x-error.message": b"response: found nothing, expected a value",
        "x-error.attempts": b"1",
        "x-error.group": b"rag-monitor",
        "x-error.version": b"0.1.0",
        "x-error.first_failed_at": b"2026-11-20T12:00:00+00:00",
    }


def test_a_long_message_is_cut() -> None:
    """Field names come from the traffic: a header has to stay small."""
    assert len(dict(headers_of("中" * 10_000))["x-error.message"].decode()) == 500
