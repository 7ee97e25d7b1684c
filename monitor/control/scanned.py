"""The topics of control records and alarms read once, from their beginning to their end."""

from __future__ import annotations

from collections.abc import Callable

from monitor.control.state import ControlState
from monitor.errors import RecordSkipped
from monitor.kafka.record import KafkaRecord
from monitor.kafka.replay import TopicScan
from monitor.kafka.skipped import SkippedRecords
from monitor.records.alarm import AlarmRecord, read_alarm_record

#: Lets a key and a value hold; what was wrong with them, where they were left out.
Apply = Callable[[bytes | None, bytes | None], RecordSkipped | None]


async def scan_control(scan: TopicScan, topic: str, state: ControlState) -> SkippedRecords:
    """Let ``state`` go by all that stands there; what it leaves out is logged, too."""
    return await _scan(scan, topic, state.apply_record, "control_records_skipped")


async def scan_alarms(scan: TopicScan, topic: str, apply: Apply) -> SkippedRecords:
    """Give it all that stands there, in order; what it leaves out is logged, too."""
    return await _scan(
        scan, topic, lambda record: apply(record.key, record.value), "alarm_records_skipped"
    )


def readable_alarms(hold: Callable[[bytes | None, AlarmRecord | None], None]) -> Apply:
    """Lets hold each one that can be read: by its key, None where it is no more."""

    def apply(key: bytes | None, value: bytes | None) -> RecordSkipped | None:
        try:
            found = read_alarm_record(key, value)
        except RecordSkipped as skipped:
            return skipped
        hold(key, found)
        return None

    return apply


async def _scan(
    scan: TopicScan,
    topic: str,
    apply: Callable[[KafkaRecord], RecordSkipped | None],
    event: str,
) -> SkippedRecords:
    left_out = SkippedRecords()
    async for record in scan.records(topic):
        if (skipped := apply(record)) is not None:
            left_out.add(record, skipped)
    left_out.say(event)
    return left_out
