"""Which alarms opened together: one cause for many applications is one incident.

Alarms that opened within a quarter of an hour of the first of them belong together, also when some
of them have closed: what is left of an incident is no other one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from monitor.records.alarm import AlarmRecord

WITHIN_S: Final = 900.0


def together(records: Iterable[AlarmRecord]) -> dict[str, int]:
    """Key of an open alarm → the applications that opened with it, its own included."""
    found: dict[str, int] = {}
    for incident in _incidents(records):
        applications = len({one.application for one in incident})
        found |= {one.key: applications for one in incident if one.state == "open"}
    return found


def _incidents(records: Iterable[AlarmRecord]) -> Iterator[list[AlarmRecord]]:
    incident: list[AlarmRecord] = []
    for record in sorted(records, key=lambda one: (one.opened_at, one.key)):
        if incident and (record.opened_at - incident[0].opened_at).total_seconds() > WITHIN_S:
            yield incident
            incident = []
        incident.append(record)
    if incident:
        yield incident
