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
    def topic(self) -> str: ...  # noqa: D102
    @property
    def partition(self) -> int: ...  # noqa: D102
    @property
    def offset(self) -> int: ...  # noqa: D102
    @property
    def timestamp(self) -> int: ...  # noqa: D102
    @property
    def key(self) -> bytes | None: ...  # noqa: D102
    @property
    def value(self) -> bytes | None: ...  # noqa: D102
    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]: ...  # noqa: D102


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
