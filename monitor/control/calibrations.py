"""The calibrations that the control topic holds: by application and judge."""

from __future__ import annotations

from monitor.control.latest_records import LatestRecords
from monitor.records.control import CalibrationRecord, calibration_key
from monitor.stats.calibration import Calibration


class Calibrations:
    """The latest calibration of each application and judge (``name@version``)."""

    def __init__(self) -> None:
        self._latest = LatestRecords(CalibrationRecord)
        self.apply = self._latest.apply

    def of(self, application: str, judge: str) -> Calibration | None:
        """What is known of its risk signal now; None while nothing is."""
        found = self._latest.of(calibration_key(application, judge))
        return None if found is None else Calibration(found.edges, found.spreads, found.expected)
