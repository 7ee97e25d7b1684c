"""What commands do with a topic once and in a hurry: read it or write to it within a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from monitor.errors import ConfigurationError, DependencyRefused
from monitor.kafka.connection import Connection
from monitor.kafka.probe.diagnose import diagnose
from monitor.kafka.producer import Producer, RecordRefused
from monitor.kafka.replay import TopicScan
from monitor.runtime.health import Health

#: For each step of finding out why nothing comes.
LOOK_LIMIT_S: Final = 2.0


@asynccontextmanager
async def in_time(
    connection: Connection, health: Health, limit_s: float, doing: str
) -> AsyncIterator[asyncio.Timeout]:
    """Raises ``DependencyRefused``, with what is waited for, after ``limit_s`` seconds inside.

    To end what was begun, and to find out why it was slow, may take some seconds more. What it
    gives can be put off, where there is progress.
    """
    try:
        async with asyncio.timeout(limit_s) as limit:
            yield limit
    except TimeoutError as error:
        waits = "; ".join(health.waiting.values()) or await _found(connection)
        raise DependencyRefused(
            f"Kafka {connection.bootstrap_servers}: {doing} was not done within {limit_s:g} s "
            f"({waits}); --timeout gives it more"
        ) from error


async def _found(connection: Connection) -> str:
    """Why nothing came, where no client knows yet: the first answer may take them 40 seconds."""
    try:
        finding = await diagnose(connection, LOOK_LIMIT_S)
    except ConfigurationError as error:
        return str(error)
    if finding is None:
        return "the topics are long, or slow"
    return f"{finding.broker or connection.bootstrap_servers}: {finding.found}; {finding.mend}"


async def scan(
    connection: Connection, health: Health, limit_s: float, *, group_id: str | None = None
) -> TopicScan:
    """A client that reads topics, however long they are; connected within the limit, or not.

    Raises ``DependencyRefused``, also for a broker that is away for longer than that, now or while
    topics are read.
    """
    async with in_time(connection, health, limit_s, "connecting"):
        return await TopicScan.start(connection, health, group_id=group_id, silence_s=limit_s)


@asynccontextmanager
async def scanning(
    connection: Connection, health: Health, limit_s: float
) -> AsyncIterator[TopicScan]:
    """A client that reads topics; connecting and all that is read inside has this time together.

    Raises ``DependencyRefused`` when that is not enough.
    """
    async with in_time(connection, health, limit_s, "reading"):
        scan = await TopicScan.start(connection, health)
        try:
            yield scan
        finally:
            await scan.stop()


async def publish(
    connection: Connection,
    health: Health,
    limit_s: float,
    topic: str,
    records: Sequence[tuple[str, bytes | None]],
    *,
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> None:
    """Write keys and values, each with the headers.

    Raises ``DependencyRefused`` when that is not possible in time.
    """
    if not records:
        return
    async with in_time(connection, health, limit_s, "writing"):
        producer = await Producer.start(connection, health)
        try:
            for key, value in records:
                await producer.write(topic, value, key=key.encode(), headers=headers)
        except RecordRefused as error:
            raise DependencyRefused(
                f"Kafka: topic {topic} does not take the record: {error}"
            ) from error
        finally:
            await producer.stop()
