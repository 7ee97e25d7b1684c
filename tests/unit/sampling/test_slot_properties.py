"""Blocks, weights and picks: properties that hold whatever the traffic is like."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.sampling.blocks import (
    LONGEST_WAIT_S,
    SHORTEST_WAIT_S,
    BlockCutter,
    BlockPlan,
    BlockSpan,
    FillRate,
)
from monitor.sampling.floors import Floors
from monitor.sampling.hashing import is_sampled
from monitor.sampling.picks import Signalled, luck, pick, weights

LONGER = st.sampled_from([2, 4, 8, 32])
LENGTHS = st.sampled_from([1, 2, 4, 8, 32])
SPREADS = st.lists(st.floats(0, 100), min_size=1, max_size=40)


def cut(start: int, steps: list[tuple[int, int]], closes: list[int]) -> list[BlockSpan]:
    """The blocks met by a reader; ``steps`` are (offsets in a batch, length of new blocks)."""
    cutting, met, first = BlockCutter(), dict[int, BlockSpan](), start
    for count, length in steps:
        cutting.read(first, first + count - 1, BlockPlan(length))
        for offset in range(first, first + count):
            span = cutting.close(offset) if offset in closes else cutting.at(offset)
            met[span.first] = span
        first += count
    return sorted(met.values())


@given(
    st.integers(0, 200),
    st.lists(st.tuples(st.integers(1, 40), LENGTHS), min_size=1, max_size=8),
    st.lists(st.integers(0, 400), max_size=5),
)
@settings(max_examples=60, deadline=None)
def test_every_offset_lies_in_exactly_one_block(
    start: int, steps: list[tuple[int, int]], closes: list[int]
) -> None:
    """Blocks follow one another without a gap, whatever lengths and early closes there are."""
    spans = cut(start, steps, closes)
    read = sum(count for count, _ in steps)
    assert spans[0].first == start
    assert spans[-1].last >= start + read - 1
    assert all(before.last + 1 == after.first for before, after in pairwise(spans))
    for span in spans:
        assert span.length == 1 or span.first // span.length == span.last // span.length


@given(st.integers(0, 100), st.integers(1, 5), LONGER, st.lists(st.integers(1, 9), min_size=1))
@settings(max_examples=60, deadline=None)
def test_who_reads_again_from_a_block_meets_the_same_blocks(
    start: int, skipped: int, length: int, batches: list[int]
) -> None:
    """However the offsets come in batches, and from whichever block on they are read again."""
    total = sum(batches) + 2 * length
    whole = cut(start, [(total, length)], [])
    assert cut(start, [(n, length) for n in (*batches, 2 * length)], []) == whole
    first = whole[min(skipped, len(whole) - 1)].first
    again = cut(first, [(start + total - first, length)], [])
    assert again == [span for span in whole if span.first >= first]


@given(LENGTHS, LENGTHS, st.integers(0, 64))
def test_another_length_holds_from_where_both_divide(before: int, after: int, start: int) -> None:
    """Until then a shorter one waits, and a longer one is grown into: nobody cuts across others."""
    cutting = BlockCutter()
    (first,) = cutting.read(start, start, BlockPlan(before))[-1:]
    spans = cutting.read(start + 1, start + 200, BlockPlan(after))
    lengths = [span.length for span in spans]
    assert lengths == sorted(lengths, reverse=after < before)
    for one, other in pairwise([first, *(span for span in spans if span.first > first.last)]):
        if one.length != other.length:
            assert other.first % max(one.length, other.length) == 0
    longer = max(before, after)
    due = -(-(first.last + 1) // longer) * longer
    assert all(span.length == after for span in spans if span.first >= due)


def test_on_the_way_to_a_longer_length_blocks_double() -> None:
    """Wherever they begin at a multiple of it."""
    cutting = BlockCutter()
    cutting.read(0, 71, BlockPlan(8))
    found = [span[:2] for span in cutting.read(72, 600, BlockPlan(512))]
    assert found == [(72, 79), (80, 95), (96, 127), (128, 255), (256, 511), (512, 1023)]


def test_a_gap_in_the_log_costs_no_time() -> None:
    """A billion offsets that are not there are not cut."""
    cutting = BlockCutter()
    cutting.read(3, 10, BlockPlan(8))
    assert cutting.read(10**9 + 1, 10**9 + 2, BlockPlan(8)) == [BlockSpan(10**9, 10**9 + 7, 1.0, 8)]


def test_the_rest_of_a_block_is_like_the_block() -> None:
    """Its share, by which its members were taken, and its length were fixed when it was read."""
    cutting = BlockCutter()
    cutting.read(0, 40, BlockPlan(32, 0.5))
    cutting.read(41, 70, BlockPlan(32, 0.25))
    assert cutting.close(5) == BlockSpan(0, 5, 0.5, 32)
    assert cutting.at(6) == BlockSpan(6, 31, 0.5, 32)
    assert cutting.at(64) == BlockSpan(64, 95, 0.25, 32)


@given(SPREADS)
def test_weights_average_to_one_and_are_bounded(spreads: list[float]) -> None:
    """So that u = 1/w is at most 5, and the members of a slot stand for all of it."""
    w = weights(spreads)
    assert math.isclose(math.fsum(w) / len(w), 1.0, rel_tol=1e-9)
    assert min(w) >= 0.2


@given(SPREADS, st.lists(st.floats(0, 1), min_size=40, max_size=40))
def test_what_is_expected_is_bounded_by_the_weight(
    spreads: list[float], expected: list[float]
) -> None:
    """u·f is at most a quarter, so that no deviation falls below what the bets allow for."""
    members = [
        Signalled(f"i{n}", "s", spread, {"m": expected[n]}) for n, spread in enumerate(spreads)
    ]
    found = pick(members)
    f_mean, f = found.expected["m"]
    assert found.u * f <= 0.25 + 1e-12
    assert 0 <= f_mean <= 1
    assert 0 < found.u <= 5 + 1e-9
    assert found.segments == {"s": len(spreads)}


@given(st.permutations(range(12)))
def test_the_pick_is_a_matter_of_ids_alone(order: list[int]) -> None:
    """Not of the order in which members come."""
    members = [Signalled(f"i{n}", "s", 1.0 + n) for n in order]
    ids = {members[pick(members).number].interaction_id}
    straight = [Signalled(f"i{n}", "s", 1.0 + n) for n in range(12)]
    assert ids == {straight[pick(straight).number].interaction_id}


def test_members_are_picked_in_proportion_to_their_weights() -> None:
    """20,000 slots of three: within four standard errors, and u·x has the slot's mean."""
    runs, counts, totals = 20_000, [0, 0, 0], 0.0
    values = (0.1, 0.5, 0.9)
    for run in range(runs):
        members = [Signalled(f"{run}/{n}", "s", spread) for n, spread in enumerate((0.0, 1, 3))]
        found = pick(members)
        counts[found.number] += 1
        totals += found.u * values[found.number]
    for count, weight in zip(counts, weights([0.0, 1.0, 3.0]), strict=True):
        share = weight / 3
        assert abs(count / runs - share) < 4 * math.sqrt(share * (1 - share) / runs)
    assert abs(totals / runs - 0.5) < 0.02


def test_luck_is_even_and_another_than_the_hash_of_the_rate() -> None:
    """Its mean is a half, and it says nothing of who was taken."""
    ids = [f"i{n}" for n in range(4_000)]
    taken = [luck(name) for name in ids if is_sampled(name.encode(), 0.3)]
    assert abs(sum(map(luck, ids)) / len(ids) - 0.5) < 0.03
    assert abs(sum(taken) / len(taken) - 0.5) < 0.04


def test_a_segment_behind_its_floor_is_picked_more_often() -> None:
    """A twentieth of the traffic with a floor of a fifth gets near a fifth of the picks."""
    floors, picked = Floors({"rare": 0.2}), 0
    for run in range(2_000):
        segments = ["rare", *["usual"] * 19]
        members = [
            Signalled(f"{run}/{n}", segment, floors.factor(segment))
            for n, segment in enumerate(segments)
        ]
        segment = segments[pick(members).number]
        floors.picked(segment)
        picked += segment == "rare"
    assert 0.17 < picked / 2_000 < 0.25


@pytest.mark.parametrize(
    ("seconds", "expected"), [(1.0, SHORTEST_WAIT_S), (100.0, 200.0), (1e6, LONGEST_WAIT_S)]
)
def test_blocks_wait_twice_as_long_as_they_take(seconds: float, expected: float) -> None:
    """At least a minute, and never longer than ten."""
    filling = FillRate()
    filling.closed(32, seconds)
    assert filling.wait_s(32) == expected


def test_blocks_are_remembered_less_and_less() -> None:
    """Half of what is expected is the latest block, a quarter the one before it."""
    filling = FillRate()
    for seconds in (40.0, 80.0, 200.0):
        filling.closed(32, seconds)
    assert filling.wait_s(32) == 2 * (40 / 4 + 80 / 4 + 200 / 2)
