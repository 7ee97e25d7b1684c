"""What people do with pauses: begin and end them on the control topic, within a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from monitor.control import PauseRecord, pause_key
from monitor.errors import DependencyRefused
from monitor.health import Health
from monitor.kafka.connection import Connection
from monitor.kafka.producer import Producer, RecordRefused
from monitor.kafka.replay import TopicScan
from monitor.pausing import Pauses


class Desk(NamedTuple):
    """Where control records are, and for how many seconds reading and writing may take."""

    connection: Connection
    topic: str
    health: Health
    limit_s: float


async def resume(
    desk: Desk, application: str | None, now: float
) -> tuple[list[PauseRecord], list[PauseRecord]]:
    """End the pauses of an application, or (None) all; those that were ended, and those left."""
    with _in_time(desk, "reading"):
        async with asyncio.timeout(desk.limit_s):
            held = (await _read(desk)).records(now)
    wanted = None if application is None else pause_key(application)
    ended = [record for record in held if wanted in (None, record.key)]
    await publish(desk, [(record.key, None) for record in ended])
    return ended, [record for record in held if record not in ended]


async def _read(desk: Desk) -> Pauses:
    pauses, scan = Pauses(), await TopicScan.start(desk.connection, desk.health)
    try:
        async for record in scan.records(desk.topic):
            pauses.take_in(record.key, record.value)
    finally:
        await scan.stop()
    return pauses


async def publish(desk: Desk, records: Sequence[tuple[str, bytes | None]]) -> None:
    """Write keys and values; raises ``DependencyRefused`` when that is not possible in time."""
    if not records:
        return
    with _in_time(desk, "writing"):
        async with asyncio.timeout(desk.limit_s):
            producer = await Producer.start(desk.connection, desk.health)
            try:
                for key, value in records:
                    await producer.write(desk.topic, value, key=key.encode())
            except RecordRefused as error:
                raise DependencyRefused(
                    f"Kafka: topic {desk.topic} does not take the record: {error}"
                ) from error
            finally:
                await producer.stop()


@contextmanager
def _in_time(desk: Desk, doing: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        waits = "; ".join(desk.health.waiting.values()) or "the topic is long, or slow"
        raise DependencyRefused(
            f"Kafka {desk.connection.bootstrap_servers}: {doing} was not done within "
            f"{desk.limit_s:g} s ({waits}); --timeout gives it more"
        ) from error
