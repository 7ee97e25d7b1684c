"""What counts where a share of the traffic changed between a crash and the second reading."""

from __future__ import annotations

import math

import pytest

from monitor.export.slots import Slot, candidate_of
from monitor.ingest.sampling import screened
from monitor.records import ScoreRecord
from monitor.stats.selection import Selection
from tests.unit.export.made import record, slot

OFFSETS = 2_000


def judged(share: float, seconds: float, every: int = 1) -> list[ScoreRecord]:
    """What a reader at this share makes of it, or has made of every so manieth when it dies."""
    return [
        record(str(offset), 1.0, sampling=slot(offset, q=share)).model_copy(
            update={"judged_at": record("0", seconds + offset / OFFSETS).judged_at}
        )
        for offset in range(0, OFFSETS, every)
        if screened(str(offset).encode(), share)
    ]


def weight(records: list[ScoreRecord]) -> float:
    """What the counted ones stand for."""
    selection = Selection()
    for each in records:
        selection.add(candidate_of(each, each.to_json()))
    slots = [candidate.payload for candidate in selection.counted()]
    return math.fsum(each.m / each.q for each in slots if isinstance(each, Slot))


@pytest.mark.parametrize(("before", "after"), [(1.0, 0.3), (0.3, 1.0), (0.6, 0.3), (0.3, 0.3)])
@pytest.mark.parametrize("every", [1, 2, 7])
def test_a_share_that_changes_after_a_crash_counts_nothing_twice(
    before: float, after: float, every: int
) -> None:
    """All of it stands for all the traffic, but for what chance the hash has.

    Not for 1.7 times as much: what was judged of all, and is now not taken, stood beside those who
    now stood for it, too.
    """
    found = weight(judged(before, 10.0, every) + judged(after, 20.0))
    least = min(before, after)
    error = math.sqrt(OFFSETS * (1 - least) / least)
    assert abs(found - OFFSETS) <= 3 * error
    if 1.0 in {before, after} and every == 1:
        assert found == OFFSETS
