"""What people do with pauses: begin and end them on the control topic, within a time limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from monitor.control.pauses import Pauses
from monitor.control.scanned import scan_control
from monitor.control.state import ControlState
from monitor.errors import DependencyRefused
from monitor.kafka import one_shot
from monitor.kafka.connection import Connection
from monitor.kafka.replay import TopicScan, require_topic
from monitor.records.control import PAUSE, SET_BY, PauseRecord, pause_key
from monitor.runtime.health import Health


class ControlAccess(NamedTuple):
    """Where control records are, and for how many seconds reading and writing may take."""

    connection: Connection
    topic: str
    health: Health
    limit_s: float


async def pause(access: ControlAccess, record: PauseRecord, by: str) -> None:
    """Begin a pause, with the name of who has asked for it.

    Raises ``DependencyRefused`` when it cannot be written in time, and at once where no topic is: a
    producer would wait for one.
    """
    async with one_shot.in_time(access.connection, access.health, access.limit_s, "looking"):
        await require_topic(access.connection, access.health, access.topic)
    await publish(access, [(record.key, record.to_json())], [(SET_BY, by.encode())])


async def resume(
    access: ControlAccess, application: str | None, now: float
) -> tuple[list[PauseRecord], list[PauseRecord]]:
    """End the pauses of an application, or (None) all; those that were ended, and those left."""
    held = await in_force(access, now)
    wanted = None if application is None else pause_key(application)
    ended = [record for record in held if wanted in (None, record.key)]
    await publish(access, [(record.key, None) for record in ended])
    return ended, [record for record in held if record not in ended]


async def in_force(access: ControlAccess, now: float) -> list[PauseRecord]:
    """The pauses that hold.

    Raises ``DependencyRefused`` when the topic is missing, may not be read, or not in time.
    """
    async with one_shot.in_time(access.connection, access.health, access.limit_s, "reading"):
        return (await _read(access)).records(now)


async def status_lines(access: ControlAccess, now: float) -> list[str]:
    """What is paused, for people who ask something else; that it cannot be read is no failure."""
    try:
        return [f"judging is paused: {record}" for record in await in_force(access, now)]
    except DependencyRefused as error:
        return [f"whether judging is paused is not known: {error}"]


async def _read(access: ControlAccess) -> Pauses:
    pauses, scan = Pauses(), await TopicScan.start(access.connection, access.health)
    try:
        await scan_control(scan, access.topic, ControlState({PAUSE: pauses.apply}))
    finally:
        await scan.stop()
    return pauses


async def publish(
    access: ControlAccess,
    records: Sequence[tuple[str, bytes | None]],
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> None:
    """Write keys and values; raises ``DependencyRefused`` when that is not possible in time."""
    await one_shot.publish(
        access.connection, access.health, access.limit_s, access.topic, records, headers=headers
    )
