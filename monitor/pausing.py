"""Which applications are not judged for now: what the control topic says of it, and the clock."""

from __future__ import annotations

from monitor.control import PAUSE, PauseRecord, Removed, pause_key, read_control_record
from monitor.errors import RecordSkipped


class Pauses:
    """The pauses that hold; times are epoch seconds.

    >>> pauses = Pauses()
    >>> pauses.is_paused("support-bot", now=0.0)
    False
    """

    def __init__(self) -> None:
        self._held: dict[str, PauseRecord] = {}
        #: Whether the topic cannot be read: then nothing is held, and nobody knows.
        self.are_unknown = False

    def take_in(self, key: bytes | None, value: bytes | None) -> RecordSkipped | None:
        """Let a control record hold; what was wrong with one that was left out.

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
        elif isinstance(found, PauseRecord):
            self._held[found.key] = found
        return None

    def is_paused(self, application: str, now: float) -> bool:
        """Whether it is not judged, by a pause of its own or of all."""
        if not self._held:
            return False
        return any(
            record is not None and record.holds(now)
            for record in map(self._held.get, (pause_key(""), pause_key(application)))
        )

    def shown(self, now: float) -> list[str]:
        """The applications with a pause of their own that holds; ``*`` for that of all."""
        held = (record for record in self._held.values() if record.holds(now))
        return sorted(record.shown for record in held)

    def records(self, now: float) -> list[PauseRecord]:
        """The pauses that hold, by key."""
        return [record for _, record in sorted(self._held.items()) if record.holds(now)]
