"""A record that is sent again: known by its bytes, for minutes, within a bound; never lost."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from monitor.sampling.copies import WITHIN_S, Copies
from tests.stages.loop import Record


class Stage:
    """Copies, and a clock that a test sets."""

    def __init__(self, **bounds: Any) -> None:
        self.now = 0.0
        self.copies = Copies(lambda: self.now, **bounds)

    def is_copy(self, offset: int, value: bytes = b"v", **fields: Any) -> bool:
        """Of a record at this offset."""
        return self.copies.is_copy(Record(offset, value=value, **fields))


def test_equal_bytes_at_a_later_offset_are_a_copy() -> None:
    """However often; its headers and its time say nothing of what it is."""
    stage = Stage()
    assert not stage.is_copy(7, key=b"k")
    assert stage.is_copy(8, key=b"k")
    assert stage.is_copy(9, key=b"k", timestamp=5, headers=[("trace", b"1")])


def test_what_differs_in_anything_is_no_copy() -> None:
    """Value, key, whether there is a key, where the key ends, partition or topic."""
    stage = Stage()
    assert not stage.is_copy(1, b"v", key=b"k")
    assert not stage.is_copy(2, b"w", key=b"k")
    assert not stage.is_copy(3, b"v", key=b"kv")
    assert not stage.is_copy(4, b"v", key=None)
    assert not stage.is_copy(5, b"v", key=b"")
    assert not stage.is_copy(6, b"kv", key=b"")
    assert not stage.is_copy(7, b"v", key=b"k", partition=1)
    assert not stage.is_copy(8, b"v", key=b"k", topic="other")


def test_a_record_that_is_read_again_is_no_copy_of_itself() -> None:
    """After a rebalance in the same process the first is taken again, the others are copies."""
    stage = Stage()
    for _ in range(2):
        assert [stage.is_copy(offset) for offset in (7, 8, 9)] == [False, True, True]


def test_reading_begins_before_what_is_known() -> None:
    """Offsets were set back: the earlier one is the first, and is taken; then come its copies."""
    stage = Stage()
    assert not stage.is_copy(9)
    assert [stage.is_copy(offset) for offset in (7, 9)] == [False, True]


def test_a_record_is_known_for_minutes_after_it_was_last_seen() -> None:
    """Every copy prolongs it; what is forgotten is taken anew, and its memory is given back."""
    stage = Stage()
    assert not stage.is_copy(1)
    stage.now = WITHIN_S - 1
    assert stage.is_copy(2)
    stage.now += WITHIN_S - 1
    stage.copies.turn()
    assert stage.is_copy(3)
    stage.now += WITHIN_S
    assert not stage.is_copy(4)
    stage.now += WITHIN_S
    stage.copies.turn()
    assert len(stage.copies) == 0


def test_of_a_partition_only_the_latest_are_remembered() -> None:
    """The oldest go first; another partition has a bound of its own."""
    stage = Stage(most=3)
    assert not any(stage.is_copy(n, b"%d" % n) for n in range(5))
    assert not stage.is_copy(0, b"else", partition=1)
    assert len(stage.copies) == 4
    assert [stage.is_copy(9 + n, b"%d" % n) for n in (4, 3, 2, 1, 0)] == [True, True, True] + [
        False
    ] * 2


@given(st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=30), st.integers(0, 30))
def test_whoever_reads_again_takes_the_same_ones(values: list[bytes], since: int) -> None:
    """Of equal records one is taken, whatever was read before, from wherever it is read again."""
    stage = Stage()

    def taken(first: int) -> list[int]:
        return [n for n, v in enumerate(values) if n >= first and not stage.is_copy(n, v)]

    once = taken(0)
    assert [values[n] for n in once] == list(dict.fromkeys(values))
    assert taken(since) == [n for n in once if n >= since]
