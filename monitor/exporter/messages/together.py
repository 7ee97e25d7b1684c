"""Which alarms opened together: one cause for many applications is one incident.

An alarm that opens within a quarter of an hour of the latest one belongs to its incident, also when
some of them have closed: what is left of an incident is no other one. Neither is an alarm that
opens again soon after it has closed, while others of its incident are open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from monitor.records.alarm import AlarmRecord

WITHIN: Final = timedelta(minutes=15)
#: A dip of the evidence may last for half an hour; what opens again later is news.
AGAIN: Final = timedelta(hours=1)


class Together(NamedTuple):
    """How many ``applications`` an incident has had, and the first opening of it."""

    applications: int
    since: datetime


def together(records: Iterable[AlarmRecord]) -> dict[str, Together]:
    """By key of an alarm, open or closed, its incident."""
    found: dict[str, Together] = {}
    for since, incident in _incidents(records).items():
        applications = len({one.application for one in incident})
        found |= {one.key: Together(applications, since) for one in incident}
    return found


def incident_since(record: AlarmRecord, latest: Mapping[str, AlarmRecord]) -> datetime:
    """The first opening of the incident that an alarm joins as it opens.

    It stands on the record: who was first may close and open again, and then nobody would know.
    """
    before = latest.get(record.key)
    others = [one for one in latest.values() if one.key != record.key]
    if before is not None and _is_again(record, before):
        for since, incident in _incidents([*others, before]).items():
            goes_on = any(one.state == "open" for one in incident)
            if before in incident and goes_on:
                return since
    return together([*others, record])[record.key].since


def _is_again(record: AlarmRecord, before: AlarmRecord) -> bool:
    return before.closed_at is not None and record.opened_at - before.closed_at <= AGAIN


def _incidents(records: Iterable[AlarmRecord]) -> dict[datetime, list[AlarmRecord]]:
    """By their first openings."""
    found: dict[datetime, list[AlarmRecord]] = {}
    latest: dict[datetime, datetime] = {}
    for record in sorted(records, key=lambda one: (one.opened_at, one.key)):
        opened = record.opened_at
        latest = {since: at for since, at in latest.items() if opened - at <= WITHIN}
        since = _since(record, latest)
        if since in latest or since not in found:  # one that opens again does not prolong it
            latest[since] = opened
        found.setdefault(since, []).append(record)
    return found


def _since(record: AlarmRecord, latest: Iterable[datetime]) -> datetime:
    """As the record says; who thought to be the first may not have known of another."""
    known, opened = record.incident_since, record.opened_at
    return known if known is not None and known < opened else min(latest, default=opened)
