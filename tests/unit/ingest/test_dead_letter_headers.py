"""A dead letter is the original record, and its headers say what is wrong with it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from monitor.errors import MessageRejected
from monitor.ingest.dead_letter_headers import (
    FailureOrigin,
    error_headers,
    history_of,
    read_dead_letter,
    redrive_headers,
)
from monitor.ingest.reading import place_of
from tests.stages.dead_letters import ORIGINAL, Record, dead_letter

LATER = datetime(2026, 11, 21, 9, tzinfo=UTC)


def headers_of(message: str, record: Record | None = None) -> list[tuple[str, bytes | None]]:
    """The headers of the dead letter of a record that was refused with a message."""
    return error_headers(
        record or Record(),
        MessageRejected(message, stage="validate", cause="missing_field"),
        group="rag-monitor",
        version="0.1.0",
        now=datetime(2026, 11, 20, 12, tzinfo=UTC) if record is None else LATER,
    )


def test_the_original_headers_come_first() -> None:
    """In their order, repeated ones too; null stays null, and empty stays empty."""
    assert headers_of("x")[: len(ORIGINAL)] == ORIGINAL


def test_the_error_headers_say_where_what_and_when() -> None:
    """Enough to find the record, to group by cause and to send it again."""
    assert dict(headers_of("response: found nothing, expected a value")[len(ORIGINAL) :]) == {
        "x-error.schema": b"rag.dead-letter/1",
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


@pytest.mark.parametrize(
    ("schema", "is_read"),
    [
        (None, True),
        (b"rag.dead-letter/1", True),
        (b"rag.dead-letter/1.3", True),
        (b"rag.dead-letter/2", False),
        (b"rag.dead-letter/10", False),
    ],
)
def test_a_letter_of_a_newer_schema_is_left_alone(schema: bytes | None, is_read: bool) -> None:
    """Its headers may mean something else; those of before there was a schema are read."""
    letter = dead_letter()
    headers = [header for header in letter.headers if header[0] != "x-error.schema"]
    headers += [] if schema is None else [("x-error.schema", schema)]
    assert (read_dead_letter(letter._replace(headers=tuple(headers))) is not None) == is_read


def test_a_long_message_is_cut() -> None:
    """Field names come from the traffic: a header has to stay small."""
    message = dict(headers_of("中" * 10_000))["x-error.message"] or b""
    assert len(message.decode()) == 500


def test_half_a_character_in_a_message_is_no_bug() -> None:
    """A lone surrogate in a field name has no UTF-8; it becomes a question mark."""
    assert dict(headers_of("field \ud800 is unknown"))["x-error.message"] == b"field ? is unknown"


def test_a_second_failure_counts_on_and_keeps_the_first_place() -> None:
    """One set of headers; attempts 2; place, time and first failure are those of the first time."""
    letter = read_dead_letter(dead_letter())
    assert letter is not None
    back = redrive_headers(dead_letter(), letter)
    assert [header for header in back if header[0].startswith("x-error.")] == []
    again = Record(partition=1, offset=900, timestamp=1_795_180_000_000, headers=tuple(back))
    second = headers_of("still wrong", again)
    assert second[: len(ORIGINAL)] == ORIGINAL
    assert len({key for key, _ in second[len(ORIGINAL) :]}) == len(second) - len(ORIGINAL) == 12
    said = dict(second)
    assert said["x-error.attempts"] == b"2"
    assert said["x-error.first_failed_at"] == b"2026-11-20T12:00:00+00:00"
    assert place_of(again)[0] == FailureOrigin("rag.interactions.v1", 3, 42, 1_795_176_000_000)
    for key in ("topic", "partition", "offset", "timestamp"):
        assert said[f"x-error.{key}"] == dict(dead_letter().headers)[f"x-error.{key}"]


def test_a_letter_copied_back_by_another_tool_counts_on_too() -> None:
    """Its ``x-error`` headers are still on it; they are replaced, not piled up."""
    copied = dead_letter(attempts=2)._replace(topic="rag.interactions.v1", offset=900)
    second = headers_of("still wrong", copied)
    assert dict(second)["x-error.attempts"] == b"3"
    assert len(second) == len(ORIGINAL) + 12


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("topic", b"another"),
        ("topic", b""),
        ("attempts", b"0"),
        ("attempts", b"9" * 5_000),
        ("attempts", b"two"),
        ("offset", b"-1"),
        ("offset", None),
        ("partition", "٣".encode()),
        ("first_failed_at", b"noon"),
        ("first_failed_at", b"2026-11-20T12:00:00"),
        ("timestamp", b"\xff"),
    ],
)
def test_headers_that_somebody_made_up_are_no_history(key: str, value: bytes | None) -> None:
    """Traffic may carry anything: then it is a first failure, with one set of headers."""
    name = f"x-error.{key}"
    made = tuple((k, value if k == name else v) for k, v in dead_letter().headers)
    record = Record(headers=made)
    assert history_of(record) is None
    second = headers_of("wrong", record)
    assert dict(second)["x-error.attempts"] == b"1"
    assert len(second) == len(ORIGINAL) + 12


def test_a_record_without_our_headers_is_no_letter() -> None:
    """Somebody else's records on the dead letter topic are left alone."""
    assert read_dead_letter(Record()) is None
