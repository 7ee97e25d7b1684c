"""Fetched batches, unpacked one after the other and only so far as they may be held.

Kafka delivers records in batches as their producers made them, compressed or not; see
kafka.apache.org/documentation/#recordbatch for the layout. What is in bounds goes to aiokafka's
parser, which is quick; what is not is an ``Unreadable``, and reading goes on behind it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from aiokafka.errors import CorruptRecordException
from aiokafka.record.control_record import ABORT_MARKER, ControlRecord
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.legacy_records import LegacyRecordBatch
from aiokafka.record.util import decode_varint

from monitor.kafka.bounded.unpacking import BatchTooLarge, unpacked
from monitor.kafka.bounds import MAX_RECORD_BYTES, MOST_HEADERS, MOST_RECORDS
from monitor.kafka.record import is_heavier

#: Within so many bytes there is no room for more headers than can be held.
_PIECE = 1_048_576

_HEAD: Final = struct.Struct(">qiibIhiqqqhii")
_PLACE: Final = struct.Struct(">qi")
_MAGIC_AT, _ATTRIBUTES_AT, _COUNT_AT = 16, 21, 57
_CODEC, _TRANSACTIONAL, _CONTROL = 0x07, 0x10, 0x20
_V2 = 2


class Left(NamedTuple):
    """A whole batch, or records in a row, left out, and why."""

    offset: int
    through: int
    records: int
    error: str

    def goes_on_with(self, other: Left) -> bool:
        """Whether the other may be told of with this one."""
        return other.offset == self.through + 1 and other.error == self.error

    def with_next(self, other: Left) -> Left:
        """Both."""
        return self._replace(through=other.through, records=self.records + other.records)

    def since(self, position: int) -> Left:
        """What is not before the position."""
        before = min(max(0, position - self.offset), self.records - 1)
        return self._replace(offset=self.offset + before, records=self.records - before)


def too_many_headers(offset: int) -> Left:
    """The record at this offset is left out, with more headers than ``MOST_HEADERS``."""
    return Left(offset, offset, 1, "TooManyHeaders")


class Batch:
    """One batch as it was fetched, still packed. ``raw`` is all of it, with its head."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        if len(raw) <= _MAGIC_AT:
            raise CorruptRecordException(f"a batch of {len(raw)} bytes")
        self._magic = raw[_MAGIC_AT]
        #: Who has written it; -1 for nobody who counts its own records.
        self.producer_id = -1
        if self._magic < _V2:
            self.base_offset, self._attributes = _PLACE.unpack_from(raw)[0], 0
            self.next_offset, self._records = self.base_offset + 1, 1
            return
        if len(raw) < _HEAD.size:
            raise CorruptRecordException(f"a batch of {len(raw)} bytes")
        head = _HEAD.unpack_from(raw)
        self.base_offset, self._attributes, self._records = head[0], head[5], head[12]
        self.producer_id = head[9]
        self.next_offset = self.base_offset + max(0, head[6]) + 1

    @property
    def is_control(self) -> bool:
        """Whether it is the broker's own: marks of transactions."""
        return bool(self._attributes & _CONTROL)

    @property
    def is_transactional(self) -> bool:
        """Whether it is part of a transaction."""
        return bool(self._attributes & _TRANSACTIONAL)

    @property
    def is_abort(self) -> bool:
        """Whether a control batch ends a transaction that was aborted."""
        keys = (record.key for record in self._parser(self._raw) if record.key is not None)
        return any(ControlRecord.parse(key) == ABORT_MARKER for key in keys)

    def check(self) -> None:
        """Raises ``CorruptRecordException`` where the bytes are not those that were written."""
        if not self._parser(self._raw).validate_crc():
            raise CorruptRecordException(
                f"the batch at offset {self.base_offset} has another checksum"
            )

    def _parser(self, raw: Any) -> Any:
        if self._magic < _V2:
            return LegacyRecordBatch(raw, self._magic)
        return DefaultRecordBatch(raw)

    def left_out(self, position: int, error: str) -> Left:
        """All of it that is not before ``position``; never more records than it has offsets."""
        # In the old layout it begins somewhere behind the one before it, and the base is its end.
        first = position if self._magic < _V2 else max(self.base_offset, position)
        through = max(first, self.next_offset - 1)
        offsets = through - first + 1
        records = offsets if self._magic < _V2 else max(1, min(self._records, offsets))
        return Left(first, through, records, error)

    def unpacked(self, most: int) -> Unpacked:
        """Its records; raises ``BatchTooLarge`` for more than ``most`` bytes, or far too many.

        Raises what codecs and parser raise for what is broken, also while they are read.
        """
        if len(self._raw) > most or self._records > MOST_RECORDS:
            raise BatchTooLarge
        if self._magic < _V2:
            return Unpacked(self._old(most), _rising(self._parser(self._raw), self.next_offset))
        raw: bytes | bytearray = self._raw
        if codec := self._attributes & _CODEC:
            head = bytearray(raw[: _HEAD.size])
            struct.pack_into(">h", head, _ATTRIBUTES_AT, self._attributes & ~_CODEC)
            raw = unpacked(codec, bytes(raw[_HEAD.size :]), most, bytes(head))
        offsets = self._offsets(raw)
        if len(raw) <= _PIECE:
            return Unpacked(len(raw), _part(bytes(raw[: _HEAD.size]), raw[_HEAD.size :], offsets))
        return Unpacked(len(raw), chain.from_iterable(_pieces(raw, offsets)))

    def _offsets(self, raw: bytes | bytearray) -> Sequence[int]:
        """Of each record: as its producer must have given them, or with gaps by compaction.

        A broker checks the number of an uncompressed batch's records, and not their offsets.
        """
        if self._records == self.next_offset - self.base_offset:
            return range(self.base_offset, self.next_offset)
        found, place, least = [], _HEAD.size, self.base_offset
        for _ in range(self._records):
            body, place = _bounds(raw, place)
            offset = self.base_offset + _inside(raw, body)[0]
            if not least <= offset < self.next_offset:
                raise CorruptRecordException(f"offset {offset} in the batch at {self.base_offset}")
            found.append(offset)
            least = offset + 1
        return found

    def _old(self, most: int) -> int:
        """The size of a batch in the layout of before 2017; aiokafka unpacks it once more."""
        raw, place = self._raw, _MAGIC_AT + 1
        codec = raw[place] & _CODEC
        if not codec:
            return len(raw)
        place += 1 + 8 * self._magic
        for _ in range(2):  # the key, then the value
            (size,) = struct.unpack_from(">i", raw, place)
            value, place = raw[place + 4 : place + 4 + max(0, size)], place + 4 + max(0, size)
        return len(unpacked(codec, value, most))


class Unpacked(NamedTuple):
    """A batch of ``size`` bytes, its records as aiokafka's parser gives them.

    A ``Left`` may stand in the place of a record. Their offsets rise, and are the batch's.
    """

    size: int
    records: Iterable[Any]


def merged(records: Iterable[Any], most_bytes: int = MAX_RECORD_BYTES) -> Iterator[Any]:
    """The same, those that are left out for one reason in a row together.

    So are records with more than ``MOST_HEADERS`` headers, or heavier than ``most_bytes``.
    """
    left: Left | None = None
    for record in records:
        other = _refused(record, most_bytes)
        if left is not None:
            if other is not None and left.goes_on_with(other):
                left = left.with_next(other)
                continue
            yield left
        left = other
        if other is None:
            yield record
    if left is not None:
        yield left


def _refused(record: Any, most_bytes: int) -> Left | None:
    """What is left out in place of the record, if it is."""
    if type(record) is Left:
        return record
    if len(record.headers) > MOST_HEADERS:
        return too_many_headers(record.offset)
    if is_heavier(record, most_bytes):
        return Left(record.offset, record.offset, 1, "RecordTooLarge")
    return None


def split(fetched: bytes) -> Iterator[Batch]:
    """The batches of what was fetched; the last one may be cut off, and is not given then."""
    place = 0
    while place + _PLACE.size <= len(fetched):
        _, length = _PLACE.unpack_from(fetched, place)
        end = place + _PLACE.size + length
        if length < 0 or end > len(fetched):
            return
        yield Batch(fetched[place:end])
        place = end


def _rising(records: Iterable[Any], end: int) -> Iterator[Any]:
    """Those of an old batch, as long as their offsets rise and are before ``end``."""
    least = 0
    for record in records:
        if not least <= record.offset < end:
            raise CorruptRecordException(f"offset {record.offset} in a batch that ends at {end}")
        least = record.offset + 1
        yield record


def _pieces(raw: bytes | bytearray, offsets: Sequence[int]) -> Iterator[Iterable[Any]]:
    """Parts of a large batch as small ones, so that no record is parsed with too many headers."""
    head, begin, place, first = bytes(raw[: _HEAD.size]), _HEAD.size, _HEAD.size, 0
    for number, offset in enumerate(offsets):
        try:
            body, end = _bounds(raw, place)
        except CorruptRecordException:
            yield _part(head, raw[begin:place], offsets[first:number])
            raise
        if end - begin > _PIECE and number > first:
            yield _part(head, raw[begin:place], offsets[first:number])
            begin, first = place, number
        if end - body > _PIECE and _inside(raw, body)[1] > MOST_HEADERS:
            yield (too_many_headers(offset),)
            begin, first = end, number + 1
        place = end
    yield _part(head, raw[begin:place], offsets[first:])


def _part(head: bytes, body: bytes | bytearray, offsets: Sequence[int]) -> Iterator[Any]:
    """The records of a part; one that cannot be parsed, or has another offset, is left out."""
    given = 0
    try:
        for record in _piece(head, body, len(offsets)):
            given += 1
            yield _at(offsets[given - 1], record)
    except Exception:  # noqa: BLE001 - the parser raises whatever it stumbles over
        place = 0
        for number, offset in enumerate(offsets):
            begin, (_, place) = place, _bounds(body, place)
            if number >= given:
                yield _alone(head, body[begin:place], offset)


def _alone(head: bytes, body: bytes | bytearray, offset: int) -> Any:
    try:
        (record,) = _piece(head, body, 1)
    except Exception as error:  # noqa: BLE001 - as above
        return Left(offset, offset, 1, type(error).__name__)
    return _at(offset, record)


def _at(offset: int, record: Any) -> Any:
    return record if record.offset == offset else Left(offset, offset, 1, "WrongOffset")


def _bounds(raw: bytes | bytearray, place: int) -> tuple[int, int]:
    """Where the body of the record begins that is there, and where it ends."""
    length, body = _varint(raw, place)
    if length < 0 or body + length > len(raw):
        raise CorruptRecordException("a record ends behind the end of its batch")
    return body, body + length


def _piece(head: bytes, body: bytes | bytearray, count: int) -> Any:
    whole = bytearray(head) + body
    struct.pack_into(">i", whole, _COUNT_AT, count)
    return DefaultRecordBatch(whole)


def _inside(raw: bytes | bytearray, place: int) -> tuple[int, int]:
    """Offset (from the batch's first) and number of headers of the record whose body is there."""
    _, place = _varint(raw, place + 1)  # behind its attributes, the time
    offset, place = _varint(raw, place)
    for _ in range(2):  # the key, then the value
        size, place = _varint(raw, place)
        place += max(0, size)
    return offset, _varint(raw, place)[0]


def _varint(raw: bytes | bytearray, place: int) -> tuple[int, int]:
    try:
        found: tuple[int, int] = decode_varint(raw, place)
    except (IndexError, ValueError) as error:
        raise CorruptRecordException(f"no number at byte {place} of a batch") from error
    return found
