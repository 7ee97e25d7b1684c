"""The shape of a consumed record, without naming the client library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

#: What a comma weighs in bytes: a text takes a few times its bytes in memory, and the small objects
#: that commas stand between some fifty times theirs.
COMMA_BYTES = 24


class Partition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int


class KeptPartition(NamedTuple):
    """What is kept of a partition: offsets from ``begin`` up to before ``end``.

    ``first_ms`` is the time of the first record (epoch milliseconds); None where none is kept, or
    none with a time.
    """

    topic: str
    partition: int
    begin: int
    end: int
    first_ms: int | None


class KafkaRecord(Protocol):
    """A record as it was read; ``timestamp`` is in epoch milliseconds."""

    @property
    def topic(self) -> str:
        """The name of its topic."""

    @property
    def partition(self) -> int:
        """The number of its partition, from 0."""

    @property
    def offset(self) -> int:
        """Its place in the partition; there may be gaps."""

    @property
    def timestamp(self) -> int:
        """What the broker, or who wrote it, says of its time."""

    @property
    def key(self) -> bytes | None:
        """None: it has none."""

    @property
    def value(self) -> bytes | None:
        """None: a tombstone."""

    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]:
        """In their order; a name may stand there twice."""


@dataclass(frozen=True)
class Unreadable:
    """Stands for records that the client cannot unpack: all that is known of them is their place.

    ``timestamp`` is when it was met, in epoch milliseconds; ``error`` is the type of the error.
    There are ``records`` of them, up to the offset ``through``; by default one.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    error: str
    key: bytes | None = None
    value: bytes | None = b""
    headers: Sequence[tuple[str, bytes | None]] = ()
    through: int = -1
    records: int = 1

    @property
    def last_offset(self) -> int:
        """The last offset that it stands for."""
        return max(self.offset, self.through)


def last_offset(record: KafkaRecord) -> int:
    """The last offset that the record stands for: its own, unless it cannot be read."""
    return record.last_offset if isinstance(record, Unreadable) else record.offset


def records_in(record: KafkaRecord) -> int:
    """How many records it stands for: one, unless it cannot be read."""
    return record.records if isinstance(record, Unreadable) else 1


def weight(value: bytes | None) -> int:
    """What the value of a record weighs if it is JSON: its bytes, and more for its objects.

    >>> weight(b"[1,2]"), weight(None)
    (29, 0)
    """
    return 0 if value is None else len(value) + COMMA_BYTES * value.count(b",")


def is_heavier(record: KafkaRecord, most: int) -> bool:
    """Whether the key, and the value by its ``weight``, are more than ``most`` bytes.

    Every record that is read is asked for: commas are counted only where they could matter.
    """
    key, value = record.key or b"", record.value or b""
    if len(key) + len(value) <= most // (1 + COMMA_BYTES):
        return False
    return len(key) + weight(value) > most


def size(record: KafkaRecord) -> int:
    """The bytes of key and value: what is held as long as the record is."""
    return len(record.key or b"") + len(record.value or b"")
