"""The alarms as their topic has them: the latest record of each key. Pure."""

from __future__ import annotations

from monitor.control.state import too_many
from monitor.errors import RecordSkipped
from monitor.records.alarm import AlarmRecord, read_alarm_record


class LatestAlarms:
    """Holds what was applied; ``by_key`` changes with it."""

    def __init__(self) -> None:
        self.by_key: dict[str, AlarmRecord] = {}

    def apply(self, key: bytes | None, value: bytes | None) -> RecordSkipped | None:
        """Let a record hold; what was wrong with one that was left out.

        >>> LatestAlarms().apply(b"faithfulness/bot/offline@1", b"{").cause
        'malformed'
        """
        name = (key or b"").decode("utf-8", "replace")
        try:
            found = read_alarm_record(key, value)
        except RecordSkipped as skipped:
            return skipped
        if found is None:
            self.by_key.pop(name, None)
        elif (refused := too_many(name, self.by_key)) is not None:
            return refused
        else:
            self.by_key[name] = found
        return None
