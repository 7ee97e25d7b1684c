"""Writing what was learned to the control topic, in the background."""

from __future__ import annotations

import asyncio

from monitor.control import BaselineRecord
from monitor.errors import DependencyRefused
from monitor.health import Health
from monitor.kafka.connection import Connection
from monitor.kafka.producer import Producer, RecordRefused
from monitor.logs import logger


class Outbox:
    """Baselines on their way to the control topic: each once, until it has come back from there.

    One that is refused may be offered again; while brokers are away, writing waits for them.
    """

    def __init__(self, connection: Connection, topic: str, health: Health) -> None:
        self._connection, self._topic, self._health = connection, topic, health
        self._queue: asyncio.Queue[BaselineRecord] = asyncio.Queue()
        self._under_way: set[str] = set()

    def offer(self, record: BaselineRecord) -> None:
        """Write it, unless one with its key is under way."""
        if record.key not in self._under_way:
            self._under_way.add(record.key)
            self._queue.put_nowait(record)

    def came_back(self, key: bytes | None) -> None:
        """A record of the control topic was read; what stood under its key may be offered again."""
        self._under_way.discard((key or b"").decode("utf-8", "replace"))

    async def run(self) -> None:
        """Write for ever. Connects when there is something to write: most exporters only read."""
        producer = None
        try:
            while True:
                record = await self._queue.get()
                try:
                    producer = producer or await Producer.start(self._connection, self._health)
                    await self._write(producer, record)
                except (RecordRefused, DependencyRefused) as error:
                    self._under_way.discard(record.key)
                    logger().error("baseline_not_published", key=record.key, error=str(error))
        finally:
            if producer is not None:
                await producer.stop()

    async def _write(self, producer: Producer, record: BaselineRecord) -> None:
        await producer.write(self._topic, record.to_json(), key=record.key.encode())
        logger().info("baseline_published", key=record.key, slots=record.slots)
