"""How far behind: the gauges of every partition, also of those that nothing was read from yet."""

from __future__ import annotations

from collections.abc import Collection

from monitor.ingest.consumer.assignment import PartitionState
from monitor.kafka.group import GroupConsumer
from monitor.kafka.record import Partition
from monitor.telemetry import ScorerTelemetry


async def show_lag(
    consumer: GroupConsumer,
    assigned: Collection[PartitionState],
    paused: Collection[Partition],
    telemetry: ScorerTelemetry,
    now: float,
) -> float:
    """Set the gauges; how far behind reading is, in seconds; ``now`` is in epoch seconds.

    Of a partition that is ``paused`` no fetch says how it grows: the broker is asked.
    """
    asked = [one.partition for one in assigned if one.mark is None or one.partition in paused]
    positions = await consumer.positions(asked) if asked else {}
    unread_s = 0.0
    for one in assigned:
        if one.fenced:  # while the broker was asked
            continue
        mark, end = one.mark, consumer.end_offset(one.partition)
        if one.partition in positions:
            position, end = positions[one.partition]
            mark = position if mark is None else mark
        if mark is not None and end is not None:
            _show(one, max(0, end - mark), telemetry, now)
            unread_s = max(unread_s, _unread_s(one, end, now))
    return unread_s


def _unread_s(one: PartitionState, end: int, now: float) -> float:
    """Age of the oldest record that nothing was done about yet; 0.0 where all have begun.

    What waits in an open block is not behind.
    """
    if one.waiting:
        since = one.waiting[0].record.timestamp / 1000
    elif one.tracker.reached is not None and one.tracker.reached < end:
        since = one.last_record_time
    else:
        return 0.0
    return max(0.0, now - since) if since > 0 else 0.0


def clear_lag(telemetry: ScorerTelemetry) -> None:
    """Forget what was shown of partitions that may be somebody else's by now."""
    telemetry.lag_records.clear()
    telemetry.lag_seconds.clear()
    telemetry.watermark_age.clear()


def _show(one: PartitionState, behind: int, telemetry: ScorerTelemetry, now: float) -> None:
    labels = (one.partition.topic, str(one.partition.partition))
    telemetry.lag_records.labels(*labels).set(behind)
    since = one.oldest_time
    if since or not behind:  # else: how old the first unread record is, nobody knows yet
        telemetry.lag_seconds.labels(*labels).set(max(0.0, now - since) if behind else 0.0)
    oldest = one.tracker.oldest
    telemetry.watermark_age.labels(*labels).set(now - oldest[0] if oldest else 0)
