"""Strands: sums of slots that are kept as slots, against adding them up."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.stats.sparse_sums import Reading, SparseRollingSums
from monitor.stats.sums import ZERO, Sums, terms

BUCKET_S, SPAN_S = 10, 50
WINDOWS_S = [30, 10, 200]
TIMES = st.integers(0, 159).map(lambda quarters: quarters * 2.5)


class Made(NamedTuple):
    """A slot of these tests: a value for each of its series."""

    values: tuple[float, ...]
    serial: int


def sums_of(slot: Made) -> list[tuple[str, Sums]]:
    """Series a, b, … ."""
    return [
        (name, terms(slot.serial % 3 + 1, 0.7, 1.0, 0.0, 0.0, value, False))
        for name, value in zip("abc", slot.values, strict=False)
    ]


def made_sums() -> SparseRollingSums[Made]:
    """An empty one."""
    return SparseRollingSums(BUCKET_S, SPAN_S, WINDOWS_S, sums_of)


def expected(held: list[tuple[float, Made]], now: float) -> dict[str, Reading]:
    """Every series that has slots, added up."""
    end = (now // BUCKET_S + 1) * BUCKET_S
    found = {}
    for name in "abc":
        there = [
            (time, sums)
            for time, slot in held
            for series, sums in sums_of(slot)
            if series == name and time < end
        ]
        parts = [[s for t, s in there if t >= end - length] for length in [*WINDOWS_S, 10**6]]
        *windows, horizon = [total(part) for part in parts]
        if there:
            found[name] = Reading(tuple(windows), horizon)
    return found


def total(parts: list[Sums]) -> Sums:
    """The sum of all."""
    found = ZERO
    for part in parts:
        found = found.plus(part)
    return found


STEPS = st.lists(
    st.tuples(st.just("add"), TIMES, st.lists(st.floats(0, 1), min_size=1, max_size=3))
    | st.tuples(
        st.sampled_from(["take", "advance", "advance", "drop", "wake", "sleep"]), TIMES, st.just([])
    ),
    max_size=40,
)


@settings(deadline=None)
@given(STEPS)
def test_readings_are_the_sums_of_the_slots_after_every_step(
    steps: list[tuple[str, float, list[float]]],
) -> None:
    """Slots come, go and are dropped, the clock jumps on and back, totals are kept or not."""
    sums, held = made_sums(), list[tuple[float, Made]]()
    now, dropped, is_awake = 0.0, 0.0, False
    sums.advance(now)
    for serial, (step, time, values) in enumerate(steps):
        before, stamp = expected(held, now), sums.stamp
        if step == "add":
            slot = Made(tuple(values), serial)
            sums.add(time, slot)
            if time >= dropped:
                held.append((time, slot))
        elif step == "take" and held:
            sums.take(*held.pop(int(time) % len(held)))
        elif step == "advance":
            now = time
            sums.advance(now)
        elif step == "drop":
            dropped = max(dropped, time // BUCKET_S * BUCKET_S)
            sums.drop_before(time)
            held = [each for each in held if each[0] >= dropped]
        elif step == "wake":
            sums.wake()
            is_awake = True
        elif step == "sleep":
            sums.sleep()
            is_awake = False
        assert len(sums) == len(held)
        after = expected(held, now)
        assert sums.read() == (after if is_awake else {})
        if is_awake and after != before:
            assert sums.stamp != stamp
    sums.wake()
    assert sums.read() == expected(held, now)


def test_nothing_changes_without_a_slot_that_crosses_an_edge() -> None:
    """The stamp stays while the clock goes on within a zone, and is another in every one."""
    sums, other = made_sums(), made_sums()
    for each in (sums, other):
        each.advance(40.0)
        each.add(5.0, Made((0.5,), 0))
        each.wake()
    stamp = sums.stamp
    assert stamp != other.stamp
    sums.advance(199.0)
    assert sums.stamp == stamp
    sums.advance(200.0)
    assert sums.stamp != stamp


def test_only_what_was_taken_in_can_be_taken_out() -> None:
    """An equal slot is not the same one; what was dropped is gone already."""
    sums = made_sums()
    sums.add(5.0, Made((0.5,), 0))
    with pytest.raises(KeyError):
        sums.take(5.0, Made((0.5,), 0))
    sums.drop_before(10.0)
    sums.take(5.0, Made((0.5,), 0))
    assert len(sums) == 0
