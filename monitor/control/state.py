"""What a process goes by of the control topic: each record is parsed once, and given to its reader.

Every kind of record has one reader in a process. What nobody here reads is for other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from monitor.errors import RecordSkipped
from monitor.kafka.record import KafkaRecord
from monitor.records.base import Headers
from monitor.records.control import FORGOTTEN, ControlRecord, Removed, kind_of, read_control_record

#: Of one kind, at once: whoever may write to the topic could name any number of applications.
MOST_KEYS: Final = 5_000
#: Of what must be forgotten: one that is left out would bring texts back.
MOST_FORGOTTEN: Final = 1_000_000
_MOST: Final = {FORGOTTEN: MOST_FORGOTTEN}


class WrittenAt(NamedTuple):
    """When a record was written (epoch seconds), and with which headers."""

    at: float = 0.0
    headers: Headers = ()


_UNKNOWN = WrittenAt()


def too_many(key: str, held: Collection[str], most: int = MOST_KEYS) -> RecordSkipped | None:
    """Why a record with this key is left out, beside the keys of its kind that are held.

    >>> too_many("pause/b", ["pause/a"], most=1)
    RecordSkipped('pause/b is one more than the 1 keys that are held: remove some of the others')
    >>> too_many("pause/a", ["pause/a"], most=1)
    """
    if len(held) < most or key in held:
        return None
    return RecordSkipped(
        f"{key} is one more than the {most} keys that are held: remove some of the others",
        cause="too_many",
    )


ControlReader = Callable[[ControlRecord | Removed, WrittenAt], None]


class ControlState:
    """``readers`` by kind of record, as ``monitor.records.control`` names them.

    Where ``reports_others``, what is wrong with records that nobody here reads is said, too.
    """

    def __init__(
        self, readers: Mapping[str, ControlReader], *, reports_others: bool = False
    ) -> None:
        self._readers, self._reports_others = readers, reports_others
        self._held: dict[str, set[str]] = {kind: set() for kind in readers}

    def apply(
        self, key: bytes | None, value: bytes | None, written: WrittenAt = _UNKNOWN
    ) -> RecordSkipped | None:
        """Give a record to its reader; what was wrong with one that was left out."""
        kind = kind_of(key)
        reader = self._readers.get(kind)
        if reader is None and not self._reports_others:
            return None
        try:
            found = read_control_record(key, value)
        except RecordSkipped as skipped:
            return skipped
        if reader is None:
            return None
        held = self._held[kind]
        if isinstance(found, Removed):
            held.discard(found.key)
        elif (refused := too_many(found.key, held, _MOST.get(kind, MOST_KEYS))) is not None:
            return refused
        else:
            held.add(found.key)
        reader(found, written)
        return None

    def apply_record(self, record: KafkaRecord) -> RecordSkipped | None:
        """The same, for a record as it was consumed."""
        return self.apply(
            record.key, record.value, WrittenAt(record.timestamp / 1000, record.headers)
        )
