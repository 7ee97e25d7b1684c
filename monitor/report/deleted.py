"""From when on a topic is complete, where retention may have taken some of the span. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from monitor.kafka.record import KeptPartition
from monitor.report.frame import DeletedPartition


def deleted_of(kept: Iterable[KeptPartition], since: datetime) -> list[DeletedPartition]:
    """The partitions that have lost their beginning, and perhaps what lay in the span.

    One that still has a record of before ``since`` has all of the span: the oldest go first.
    """
    since_ms = round(since.timestamp() * 1000)
    return [
        DeletedPartition(
            topic=one.topic,
            partition=one.partition,
            first_offset=one.begin,
            complete_from=_moment(one.first_ms),
        )
        for one in kept
        if one.begin > 0 and (one.first_ms is None or one.first_ms >= since_ms)
    ]


def in_sentences(deleted: Sequence[DeletedPartition]) -> list[str]:
    """What to say of each topic.

    >>> at = datetime(2026, 11, 23, 10, tzinfo=UTC)
    >>> lost = [DeletedPartition(topic="t", partition=n, first_offset=7, complete_from=found)
    ...         for n, found in enumerate((at, None))]
    >>> in_sentences(lost[:1])
    ['t is complete only from 2026-11-23 10:00:00 UTC on: older records were deleted.']
    >>> in_sentences(lost)[0].partition("deleted. ")[2]
    'From when on partition 1 is complete is not known: it has no record with a time any more.'
    """
    return [
        _sentence(topic, [one for one in deleted if one.topic == topic])
        for topic in dict.fromkeys(one.topic for one in deleted)
    ]


def _sentence(topic: str, deleted: Sequence[DeletedPartition]) -> str:
    times = [one.complete_from for one in deleted if one.complete_from is not None]
    without = [str(one.partition) for one in deleted if one.complete_from is None]
    said = f"{topic} is not complete: older records were deleted."
    if times:
        since = f"{max(times).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        said = f"{topic} is complete only from {since} on: older records were deleted."
    if len(without) == 1:
        said += (
            f" From when on partition {without[0]} is complete is not known: it has no record "
            "with a time any more."
        )
    elif without:
        said += (
            f" From when on the partitions {', '.join(without)} are complete is not known: they "
            "have no record with a time any more."
        )
    return said


def _moment(epoch_ms: int | None) -> datetime | None:
    """A time; None for one beyond the calendar, which any writer may give."""
    if epoch_ms is None:
        return None
    try:
        return datetime.fromtimestamp(epoch_ms / 1000, UTC)
    except (OverflowError, ValueError):
        return None
