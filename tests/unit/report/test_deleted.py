"""From when on a topic is complete: what retention may have taken of a span is said."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor.kafka.record import KeptPartition
from monitor.report.deleted import deleted_of, in_sentences
from tests.stages.records import NOON

NOON_MS = round(NOON.timestamp() * 1000)


@pytest.mark.parametrize(
    ("begin", "first_ms", "is_said"),
    [
        (0, NOON_MS + 1, False),  # the topic is younger than the span
        (0, None, False),
        (5, NOON_MS - 1, False),  # what was deleted is older than the span
        (5, NOON_MS, True),
        (5, NOON_MS + 1, True),
        (5, None, True),
    ],
)
def test_only_what_may_have_lost_some_of_the_span_is_named(
    begin: int, first_ms: int | None, *, is_said: bool
) -> None:
    """The beginning is gone, and nothing of before the span is left."""
    found = deleted_of([KeptPartition("t", 3, begin, 9, first_ms)], NOON)
    at = None if first_ms is None else NOON + timedelta(milliseconds=first_ms - NOON_MS)
    assert [(one.partition, one.first_offset, one.complete_from) for one in found] == (
        [(3, begin, at)] if is_said else []
    )


def test_a_topic_is_complete_once_each_partition_is() -> None:
    """The latest of them counts; what has no time is named beside it."""
    hour_ms = 3_600_000
    kept = [
        KeptPartition("a", 0, 5, 9, NOON_MS + hour_ms),
        KeptPartition("a", 1, 5, 9, NOON_MS),
        KeptPartition("b", 0, 9, 9, None),
        KeptPartition("b", 1, 9, 9, None),
    ]
    assert in_sentences(deleted_of(kept, NOON)) == [
        f"a is complete only from {NOON + timedelta(hours=1):%Y-%m-%d %H:%M:%S} UTC on: older "
        "records were deleted.",
        "b is not complete: older records were deleted. From when on the partitions 0, 1 are "
        "complete is not known: they have no record with a time any more.",
    ]


def test_a_time_beyond_the_calendar_is_no_time() -> None:
    """Who writes a record gives it any time."""
    (found,) = deleted_of([KeptPartition("t", 0, 1, 2, 2**62)], NOON)
    assert found.complete_from is None
