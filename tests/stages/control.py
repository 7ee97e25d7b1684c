"""One reader of control records, given them as they stand on the topic."""

from __future__ import annotations

from monitor.control.bursts import Bursts
from monitor.control.calibrations import Calibrations
from monitor.control.pauses import Pauses
from monitor.control.state import ControlState, WrittenAt
from monitor.errors import RecordSkipped
from monitor.records.base import Headers
from monitor.records.control import BURST, CALIBRATION, PAUSE

KINDS = {Pauses: PAUSE, Bursts: BURST, Calibrations: CALIBRATION}


def applied(
    reader: Pauses | Bursts | Calibrations,
    key: bytes | None,
    value: bytes | None,
    at: float = 0.0,
    headers: Headers = (),
) -> RecordSkipped | None:
    """Have a record read; what was wrong with it."""
    return ControlState({KINDS[type(reader)]: reader.apply}).apply(
        key, value, WrittenAt(at, headers)
    )
