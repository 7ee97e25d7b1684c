"""Which applications are not judged for now, as the control topic has it; the intake asks."""

from __future__ import annotations

from monitor.control.state import WrittenAt
from monitor.records.base import Headers
from monitor.records.control import SET_BY, ControlRecord, PauseRecord, Removed, pause_key


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

    def apply(self, found: ControlRecord | Removed, written: WrittenAt) -> None:
        """A pause begins or ends."""
        if isinstance(found, Removed):
            self._held.pop(found.key, None)
            self._since.pop(found.key, None)
        elif isinstance(found, PauseRecord):
            at = written.at
            before = self._held.get(found.key)
            if before is None or not before.is_active(at):  # else it is made longer
                self._since[found.key] = at
            self._held[found.key] = found.as_set(at, _who(written.headers))

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
