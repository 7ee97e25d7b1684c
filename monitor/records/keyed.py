"""Records of compacted topics: the latest of a key holds, and each says which key it belongs to."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

from monitor.errors import RecordSkipped
from monitor.records import Frozen, read_record


class Keyed(Frozen):
    """A record that knows its key."""

    @property
    @abstractmethod
    def key(self) -> str:
        """The Kafka key."""

    def to_json(self) -> bytes:
        """One JSON object in UTF-8, without a newline."""
        return self.model_dump_json(by_alias=True).encode()


K = TypeVar("K", bound=Keyed)


def read_keyed(model: type[K], what: str, name: str, value: bytes) -> K:
    """Parse the record under the key ``name``.

    Raises ``RecordSkipped`` for what cannot be read, with the causes of ``read_record``, or does
    not belong to its key (``malformed``).
    """
    record = read_record(model, f"{what} record {name!r}", value)
    if record.key != name:
        raise RecordSkipped(
            f"{what} record {name!r}: it speaks of {record.key!r}", cause="malformed"
        )
    return record
