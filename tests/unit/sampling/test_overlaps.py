"""Readers that die, with blocks of different lengths: what counts afterwards covers everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import pytest

from monitor.sampling.blocks import BlockCutter, BlockPlan, BlockSpan
from monitor.sampling.picks import luck

OFFSETS = 2_048
LENGTHS = (1, 4, 16, 32, 64, 256)


class Judged(NamedTuple):
    """A record of a slot: its offsets, both included, and the offset of the pick."""

    first: int
    last: int
    pick: int


def read_by_turns(rng: Random, lengths: Sequence[int]) -> list[Judged]:
    """Readers of one partition, each from where the last one has committed, in the order of time.

    Each has judged some blocks beyond that, in any order, when it is killed.
    """
    committed, judged = 0, list[Judged]()
    while committed < OFFSETS:
        until = min(OFFSETS, committed + rng.randint(1, 400))
        cutting = BlockCutter()
        spans = cutting.read(committed, until - 1, BlockPlan(rng.choice(lengths)))
        full = sorted(place for span in spans for place in _slots(span) if place[1] < until)
        done = [place for place in full if rng.random() < 0.8]
        rng.shuffle(done)
        judged += [Judged(first, last, _pick(first, last)) for first, last in done]
        for place in full:
            if place not in done or rng.random() < 0.02:  # or killed before it was committed
                break
            committed = place[1] + 1
    return judged


def _slots(span: BlockSpan) -> list[tuple[int, int]]:
    if span.length > 1:
        return [(span.first, span.last)]
    return [(n, n) for n in range(span.first, span.last + 1)]


def _pick(first: int, last: int) -> int:
    return min(range(first, last + 1), key=lambda n: luck(f"i{n}"))


def counted(judged: Sequence[Judged]) -> list[Judged]:
    """One record of each pick, the latest; then one slot of each offset."""
    latest = {one.pick: one for one in judged}
    chosen, reached = list[Judged](), -1
    for one in sorted(latest.values(), key=lambda one: (one.first, -one.last)):
        if one.first > reached:
            reached = one.last
            chosen.append(one)
    return chosen


@pytest.mark.parametrize("seed", range(20))
def test_whoever_reads_and_dies_every_offset_is_in_one_counted_slot(seed: int) -> None:
    """Six lengths, and dozens of deaths in the midst of judging: none is in two, or in none."""
    rng = Random(seed)
    judged = read_by_turns(rng, LENGTHS)
    covered = Counter(n for one in counted(judged) for n in range(one.first, one.last + 1))
    assert len(judged) > len(counted(judged)), "nothing was judged twice: it shows nothing"
    assert [n for n in range(OFFSETS) if covered[n] != 1] == []
