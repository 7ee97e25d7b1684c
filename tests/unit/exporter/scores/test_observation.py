"""What is kept of a score record, and who is counted: small facts that gauges rely on."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.exporter.scores.label_counts import LabelCounts
from monitor.exporter.scores.observation import (
    NOWHERE,
    Observation,
    place_of,
    position,
)
from monitor.records import Outcome, UnscoredMark
from monitor.stats.candidates import Candidate
from tests.stages.candidates import candidate_of
from tests.stages.records import forced
from tests.stages.score_records import FIRST, PERIOD, SECOND, START, record, slot


def candidate(**fields: Any) -> Candidate:
    """Of one record."""
    return candidate_of(record("1", 5.0, **fields), b"line")


def kept(**fields: Any) -> Observation:
    """The slot of one record."""
    found = candidate(**fields).payload
    assert isinstance(found, Observation)
    return found


def test_marks_of_a_failed_pick_are_no_values() -> None:
    """So a later judgement of the same interaction stands for it."""
    marks = {"faithfulness": UnscoredMark(unscored="NO_CLAIMS")}
    failed = candidate(outcome=Outcome.JUDGE_FAILED, scores=marks)
    assert (failed.has_slot, failed.has_values) == (True, False)
    assert candidate(outcome=Outcome.UNSCORABLE, scores=marks).has_values
    assert candidate().has_values


def test_what_was_not_judged_for_its_money_or_not_picked_counts_nowhere() -> None:
    """A forced interaction has no slot; one over the budget has one that is empty."""
    over, beside = (
        candidate(outcome=Outcome.OVER_BUDGET, scores={}),
        candidate(sampling=forced("with_reference")),
    )
    assert (over.has_slot, over.payload) == (True, None)
    assert (beside.has_slot, beside.payload) == (False, None)


@pytest.mark.parametrize(
    ("members", "told"),
    [({}, {}), ({"acme": 4}, {}), ({"bolt": 4}, {"bolt": 4}), *[({"acme": 1, "bolt": 3},) * 2]],
)
def test_members_are_kept_where_the_pick_does_not_say_them(
    members: dict[str, int], told: dict[str, int]
) -> None:
    """All of one segment, that of the pick, need not be counted one by one."""
    found = kept(segment="acme", sampling=slot(1, segments=members))
    assert found.segments == told


def test_a_slot_is_plain_when_no_screen_had_a_say() -> None:
    """Neither by the likelihood of the pick, nor by what was expected of it."""
    assert kept().is_plain
    assert not kept(sampling=slot(1, u=0.5)).is_plain
    assert not kept(sampling=slot(1, expected={"faithfulness": (0.1, 0.1)})).is_plain


def test_a_place_is_one_number_up_to_a_million_partitions() -> None:
    """Beyond that nobody knows where the record stands, rather than somewhere else."""
    last = (1 << 20) - 1
    assert place_of(position(last, 123)) == (last, 123)
    assert position(last + 1, 123) == NOWHERE


def counted(label_counts: LabelCounts, seconds: float, *segments: str) -> None:
    """A slot of each of these segments."""
    for segment in segments:
        label_counts.count(START + seconds, kept(segment=segment), +1)


def test_judges_are_told_by_the_labels_that_are_asked_for() -> None:
    """Those that are summed up as the rest are not told."""
    label_counts = LabelCounts(PERIOD)
    for judge in (SECOND, FIRST, SECOND):
        label_counts.count(START + 1.0, kept(judge=judge), +1)
    assert [judge.label for judge in label_counts.judges({FIRST.label, SECOND.label})] == [
        FIRST.label,
        SECOND.label,
    ]
    assert label_counts.judges({FIRST.label, "other"}) == [FIRST]


def test_segments_are_those_of_the_period_before() -> None:
    """And of the current one while there is nothing before; a new slot counts at once."""
    label_counts = LabelCounts(PERIOD)
    counted(label_counts, 1.0, "acme")
    assert label_counts.segments(START + 2.0, 5) == ["acme"]
    counted(label_counts, 3.0, *["bolt"] * 2)
    assert label_counts.segments(START + 4.0, 5) == ["bolt", "acme"]
    counted(label_counts, PERIOD + 1.0, "cobra")
    assert label_counts.segments(START + PERIOD + 2.0, 5) == ["bolt", "acme"]
    assert label_counts.next_segments(START + PERIOD + 2.0, 5) == ["cobra"]


def test_periods_are_forgotten_as_a_whole() -> None:
    """One that goes on is not, and no time before the floor is asked for again."""
    label_counts = LabelCounts(PERIOD)
    counted(label_counts, 1.0, "bolt")
    counted(label_counts, PERIOD + 1.0, "acme")
    label_counts.drop_before(START + PERIOD - 1.0)
    assert label_counts.segments(START + PERIOD + 2.0, 5) == ["bolt"]
    label_counts.drop_before(START + PERIOD)
    assert label_counts.segments(START + PERIOD + 2.0, 5) == ["acme"]
    assert label_counts.floor == START + PERIOD
