"""The calibrations that the control topic holds: by application and judge."""

from __future__ import annotations

from monitor.errors import RecordSkipped
from monitor.records.control import (
    CALIBRATION,
    CalibrationRecord,
    Removed,
    calibration_key,
    read_control_record,
)
from monitor.stats.calibration import Calibration


class Calibrations:
    """The latest calibration of each application and judge (``name@version``)."""

    def __init__(self) -> None:
        self._held: dict[str, Calibration] = {}

    def of(self, application: str, judge: str) -> Calibration | None:
        """What holds; None while there is none."""
        return self._held.get(calibration_key(application, judge))

    def apply(self, key: bytes | None, value: bytes | None) -> RecordSkipped | None:
        """Let a control record hold; what was wrong with one that was left out.

        Of those that are no calibrations nothing is said: others read them.
        """
        try:
            found = read_control_record(key, value)
        except RecordSkipped as skipped:
            ours = (key or b"").startswith(f"{CALIBRATION}/".encode())
            return skipped if ours else None
        if isinstance(found, Removed):
            self._held.pop(found.key, None)
        elif isinstance(found, CalibrationRecord):
            self._held[found.key] = Calibration(found.edges, found.spreads, found.expected)
        return None
