"""The shape of a consumed record, without naming the client library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Partition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int


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
    """Stands for a record that the client cannot unpack: all that is known of it is its place.

    ``timestamp`` is when it was met, in epoch milliseconds; ``error`` is the type of the error.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    error: str
    key: bytes | None = None
    value: bytes | None = b""
    headers: Sequence[tuple[str, bytes | None]] = ()
