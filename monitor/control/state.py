"""What a process goes by of the control topic: each record is parsed once, and given to its reader.

Every kind of record has one reader in a process. What nobody here reads is for other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from monitor.errors import RecordSkipped
from monitor.kafka.record import KafkaRecord
from monitor.records.control import ControlRecord, Removed, kind_of, read_control_record

Headers = Sequence[tuple[str, bytes | None]]


class WrittenAt(NamedTuple):
    """When a record was written (epoch seconds), and with which headers."""

    at: float = 0.0
    headers: Headers = ()


_UNKNOWN = WrittenAt()
Reader = Callable[[ControlRecord | Removed, WrittenAt], None]


class ControlState:
    """``readers`` by kind of record, as ``monitor.records.control`` names them.

    Where ``reports_others``, what is wrong with records that nobody here reads is said, too.
    """

    def __init__(self, readers: Mapping[str, Reader], *, reports_others: bool = False) -> None:
        self._readers, self._reports_others = readers, reports_others

    def apply(
        self, key: bytes | None, value: bytes | None, written: WrittenAt = _UNKNOWN
    ) -> RecordSkipped | None:
        """Give a record to its reader; what was wrong with one that was left out."""
        reader = self._readers.get(kind_of(key))
        if reader is None and not self._reports_others:
            return None
        try:
            found = read_control_record(key, value)
        except RecordSkipped as skipped:
            return skipped
        if reader is not None:
            reader(found, written)
        return None

    def apply_record(self, record: KafkaRecord) -> RecordSkipped | None:
        """The same, for a record as it was consumed."""
        return self.apply(
            record.key, record.value, WrittenAt(record.timestamp / 1000, record.headers)
        )
