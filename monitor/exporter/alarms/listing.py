"""The alarms as they stand on their topic, for a command: read once, without a group."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from monitor.control.scanned import readable_alarms, scan_alarms
from monitor.exporter.messages.explained import claim_in_words, moment
from monitor.exporter.messages.headline import headline
from monitor.kafka import one_shot
from monitor.kafka.connection import Connection
from monitor.kafka.replay import TopicScan
from monitor.records.alarm import AlarmRecord, named_segment
from monitor.records.durations import in_words
from monitor.runtime.health import Health


class Alarms(NamedTuple):
    """The latest record of each alarm, open ones first; ``unreadable`` counts what was left out."""

    records: tuple[AlarmRecord, ...]
    unreadable: int


async def read_alarms(connection: Connection, topic: str, health: Health, limit_s: float) -> Alarms:
    """All that is known of alarms.

    Raises ``DependencyRefused`` when the topic is missing, may not be read, or not in time.
    """
    latest: dict[bytes | None, AlarmRecord | None] = {}
    async with one_shot.in_time(connection, health, limit_s, "reading"):
        scan = await TopicScan.start(connection, health)
        try:
            left_out = await scan_alarms(scan, topic, readable_alarms(latest.__setitem__))
        finally:
            await scan.stop()
    return Alarms(_ordered([one for one in latest.values() if one is not None]), left_out.records)


def _ordered(records: list[AlarmRecord]) -> tuple[AlarmRecord, ...]:
    newest = sorted(records, key=lambda one: one.closed_at or one.opened_at, reverse=True)
    return tuple(sorted(newest, key=lambda one: one.state != "open"))


def lines(record: AlarmRecord, now: datetime, *, with_claims: bool) -> Iterator[str]:
    """One alarm for people: its first line, its sentence, times in UTC, its worst interactions.

    ``with_claims`` also what they claim, which is text of the application's traffic. Times have
    their distance from ``now``.
    """
    yield f"{record.state:6}  {headline(record)}"
    yield f"        {record.answer}"
    closed = f", closed {_ago(record.closed_at, now)}" if record.closed_at else ""
    yield f"        since {_ago(record.since, now)}, opened {_ago(record.opened_at, now)}{closed}"
    yield f"        judge {record.judge}"
    yield from _segments(record)
    for one in record.worst:
        segment = f", {named_segment(record.segment_by, one.segment)}" if record.segment_by else ""
        yield (
            f"        {record.metric} {one.value:.2f}  {one.interaction_id}{segment}, "
            f"{moment(one.event_time)}"
        )
        if with_claims:
            yield from (f"            {claim_in_words(claim)}" for claim in one.claims)


def wrapped(line: str, width: int) -> Iterator[str]:
    """A line on a terminal of so many columns: whole words, and what follows is indented as well.

    >>> for part in wrapped("open    hr: claims that the passages support 93 % → 71 %", 40):
    ...     print(part)
    open    hr: claims that the passages
            support 93 % → 71 %
    >>> list(wrapped("        " + "long" * 9, 20)), list(wrapped("", 20))
    (['        longlonglonglonglonglonglonglonglong'], [''])
    """
    text = line.lstrip()
    lead = line.removesuffix(text)
    whole = textwrap.TextWrapper(width, lead, max(lead, " " * 8, key=len))
    whole.break_long_words = whole.break_on_hyphens = False
    yield from whole.wrap(text) or [line]


def _ago(at: datetime, now: datetime) -> str:
    seconds = (now - at).total_seconds()
    return f"{moment(at)} ({in_words(seconds)} ago)" if seconds >= 1 else moment(at)


def _segments(record: AlarmRecord) -> Iterator[str]:
    """How far each moved, with its share of the traffic: whoever is largest is not to blame."""
    for one in record.segments if record.segment_by else ():
        name = named_segment(record.segment_by or "", one.segment)
        share = f"{100 * one.share:.0f} % of the traffic"
        if one.value is None or one.lower is None or one.upper is None:
            yield f"        {name}: not scored since, {share}"
            continue
        moved = f"{100 * one.before:.0f} % → {100 * one.value:.0f} %"
        yield f"        {name}: {moved} ({100 * one.lower:.0f}–{100 * one.upper:.0f} %), {share}"
