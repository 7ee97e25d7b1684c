"""A row of a file in the place of a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class FileRow(NamedTuple):
    """A row of a file, in the place of a record; ``fault`` says why it is no interaction."""

    topic: str
    offset: int
    value: bytes
    timestamp: int
    fault: str | None = None
    partition: int = 0
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
