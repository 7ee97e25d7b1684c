"""Which records count: against a choice from scratch, for any order and any horizon."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.selection import Candidate, Selection, SlotChange
from monitor.stats.sums import ZERO, Sums, terms
from monitor.stats.windows import RollingSums


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    """Few ids, offsets, times and partitions, so that everything collides."""
    first = draw(st.integers(0, 20))
    return Candidate(
        application=draw(st.sampled_from("aaab")),
        interaction_id=draw(st.sampled_from("qrstuvwxyz")),
        event_time=float(draw(st.integers(0, 9))),
        judged_at=float(draw(st.integers(0, 2))),
        digest=draw(st.binary(min_size=2, max_size=2)),
        has_slot=draw(st.integers(0, 3)) > 0,
        has_values=draw(st.booleans()),
        topic="t",
        partition=draw(st.sampled_from([0, 0, 0, 0, 1])),
        kind=draw(st.sampled_from(["with_reference"] * 3 + ["without_reference"])),
        first_offset=first,
        last_offset=first + draw(st.sampled_from([0, 0, 1, 3, 7])),
        payload=draw(st.tuples(st.integers(1, 9), st.floats(0.1, 1), st.floats(0, 1))),
    )


POOLS = st.lists(candidates(), max_size=25, unique_by=lambda candidate: candidate.digest)


def line(c: Candidate) -> tuple[str, int, str, str]:
    """Where slots may overlap."""
    return c.topic, c.partition, c.application, c.kind


def winners_of(records: Iterable[Candidate]) -> list[Candidate]:
    """The first rule from scratch."""

    def interaction(c: Candidate) -> tuple[str, str]:
        return c.application, c.interaction_id

    winners = []
    for _, group in groupby(sorted(set(records), key=interaction), interaction):
        by_digest = sorted(group, key=lambda c: c.digest, reverse=True)
        by_time = sorted(by_digest, key=lambda c: -c.judged_at)
        winners.append(sorted(by_time, key=lambda c: (not c.has_slot, not c.has_values))[0])
    return winners


def offsets_of(slots: Iterable[Candidate]) -> set[tuple[tuple[str, int, str, str], int]]:
    """What they cover, offset by offset."""
    return {(line(c), n) for c in slots for n in range(c.first_offset, c.last_offset + 1)}


def dropped_of(records: Iterable[Candidate]) -> tuple[int, int]:
    """Slots that the second rule leaves out, and offsets that only they cover."""
    records = list(records)
    slots = {c for c in winners_of(records) if c.has_slot}
    counted = select(records)
    return len(slots - counted), len(offsets_of(slots) - offsets_of(counted))


def select(records: Iterable[Candidate]) -> set[Candidate]:
    """Both rules from scratch, by sorting."""
    counted: set[Candidate] = set()
    slots = sorted((c for c in winners_of(records) if c.has_slot), key=line)
    for _, group in groupby(slots, line):
        free_from = 0
        order = sorted(group, key=lambda c: (c.first_offset, -c.last_offset, c.interaction_id))
        for candidate in order:
            if candidate.first_offset >= free_from:
                counted.add(candidate)
                free_from = candidate.last_offset + 1
    return counted


def follow(counted: set[Candidate], changes: list[SlotChange]) -> None:
    """Apply changes; each must change something, and none may undo another."""
    assert len({candidate for candidate, _ in changes}) == len(changes)
    for candidate, sign in changes:
        assert (candidate in counted) == (sign == -1)
        (counted.add if sign == 1 else counted.remove)(candidate)


@given(st.data(), POOLS)
def test_every_step_equals_a_choice_from_scratch(
    data: st.DataObject, pool: list[Candidate]
) -> None:
    """Records come in any order and twice, the horizon moves: always what both rules say."""
    arrivals: list[Candidate | float] = list(data.draw(st.permutations(pool + pool[::2])))
    for limit in data.draw(st.lists(st.integers(0, 10), max_size=4)):
        arrivals.insert(data.draw(st.integers(0, len(arrivals))), float(limit))
    selection, counted = Selection(), set[Candidate]()
    seen: set[Candidate] = set()
    floor = 0.0
    for arrival in arrivals:
        if isinstance(arrival, float):
            floor = max(floor, arrival)
            follow(counted, selection.remove_before(arrival))
        else:
            seen.add(arrival)
            follow(counted, selection.add(arrival))
        assert counted == select(c for c in seen if c.event_time >= floor)
        found = list(selection.counted())
        assert len(found) == len(counted)
        assert set(found) == counted
        assert len(selection) == sum(c.event_time >= floor for c in seen)
        assert selection.dropped() == dropped_of([c for c in seen if c.event_time >= floor])


def sums_of(candidate: Candidate) -> Sums:
    """The terms of a candidate of these tests."""
    assert isinstance(candidate.payload, tuple)
    m, q, x = candidate.payload
    return terms(m, q, 1.0, 0.0, 0.0, x, not candidate.has_values)


@given(st.data(), POOLS)
def test_order_duplicates_and_restarts_leave_the_same_bits(
    data: st.DataObject, pool: list[Candidate]
) -> None:
    """Rolling sums fed by changes equal the sums of the records that count, bit for bit."""
    limit = float(data.draw(st.integers(0, 9)))
    at = data.draw(st.integers(0, len(pool)))
    selection, rolling = Selection(), RollingSums(1, {"3s": 3})
    rolling.advance(9.0)
    changes = []
    for i, candidate in enumerate([*data.draw(st.permutations(pool)), *pool]):
        if i == at:
            changes += selection.remove_before(limit)
        changes += selection.add(candidate)
    for candidate, sign in changes:
        rolling.add(candidate.event_time, sums_of(candidate), sign)
    chosen = select(c for c in pool if c.event_time >= (limit if pool else 0.0))
    everything, last_three = ZERO, ZERO
    for candidate in chosen:
        everything = everything.plus(sums_of(candidate))
        if candidate.event_time >= 7.0:
            last_three = last_three.plus(sums_of(candidate))
    assert rolling.horizon() == everything
    assert rolling.window("3s") == last_three


def record(id: str, first: int = 0, last: int = 0, **changed: Any) -> Candidate:
    """A record with a slot and values; ``changed`` replaces fields."""
    plain = Candidate(
        "bot", id, 10.0, 20.0, id.encode(), True, True, "t", 0, "with_reference", first, last, None
    )
    return Candidate(**(plain._asdict() | changed))


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        pytest.param(
            {"has_values": False, "judged_at": 1.0}, {"has_slot": False}, id="a slot before all"
        ),
        pytest.param({"judged_at": 1.0}, {"has_values": False}, id="values before the time"),
        pytest.param(
            {"judged_at": 21.0, "digest": b"a"}, {"digest": b"z"}, id="the time before the digest"
        ),
        pytest.param({"digest": b"b"}, {"digest": b"a"}, id="the larger digest"),
    ],
)
def test_one_record_per_interaction(better: dict[str, Any], worse: dict[str, Any]) -> None:
    """The better record counts, whichever comes first, and the worse takes over when it goes."""
    good = record("i", **({"digest": b"g"} | better | {"event_time": 9.0}))
    bad = record("i", **({"digest": b"h"} | worse))
    one, other = Selection(), Selection()
    assert one.add(good) == [SlotChange(good, +1)]
    assert one.add(bad) == []
    other.add(bad)
    other.add(good)
    assert list(one.counted()) == list(other.counted()) == [good]
    takes_over = [SlotChange(bad, +1)] if bad.has_slot else []
    assert one.remove_before(9.5) == [SlotChange(good, -1), *takes_over]


def test_a_forced_record_never_counts() -> None:
    """Without a slot there is nothing to count, and nothing that it could keep out."""
    selection = Selection()
    assert selection.add(record("forced", 0, 9, has_slot=False)) == []
    pick = record("pick")
    assert selection.add(pick) == [SlotChange(pick, +1)]


def test_overlapping_slots_by_first_offset_longest_first() -> None:
    """0–7 keeps 0–3 and 4–11 out, and with 4–11 out 8–15 counts."""
    slots = [record("a", 0, 7), record("b", 0, 3), record("c", 4, 11), record("d", 8, 15)]
    selection = Selection()
    for slot in reversed(slots):
        selection.add(slot)
    assert [c.interaction_id for c in selection.counted()] == ["a", "d"]


@pytest.mark.parametrize(
    "elsewhere",
    [{"topic": "u"}, {"partition": 1}, {"application": "other"}, {"kind": "without_reference"}],
)
def test_only_slots_of_one_line_overlap(elsewhere: dict[str, Any]) -> None:
    """Another topic, partition, application or kind has offsets of its own."""
    selection = Selection()
    selection.add(record("a", 0, 7))
    other = record("b", 0, 7, **elsewhere)
    assert selection.add(other) == [SlotChange(other, +1)]


def test_a_later_judgement_of_a_slot_changes_nothing_behind_it() -> None:
    """Replacing a record by one of the same slot reports those two, not what follows."""
    selection = Selection()
    first, again = record("a", 0, 5), record("a", 0, 5, judged_at=30.0, digest=b"again")
    for slot in (first, record("b", 4, 9), record("c", 8, 12)):
        selection.add(slot)
    assert selection.add(again) == [SlotChange(first, -1), SlotChange(again, +1)]


def test_a_record_before_the_horizon_stays_out() -> None:
    """What remove_before would have removed is not taken in afterwards, whatever comes later."""
    selection = Selection()
    selection.remove_before(11.0)
    selection.remove_before(5.0)
    assert selection.add(record("a")) == []
    assert selection.add(record("b", event_time=11.0)) != []


def test_slots_removed_at_once_make_room_between_and_behind() -> None:
    """Two slots leave together; one between them stays, and one behind the second comes in."""
    selection = Selection()
    gone = {"event_time": 5.0}
    for slot in (
        record("a", 0, 3, **gone),
        record("b", 4, 7),
        record("c", 8, 15, **gone),
        record("d", 12, 19),
    ):
        selection.add(slot)
    changes = selection.remove_before(6.0)
    assert {(c.interaction_id, sign) for c, sign in changes} == {("a", -1), ("c", -1), ("d", 1)}


class WatchedOffset(int):
    """An offset that counts how often the walk looks at it."""

    looked_at = 0

    def __gt__(self, other: int) -> bool:
        WatchedOffset.looked_at += 1
        return int(self) > int(other)


def test_long_lines_are_walked_only_as_far_as_anything_changes() -> None:
    """A slot put before a thousand others, or taken out again, makes three be looked at."""
    selection = Selection()
    for i in range(1_000):
        selection.add(record(f"{i:04}", WatchedOffset(8 * i + 8), 8 * i + 15, event_time=20.0))
    assert WatchedOffset.looked_at == 1_000
    changes = selection.add(record("early", WatchedOffset(0), 8))
    assert [(c.interaction_id, sign) for c, sign in changes] == [("early", 1), ("0000", -1)]
    assert WatchedOffset.looked_at == 1_003
    changes = selection.remove_before(15.0)
    assert [(c.interaction_id, sign) for c, sign in changes] == [("early", -1), ("0000", 1)]
    assert WatchedOffset.looked_at <= 1_005


def test_records_of_several_hours_leave_at_once() -> None:
    """Forty records, 500 s apart: those before the limit go, whatever lies between, once."""
    selection = Selection()
    slots = [record(f"{i:02}", 8 * i, 8 * i + 7, event_time=500.0 * i) for i in range(40)]
    for slot in slots:
        selection.add(slot)
    assert selection.remove_before(10_250.0) == [SlotChange(slot, -1) for slot in slots[:21]]
    assert selection.remove_before(10_250.0) == []
    assert (len(selection), list(selection.counted())) == (19, slots[21:])
    assert selection.add(slots[20]) == []


def test_offsets_that_only_dropped_slots_cover_may_lie_on_both_sides_of_one_that_counts() -> None:
    """0 to 5 and 8 count; 4 to 9 and 5 to 7 do not: 6, 7 and 9 are covered by nothing else."""
    selection = Selection()
    for name, first, last in (("a", 0, 5), ("b", 4, 9), ("c", 8, 8), ("d", 5, 7)):
        selection.add(record(name, first, last))
    assert {one.interaction_id for one in selection.counted()} == {"a", "c"}
    assert selection.dropped() == (2, 3)
