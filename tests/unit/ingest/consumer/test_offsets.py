"""The watermark: what may be committed, after any interleaving of work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.ingest.consumer.offsets import OffsetTracker


def watermark(seen: list[int], under_way: set[int]) -> int | None:
    """The first offset that is not done, by looking at all of them."""
    if not seen:
        return None
    return min(under_way, default=seen[-1] + 1)


@given(st.data(), st.integers(0, 2**40))
def test_the_watermark_is_the_first_offset_that_is_not_done(
    data: st.DataObject, offset: int
) -> None:
    """Records are taken or skipped with gaps, and settled in any order: equal to a naive model."""
    tracker = OffsetTracker()
    seen: list[int] = []
    under_way: set[int] = set()
    times: dict[int, tuple[float, float]] = {}
    for step in data.draw(st.lists(st.sampled_from(["take", "take", "skip", "settle"]))):
        if step == "settle" and under_way:
            done = data.draw(st.sampled_from(sorted(under_way)))
            tracker.settle(done)
            under_way.remove(done)
        elif step != "settle":
            offset += data.draw(st.sampled_from([1, 1, 1, 5]))
            seen.append(offset)
            if step == "skip":
                tracker.skip(offset)
            else:
                times[offset] = (float(len(seen)), float(-len(seen)))
                tracker.take(offset, taken_at=times[offset][0], record_time=times[offset][1])
                under_way.add(offset)
        assert tracker.watermark == watermark(seen, under_way)
        assert tracker.in_flight == len(under_way)
        again = seen[-1] + 1 - min(under_way) if under_way else 0
        assert tracker.span == again
        assert tracker.oldest == (times[min(under_way)] if under_way else None)


@given(st.lists(st.integers(0, 50), min_size=1, unique=True).map(sorted), st.data())
def test_once_all_is_done_everything_read_may_be_committed(
    offsets: list[int], data: st.DataObject
) -> None:
    """Whatever the order of settling, the watermark ends behind the last offset, and never jumps
    over one under way."""
    tracker = OffsetTracker()
    for offset in offsets:
        tracker.take(offset, taken_at=0.0, record_time=0.0)
    marks = []
    for offset in data.draw(st.permutations(offsets)):
        tracker.settle(offset)
        marks.append(tracker.watermark or 0)
    assert marks == sorted(marks)
    assert marks[-1] == offsets[-1] + 1


@pytest.mark.parametrize("offset", [0, 6, 7])
def test_offsets_only_grow(offset: int) -> None:
    """A smaller or equal offset belongs to another assignment, and would be committed over."""
    tracker = OffsetTracker()
    tracker.take(7, taken_at=0.0, record_time=0.0)
    with pytest.raises(ValueError, match=f"offset {offset} after 7"):
        tracker.take(offset, taken_at=0.0, record_time=0.0)


@pytest.mark.parametrize("offset", [0, 6, 7])
def test_skipped_offsets_only_grow(offset: int) -> None:
    """A run that ends before what was taken is none of this assignment."""
    tracker = OffsetTracker()
    tracker.take(7, taken_at=0.0, record_time=0.0)
    with pytest.raises(ValueError, match=f"offset {offset} after 7"):
        tracker.skip(offset)


@pytest.mark.parametrize("offset", [5, 6, 7])
def test_only_what_is_under_way_can_be_settled(offset: int) -> None:
    """Settling what was skipped, settled before or never taken is an error of the caller."""
    tracker = OffsetTracker()
    tracker.take(5, taken_at=0.0, record_time=0.0)
    tracker.settle(5)
    tracker.skip(6)
    with pytest.raises(KeyError):
        tracker.settle(offset)
    assert tracker.watermark == 7
