"""The alarms as they stand on their topic, for a command: read once, without a group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from monitor.errors import RecordSkipped
from monitor.exporter.incidents.explained import claim_said, moment
from monitor.exporter.incidents.headline import headline
from monitor.kafka import one_shot
from monitor.kafka.connection import Connection
from monitor.kafka.replay import TopicScan
from monitor.records.alarm import AlarmRecord, named_segment, read_alarm_record
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
    unreadable = 0
    async with one_shot.in_time(connection, health, limit_s, "reading"):
        scan = await TopicScan.start(connection, health)
        try:
            async for record in scan.records(topic):
                try:
                    latest[record.key] = read_alarm_record(record.key, record.value)
                except RecordSkipped:
                    unreadable += 1
        finally:
            await scan.stop()
    return Alarms(_ordered([one for one in latest.values() if one is not None]), unreadable)


def _ordered(records: list[AlarmRecord]) -> tuple[AlarmRecord, ...]:
    newest = sorted(records, key=lambda one: one.closed_at or one.opened_at, reverse=True)
    return tuple(sorted(newest, key=lambda one: one.state != "open"))


def lines(record: AlarmRecord, *, with_claims: bool) -> Iterator[str]:
    """One alarm for people: its first line, its sentence, times in UTC, its worst interactions.

    ``with_claims`` also what they claim, which is text of the application's traffic.
    """
    yield f"{record.state:6}  {headline(record)}"
    yield f"        {record.answer}"
    closed = f", closed {moment(record.closed_at)}" if record.closed_at else ""
    yield f"        since {moment(record.since)}, opened {moment(record.opened_at)}{closed}"
    yield f"        judge {record.judge}"
    yield from _segments(record)
    for one in record.worst:
        segment = f", {named_segment(record.segment_by, one.segment)}" if record.segment_by else ""
        yield (
            f"        {record.metric} {one.value:.2f}  {one.interaction_id}{segment}, "
            f"{moment(one.event_time)}"
        )
        if with_claims:
            yield from (f"            {claim_said(claim)}" for claim in one.claims)


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
