"""The control topic: whether all that stands there can be gone by."""

from __future__ import annotations

import time
from typing import Final

from monitor.control.scanned import scan_control
from monitor.control.state import ControlReader, ControlState
from monitor.doctor.report import ReportLine, ok, warn
from monitor.errors import DependencyRefused
from monitor.kafka import one_shot
from monitor.kafka.connection import Connection
from monitor.records.control import KINDS
from monitor.runtime.health import Health

#: Seconds for all of it.
LIMIT_S: Final = 10.0
_MEND: Final = (
    "write them anew, or a record without a value under their key; what is of another kind may be "
    "a later version's"
)


async def examine(connection: Connection, topic: str) -> list[ReportLine]:
    """Of a topic that is there: baselines, pauses and the like that no process goes by."""
    readers: dict[str, ControlReader] = {kind: lambda _found, _written: None for kind in KINDS}
    try:
        async with one_shot.scanning(connection, Health(time.monotonic), LIMIT_S) as scan:
            left_out = await scan_control(scan, topic, ControlState(readers, reports_others=True))
    except DependencyRefused:  # the other checks say what may not be read
        return []
    if left_out.records:
        return [warn("control", topic, str(left_out), _MEND)]
    return [ok("control", topic, "all records can be read")]
