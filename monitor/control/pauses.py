"""Which applications are not judged for now: what the control topic says of it, and the clock."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.errors import RecordSkipped
from monitor.records.control import (
    PAUSE,
    SET_BY,
    PauseRecord,
    Removed,
    pause_key,
    read_control_record,
)

Headers = Sequence[tuple[str, bytes | None]]


class Pauses:
    """The pauses that hold; times are epoch seconds.

    >>> pauses = Pauses()
    >>> pauses.is_paused("support-bot", now=0.0)
    False
    """

    def __init__(self) -> None:
        self._held: dict[str, PauseRecord] = {}
        self._since: dict[str, float] = {}
        #: Whether the topic cannot be read: then nothing is held, and nobody knows.
        self.are_unknown = False

    def apply(
        self, key: bytes | None, value: bytes | None, at: float, headers: Headers = ()
    ) -> RecordSkipped | None:
        """Let a control record hold that was written at ``at``; what was wrong with one left out.

        Of those that are no pauses nothing is said: others read them.
        """
        if not (key or b"").startswith(f"{PAUSE}/".encode()):
            return None
        try:
            found = read_control_record(key, value)
        except RecordSkipped as skipped:
            return skipped
        if isinstance(found, Removed):
            self._held.pop(found.key, None)
            self._since.pop(found.key, None)
        elif isinstance(found, PauseRecord):
            before = self._held.get(found.key)
            if before is None or not before.is_active(at):  # else it is made longer
                self._since[found.key] = at
            self._held[found.key] = found.as_set(at, _who(headers))
        return None

    def is_paused(self, application: str, now: float) -> bool:
        """Whether it is not judged, by a pause of its own or of all."""
        if not self._held:
            return False
        return any(
            record is not None and record.is_active(now)
            for record in map(self._held.get, (pause_key(""), pause_key(application)))
        )

    def since(self, now: float) -> dict[str, float]:
        """Application (``*``: all) → since when it has been paused, for those that are now."""
        return {record.shown: self._since[record.key] for record in self.records(now)}

    def records(self, now: float) -> list[PauseRecord]:
        """The pauses that hold, by key."""
        return [record for _, record in sorted(self._held.items()) if record.is_active(now)]


def _who(headers: Headers) -> str:
    found = next((value for name, value in headers if name == SET_BY and value), b"")
    return found.decode("utf-8", "replace")
