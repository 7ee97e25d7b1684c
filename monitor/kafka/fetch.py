"""Single records by their place, beside the clients that follow their topic."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

from monitor.kafka.connection import Connection
from monitor.kafka.record import KafkaRecord, Unreadable
from monitor.kafka.replay import TopicScan
from monitor.runtime.health import Health

#: What a client of a scan is called when it meets a problem.
_PART = "scan"


async def fetch(
    connection: Connection, topic: str, places: Iterable[tuple[int, int]], limit_s: float
) -> list[KafkaRecord]:
    """The records at these places (partition, offset) that are there, all within ``limit_s``.

    Raises ``TimeoutError``, and ``DependencyRefused`` when the topic may not be read.
    """
    # A health of its own: nobody is less ready because these records cannot be had.
    health, found = Health(time.monotonic), list[KafkaRecord]()
    try:
        async with asyncio.timeout(limit_s):
            scan = await TopicScan.start(connection, health)
            try:
                for partition, offset in places:
                    record = await scan.one(topic, partition, offset)
                    if record is not None and not isinstance(record, Unreadable):
                        found.append(record)
            finally:
                await scan.stop()
    except TimeoutError:
        connection.problems.over(connection.name, _PART)  # nobody waits any more
        raise
    return found
