"""The alarms of a span by their openings, of which one key has many over time. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from monitor.control.state import MOST_KEYS
from monitor.errors import RecordSkipped
from monitor.records.alarm import AlarmRecord, read_alarm_record
from monitor.report.frame import ReportedAlarm, reported

#: Why an alarm is over that nobody has closed.
OPENED_AGAIN: Final = "opened_again"


class AlarmOpenings:
    """Goes by the records of the topic in their order: the last one of each opening holds.

    At most ``most`` openings are held; what comes beyond them is left out.
    """

    def __init__(self, since: datetime, until: datetime, most: int = MOST_KEYS) -> None:
        self._since, self._until, self._most = since, until, most
        # Of each key the openings by their time, the one with the latest record last.
        self._held: dict[str, dict[datetime, ReportedAlarm]] = {}
        self._number = 0
        #: How many records there were, of all kinds.
        self.records = 0

    def apply(self, key: bytes | None, value: bytes | None) -> RecordSkipped | None:
        """Let a record hold; what was wrong with one that was left out.

        One without a value takes away all openings of its key.
        """
        self.records += 1
        name = (key or b"").decode("utf-8", "replace")
        try:
            found = read_alarm_record(key, value)
        except RecordSkipped as skipped:
            return skipped
        if found is None:
            self._number -= len(self._held.pop(name, {}))
            return None
        self._end_another(found)
        self._take(found.key, found.opened_at)
        one = reported(found, self._since, self._until)
        if one is None:
            return None
        if self._number >= self._most:
            return RecordSkipped(
                f"{name}, opened at {found.opened_at.isoformat()}, is one more than the "
                f"{self._most} openings that are held: choose a shorter span",
                cause="too_many",
            )
        self._held.setdefault(name, {})[found.opened_at] = one
        self._number += 1
        return None

    def _end_another(self, found: AlarmRecord) -> None:
        """A key is open once at a time: what it was before is over when it opens again."""
        held = self._held.get(found.key, {})
        before = held[next(reversed(held))] if held else None
        if before is None or before.opened_at == found.opened_at or before.closed_at is not None:
            return
        if max(before.opened_at, found.opened_at) < self._since:
            self._take(found.key, before.opened_at)
        else:
            ended = before.model_copy(update={"closed_because": OPENED_AGAIN})
            held[before.opened_at] = ended

    def _take(self, key: str, opened_at: datetime) -> None:
        held = self._held.get(key, {})
        self._number -= held.pop(opened_at, None) is not None
        if not held:
            self._held.pop(key, None)

    def alarms(self) -> tuple[ReportedAlarm, ...]:
        """By the time at which each began, and opened."""
        found = [one for held in self._held.values() for one in held.values()]
        return tuple(sorted(found, key=lambda one: (one.since, one.opened_at, one.key)))
