"""The control topic read once, from its beginning to its end."""

from __future__ import annotations

from monitor.control.state import ControlState
from monitor.kafka.replay import TopicScan
from monitor.kafka.skipped import warn_skipped


async def scan_control(scan: TopicScan, topic: str, state: ControlState) -> None:
    """Let ``state`` go by all that stands there; of what it leaves out the log says why."""
    async for record in scan.records(topic):
        if (skipped := state.apply_record(record)) is not None:
            warn_skipped("control_record_skipped", record, skipped)
