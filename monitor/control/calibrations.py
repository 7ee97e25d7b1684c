"""The calibrations that the control topic holds: by application and judge."""

from __future__ import annotations

from monitor.control.state import WrittenAt
from monitor.records.control import (
    CalibrationRecord,
    ControlRecord,
    Removed,
    calibration_key,
)
from monitor.stats.calibration import Calibration


class Calibrations:
    """The latest calibration of each application and judge (``name@version``)."""

    def __init__(self) -> None:
        self._held: dict[str, Calibration] = {}

    def of(self, application: str, judge: str) -> Calibration | None:
        """What holds; None while there is none."""
        return self._held.get(calibration_key(application, judge))

    def apply(self, found: ControlRecord | Removed, _written: WrittenAt) -> None:
        """What is known of a risk signal now."""
        if isinstance(found, Removed):
            self._held.pop(found.key, None)
        elif isinstance(found, CalibrationRecord):
            self._held[found.key] = Calibration(found.edges, found.spreads, found.expected)
