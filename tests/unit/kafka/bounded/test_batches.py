"""Fetched batches: what is in bounds is read, what is not is left out, and nothing is held."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
from aiokafka import TopicPartition
from aiokafka.codec import snappy_encode
from aiokafka.errors import CorruptRecordException

from monitor.kafka.bounded.aborted import AbortedTransactions
from monitor.kafka.bounded.consumer import BoundedRecords, Room
from monitor.kafka.bounded.unpacking import SNAPPY, BatchTooLarge, unpacked
from monitor.kafka.bounds import MOST_HEADERS, MOST_RECORDS
from monitor.kafka.record import Unreadable
from tests.stages.batches import ENCODERS, MB, ZSTD, batch, bomb, packed, record, signed, varint

MOST = 2 * MB
HERE = TopicPartition("t", 0)
CODECS = pytest.mark.parametrize("codec", ENCODERS)


def read(fetched: bytes, position: int = 0, most: int = MOST) -> list[tuple[int, object]]:
    """Offset and value, or the error, of everything that one fetch gives."""
    found = BoundedRecords(HERE, fetched, position, Room(most, most))
    return [(one.offset, one.error if isinstance(one, Unreadable) else one.value) for one in found]


def several(codec: int, number: int = 3, size: int = 10, base: int = 0) -> bytes:
    return packed((record(i, b"%d" % i * size) for i in range(number)), codec, base=base)


@CODECS
def test_records_are_what_they_were(codec: int) -> None:
    """Each codec's batch gives its records, in order."""
    assert read(several(codec)) == [(0, b"0" * 10), (1, b"1" * 10), (2, b"2" * 10)]


@CODECS
def test_exactly_the_bound_may_be_unpacked_and_not_a_byte_more(codec: int) -> None:
    """The bound is one of bytes that are really there, whatever a batch says of its size."""
    encode = ENCODERS[codec]
    assert len(unpacked(codec, bytes(encode(b"x" * 70_000)), 70_000, b"head")) == 70_004
    with pytest.raises(BatchTooLarge):
        unpacked(codec, bytes(encode(b"x" * 70_001)), 70_000)


def test_blocks_of_snappy_are_bounded_together() -> None:
    """Neither one block without a frame, nor many small ones, get past the bound."""
    alone = bytes(snappy_encode(b"x" * 70_001, xerial_compatible=False))
    assert len(unpacked(SNAPPY, alone, 70_001)) == 70_001
    for whole in (alone, snappy_encode(b"x" * 70_001, xerial_blocksize=100)):
        with pytest.raises(BatchTooLarge):
            unpacked(SNAPPY, bytes(whole), 70_000)


def test_a_stated_size_is_not_allocated() -> None:
    """A block of some bytes that claims to be 4 GB is refused before there is room for it."""
    with pytest.raises(BatchTooLarge):
        unpacked(SNAPPY, b"\xff\xff\xff\xff\x0fabc", MOST)


@CODECS
def test_a_bomb_takes_no_more_memory_than_the_bound(codec: int) -> None:
    """A record of 24 MB under a bound of 2 MB: some times the bound, and not the record."""
    raw = several(codec, 1, 24 * MB)
    tracemalloc.start()
    try:
        assert read(raw) == [(0, "BatchTooLarge")]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * MOST + 2 * len(raw)


def test_reading_goes_on_behind_a_bomb() -> None:
    """What stands behind a batch that is too large is fetched again, and read."""
    fetched = several(ZSTD) + packed([record(0, b"a" * 3 * MB)], ZSTD, base=3)
    fetched += several(ZSTD, base=4)
    records = BoundedRecords(HERE, fetched, 0, Room(MOST))
    assert [one.offset for one in records] == [0, 1, 2, 3]
    assert records.next_fetch_offset == 4
    assert [offset for offset, _ in read(fetched, 4)] == [4, 5, 6]


def test_a_batch_stands_for_its_offsets_and_records() -> None:
    """One entry stands for all of it: from where reading stood to its last offset."""
    raw = packed((record(i, b"a" * MB) for i in range(5)), ZSTD, base=10)
    (whole,) = BoundedRecords(HERE, raw, 0, Room(MOST))
    assert (whole.offset, whole.last_offset, whole.records) == (10, 14, 5)
    (rest,) = BoundedRecords(HERE, raw, 12, Room(MOST))
    assert (rest.offset, rest.last_offset, rest.records) == (12, 14, 3)


@pytest.mark.parametrize(
    ("count", "last", "records", "behind"),
    [(2**31 - 1, 4, 5, 15), (-5, 4, 1, 15), (1, -9, 1, 11), (7, 2, 3, 13)],
)
def test_a_head_that_lies_hurts_nobody(count: int, last: int, records: int, behind: int) -> None:
    """It never stands for more records than offsets, for fewer than one, or for none behind it."""
    raw = packed([record(0, b"a" * 3 * MB)], ZSTD, count=count, last=last, base=10)
    found = BoundedRecords(HERE, raw, 10, Room(MOST))
    (one,) = found
    assert (one.records, found.next_fetch_offset) == (records, behind)


def test_more_records_than_anybody_batches_are_left_out() -> None:
    """A batch says that it has more than the most: it is not even unpacked."""
    raw = batch(b"not unpacked", ZSTD, count=MOST_RECORDS + 1)
    (one,) = BoundedRecords(HERE, raw, 0, Room(MOST))
    assert (one.error, one.records) == ("BatchTooLarge", MOST_RECORDS + 1)


@pytest.mark.parametrize("headers", [MOST_HEADERS + 1, 400_000])
def test_a_record_with_too_many_headers_is_left_out_alone(headers: int) -> None:
    """Small batch or large: its neighbours are read, and its headers are not even parsed."""
    parts = [record(0, b"a"), record(1, b"b", headers), record(2, b"c")]
    assert read(packed(parts, ZSTD)) == [(0, b"a"), (1, "TooManyHeaders"), (2, b"c")]


def test_large_batches_are_parsed_in_pieces() -> None:
    """Records of all sizes in one batch of several megabytes: each as it was, in order."""
    sizes = [10, 900_000, 5, 1_100_000, 1_048_576, 3, 700_000, 600_000, 0]
    parts = [record(i, b"%d" % i * size) for i, size in enumerate(sizes)]
    found = read(packed(parts, ZSTD), most=8 * MB)
    assert found == [(i, b"%d" % i * size) for i, size in enumerate(sizes)]
    assert read(batch(b"".join(parts), count=len(parts)), most=8 * MB) == found


@pytest.mark.parametrize("stated", [2**40, -3, 5])
def test_a_large_batch_with_a_wrong_length_is_left_out(stated: int) -> None:
    """A record that ends elsewhere than it says: nothing beyond it is touched, none is lost."""
    parts = [record(0, b"a" * 2 * MB), record(1, b"b", stated=stated)]
    found = read(packed(parts, ZSTD), most=8 * MB)
    assert found == [(0, b"a" * 2 * MB), (1, "CorruptRecordException")]


@pytest.mark.parametrize("delta", [1_000_000, -3, 0, 2])
def test_a_record_with_another_offset_is_left_out_alone(delta: int) -> None:
    """An offset belongs to a place in the batch; the record that claims another one has none."""
    for raw in (packed, _plain):
        parts = [record(0, b"a"), record(delta, b"b"), record(2, b"c")]
        found = BoundedRecords(HERE, raw(parts, ZSTD, base=10), 10, Room(MOST))
        assert [one.offset for one in found] == [10, 11, 12]
        assert found.next_fetch_offset == 13
        assert read(raw(parts, ZSTD)) == [(0, b"a"), (1, "WrongOffset"), (2, b"c")]
        assert read(raw(parts, ZSTD), 1) == [(1, "WrongOffset"), (2, b"c")]


def test_records_in_a_row_are_left_out_together() -> None:
    """One entry names their offsets, for each run and each reason; from where reading stands."""
    torn = varint(1) + b"\0"
    parts = [
        record(0, b"a"),
        *(record(i + 1, b"b") for i in range(1, 6)),
        torn,
        torn,
        record(8, b"c"),
        record(5, b"d"),
    ]
    for raw in (packed, _plain):
        fetched = raw(parts, ZSTD, base=10)
        for position in (0, 13):
            found = list(BoundedRecords(HERE, fetched, position, Room(MOST)))
            told = [
                (one.offset, one.last_offset, one.records, one.error)
                for one in found
                if isinstance(one, Unreadable)
            ]
            first = max(11, position)
            assert told == [
                (first, 15, 16 - first, "WrongOffset"),
                (16, 17, 2, "CorruptRecordException"),
                (19, 19, 1, "WrongOffset"),
            ]
            read_well = [one.offset for one in found if not isinstance(one, Unreadable)]
            assert read_well == [10, 18][position > 10 :]


def test_nothing_more_is_unpacked_with_many_that_are_left_out() -> None:
    """Such a batch takes half a second: the next one, here or of another partition, waits."""
    parts = [record(0, b"a"), *(record(i + 1, b"b") for i in range(1, 2_000))]
    fetched = packed(parts, ZSTD) + several(ZSTD, base=2_000)
    room = Room(MOST)
    first = BoundedRecords(HERE, fetched, 0, room)
    assert [one.offset for one in first] == [0, 1]
    assert first.next_fetch_offset == 2_000
    assert list(BoundedRecords(HERE, several(ZSTD), 0, room)) == []
    room.begin()
    assert len(list(BoundedRecords(HERE, fetched, 2_000, room))) == 3


@CODECS
@pytest.mark.parametrize("heavy", [b"b" * 3_000, b"," * 120, b"," * 100 + b"b" * 500])
def test_a_record_that_is_too_large_is_left_out_alone(codec: int, heavy: bytes) -> None:
    """Its neighbours in the batch are read; a score record of our own may be larger."""
    raw = packed([record(0, b"a"), record(1, heavy), record(2, b"c")], codec)
    found = list(BoundedRecords(HERE, raw, 0, Room(MOST, 3_000)))
    assert [one.offset for one in found] == [0, 1, 2]
    found = list(BoundedRecords(HERE, raw, 0, Room(MOST, 2_999)))
    assert [getattr(one, "error", None) for one in found] == [None, "RecordTooLarge", None]


@pytest.mark.parametrize("deltas", [(0, 3, 2), (0, 3, 9), (-1, 2, 3)])
def test_a_batch_with_gaps_whose_offsets_do_not_rise_is_left_out(deltas: tuple[int, ...]) -> None:
    """Behind compaction the records' own offsets count: in bounds and in order, or not at all."""
    parts = [record(delta, b"a") for delta in deltas]
    raw = packed(parts, ZSTD, last=3)
    (one,) = BoundedRecords(HERE, raw, 0, Room(MOST))
    assert (one.offset, one.last_offset, one.records) == (0, 3, 3)


def test_a_batch_with_gaps_is_read() -> None:
    """Compaction has taken two of five records."""
    parts = [record(delta, b"%d" % delta) for delta in (0, 2, 4)]
    assert read(packed(parts, ZSTD, last=4)) == [(0, b"0"), (2, b"2"), (4, b"4")]


def test_a_header_that_is_no_text_leaves_its_record_out_alone() -> None:
    """Its neighbours in the same batch are read, small batch or large."""
    bad = record(1, b"b", 1).replace(b"\x02h\x01", b"\x02\xff\x01")
    for size in (1, 2 * MB):
        found = read(packed([record(0, b"a"), bad, record(2, b"c" * size)], ZSTD), most=8 * MB)
        assert found == [(0, b"a"), (1, "UnicodeDecodeError"), (2, b"c" * size)]


def test_what_no_codec_can_unpack_is_left_out() -> None:
    """The whole batch is, and reading goes on behind it."""
    raw = batch(b"nothing of the kind", ZSTD, count=3) + several(ZSTD, 1, base=3)
    assert [offset for offset, _ in read(raw)] == [0]
    assert read(raw, 3) == [(3, b"0" * 10)]


def _plain(parts: list[bytes], _codec: int, **head: int) -> bytes:
    return batch(b"".join(parts), count=len(parts), **head)


def test_a_wrong_checksum_is_an_error() -> None:
    """As aiokafka has it."""
    raw = bytearray(several(ZSTD))
    raw[-1] ^= 1
    with pytest.raises(CorruptRecordException):
        read(bytes(raw))


def test_a_batch_that_was_cut_off_is_not_given() -> None:
    """The last batch of a fetch may be: what stands before it is read."""
    assert len(read(several(ZSTD) + several(ZSTD, base=3)[:-1])) == 3
    assert read(b"") == read(several(ZSTD)[:10]) == []


def test_what_is_given_at_once_is_bounded_over_all_batches() -> None:
    """Ten batches of 1 MB under a bound of 2 MB: two come, the rest when it is asked for again."""
    fetched = b"".join(several(ZSTD, 1, MB - 100, base=i) for i in range(10))
    room, given = Room(MOST), list[int]()
    while (position := given[-1] + 1 if given else 0) < 10:
        room.begin()
        some = [one.offset for one in BoundedRecords(HERE, fetched, position, room)]
        assert len(some) == 2
        given += some
    assert given == list(range(10))


def test_what_others_hold_unpacked_takes_their_room() -> None:
    """One partition's batch is read half: another one's waits, and then has its turn."""
    room = Room(MOST)
    first = BoundedRecords(HERE, several(ZSTD, 2, MB - 100), 0, room)
    assert next(first).offset == 0
    room.begin()
    assert list(BoundedRecords(HERE, several(ZSTD, 1, MB), 0, room)) == []
    assert [one.offset for one in first] == [1]
    room.begin()
    assert [one.offset for one in BoundedRecords(HERE, several(ZSTD, 1, MB), 0, room)] == [0]


def test_who_is_asked_for_alone_does_not_wait_for_the_others() -> None:
    """What another one holds is dropped where there is no room without, and only there."""
    room, dropped = Room(MOST), list[int]()
    others = [BoundedRecords(HERE, several(ZSTD, 2, MB - 100), 0, room)]
    next(others[0])

    def drop() -> None:
        dropped.append(len(others))
        others.clear()

    room.drop_others = drop
    for size, times in ((10, 0), (MB, 1), (MB, 1)):
        room.begin()
        found = BoundedRecords(HERE, several(ZSTD, 1, size), 0, room)
        assert ([one.offset for one in found], len(dropped)) == ([0], times)


def test_what_is_dropped_half_read_is_held_no_more() -> None:
    """A rebalance drops what was fetched: its room is free again."""
    room = Room(MOST)
    dropped = BoundedRecords(HERE, several(ZSTD, 2, MB - 100), 0, room)
    next(dropped)
    del dropped
    room.begin()
    assert len(list(BoundedRecords(HERE, several(ZSTD, 1, MB), 0, room))) == 1


def test_control_batches_are_passed_by() -> None:
    """Marks of transactions are no records, and reading goes on behind them."""
    mark = transactional(3, 7, struct.pack(">hh", 0, 1))
    records = BoundedRecords(HERE, several(ZSTD) + mark, 0, Room(MOST))
    assert [one.offset for one in records] == [0, 1, 2]
    assert records.next_fetch_offset == 4


def transactional(base: int, producer: int, mark: bytes | None = None) -> bytes:
    """A batch of one record in a producer's transaction, or the ``mark`` that ends it."""
    made = bytearray(batch(record(0, b"x", key=mark or b"k"), base=base))
    struct.pack_into(">h", made, 21, 0x10 if mark is None else 0x30)
    struct.pack_into(">q", made, 43, producer)
    return signed(made)


def test_what_was_aborted_is_passed_by() -> None:
    """Only between the first offset that the broker tells of and the producer's own mark."""
    abort, commit = struct.pack(">hh", 0, 0), struct.pack(">hh", 0, 1)
    log = [
        *((0, 7, None), (1, 7, commit), (2, 7, None), (3, 8, None), (4, 8, abort), (5, 8, None)),
        *((6, 7, None), (7, 7, abort), (8, 7, None), (9, 8, commit)),
    ]
    fetched = b"".join(transactional(*one) for one in log) + batch(record(0, b"plain"), base=10)
    told = [(8, 3), (7, 2)]
    committed = BoundedRecords(HERE, fetched, 0, Room(MOST), AbortedTransactions(told))
    assert [one.offset for one in committed] == [0, 5, 8, 10]
    assert committed.next_fetch_offset == 11
    every = BoundedRecords(HERE, fetched, 0, Room(MOST))
    assert [one.offset for one in every] == [0, 2, 3, 5, 6, 8, 10]
    later = BoundedRecords(HERE, fetched, 3, Room(MOST), AbortedTransactions(told))
    assert [one.offset for one in later] == [5, 8, 10]


def test_a_batch_of_300_mb_is_left_out() -> None:
    """The bomb of the end-to-end test: some 10 KB that nobody unpacks."""
    raw = bomb(300)
    assert len(raw) < 20_000
    assert read(raw) == [(0, "BatchTooLarge")]
