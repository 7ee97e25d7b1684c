"""The headers of a dead letter: written, read back, and carried through a redrive."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from monitor.errors import MessageRejected
from monitor.ingest.event_time import parse_timestamp
from monitor.kafka.record import KafkaRecord, last_offset
from monitor.records.base import Headers

ERROR, REDRIVE = OURS = "x-error.", "x-redrive."
#: Of the headers. Dead letters of before it was written have none, and are of the first one.
DEAD_LETTER_SCHEMA: Final = "rag.dead-letter/1"
MOST_MESSAGE_CHARACTERS = 500
_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}", re.ASCII)  # as brokers allow
#: What a redrive carries, so that attempts are counted on.
_CARRIED = ("topic", "partition", "offset", "timestamp", "attempts", "first_failed_at")


class FailureOrigin(NamedTuple):
    """Where a record stood when it failed for the first time; its time in epoch milliseconds."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


class FailureHistory(NamedTuple):
    """What is known of a record that has failed before."""

    origin: FailureOrigin
    attempts: int
    first_failed_at: datetime


class DeadLetter(NamedTuple):
    """What the headers of a dead letter say; at most 500 characters of each text.

    ``value_omitted`` is the size of a value that was left out, ``redacted`` that of one in whose
    record something was redacted.
    """

    history: FailureHistory
    stage: str
    cause: str
    message: str
    group: str
    version: str
    value_omitted: int | None
    redacted: int | None = None


def error_headers(
    record: KafkaRecord, error: MessageRejected, *, group: str, version: str, now: datetime
) -> list[tuple[str, bytes | None]]:
    """The original headers and, after them, one set of ``x-error.*``.

    A record that comes back from a redrive keeps place and time of its first failure, and its
    attempts are counted on.
    """
    before = history_of(record)
    here = FailureOrigin(record.topic, record.partition, record.offset, record.timestamp)
    origin = before.origin if before else here
    fields = {
        "schema": DEAD_LETTER_SCHEMA,
        "topic": origin.topic,
        "partition": origin.partition,
        "offset": origin.offset,
        "timestamp": origin.timestamp_ms,
        "stage": error.stage,
        "class": error.cause,
        "message": str(error)[:MOST_MESSAGE_CHARACTERS],
        "attempts": before.attempts + 1 if before else 1,
        "group": group,
        "version": version,
        "first_failed_at": (before.first_failed_at if before else now).isoformat(),
    }
    if last_offset(record) > record.offset:  # a batch that nobody unpacks
        fields["last_offset"] = last_offset(record)
    # A lone surrogate (half of a character, from the traffic) has no bytes in UTF-8.
    added = [
        (f"{ERROR}{key}", str(value).encode(errors="replace")) for key, value in fields.items()
    ]
    return [*original_headers(record.headers), *added]


def redrive_headers(record: KafkaRecord, dead_letter: DeadLetter) -> list[tuple[str, bytes | None]]:
    """The original headers, and what the next failure needs to count on."""
    origin, attempts, first = dead_letter.history
    fields = (*origin, attempts, first.isoformat())
    carried = zip(_CARRIED, fields, strict=True)
    added = [(f"{REDRIVE}{key}", str(value).encode()) for key, value in carried]
    return [*original_headers(record.headers), *added]


def original_headers(headers: Headers) -> list[tuple[str, bytes | None]]:
    """Those that the monitor has not added, in their order, repeated ones too."""
    return [header for header in headers if not header[0].startswith(OURS)]


def history_of(record: KafkaRecord) -> FailureHistory | None:
    """The history of a record on an input topic; None for one that never failed.

    The headers of a redrive say it; those of a dead letter too, for the letter may have been copied
    back by another tool. Headers about another topic are somebody else's.
    """
    for prefix in (REDRIVE, ERROR):
        found = _history(_texts(record.headers, prefix))
        if found and found.origin.topic == record.topic:
            return found
    return None


def read_dead_letter(record: KafkaRecord) -> DeadLetter | None:
    """What a record on the dead letter topic says of itself; None when it is no dead letter.

    One of a newer major schema is none, either: what it says may mean something else here.
    """
    fields = _texts(record.headers, ERROR)
    history = _history(fields)
    if history is None or not _is_known(fields.get("schema", DEAD_LETTER_SCHEMA)):
        return None
    return DeadLetter(
        history,
        # Whoever may write there may write any headers, and of any length.
        stage=fields.get("stage", "")[:MOST_MESSAGE_CHARACTERS],
        cause=fields.get("class", "")[:MOST_MESSAGE_CHARACTERS],
        message=fields.get("message", "")[:MOST_MESSAGE_CHARACTERS],
        group=fields.get("group", "")[:MOST_MESSAGE_CHARACTERS],
        version=fields.get("version", "")[:MOST_MESSAGE_CHARACTERS],
        value_omitted=_number(fields.get("value_omitted", "")),
        redacted=_number(fields.get("redacted", "")),
    )


def _is_known(schema: str) -> bool:
    """Whether it is this one, or adds to it."""
    return schema == DEAD_LETTER_SCHEMA or schema.startswith(f"{DEAD_LETTER_SCHEMA}.")


def _texts(headers: Headers, prefix: str) -> dict[str, str]:
    return {
        key.removeprefix(prefix): (value or b"").decode(errors="replace")
        for key, value in headers
        if key.startswith(prefix)
    }


def _history(fields: dict[str, str]) -> FailureHistory | None:
    numbers = _numbers(fields.get(key, "") for key in _CARRIED[1:5])
    try:
        first = parse_timestamp(fields.get("first_failed_at", ""))
    except ValueError:
        return None
    if numbers is None or first is None or not _TOPIC.fullmatch(fields.get("topic", "")):
        return None
    partition, offset, timestamp_ms, attempts = numbers
    if partition < 0 or offset < 0 or attempts < 1:
        return None
    origin = FailureOrigin(fields["topic"], partition, offset, timestamp_ms)
    return FailureHistory(origin, attempts, first.astimezone(UTC))


def _numbers(texts: Iterable[str]) -> list[int] | None:
    found = [_number(text) for text in texts]
    return None if None in found else [number for number in found if number is not None]


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None
