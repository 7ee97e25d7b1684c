"""Writing to the topics that hold the exporter's state, in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from monitor.errors import DependencyRefused
from monitor.kafka.connection import Connection
from monitor.kafka.producer import Producer, RecordRefused
from monitor.records.control import Removed
from monitor.records.keyed import Keyed
from monitor.runtime.health import Health
from monitor.runtime.logs import logger

#: For so long one that was refused is not tried again, however often it is offered.
REFUSED_FOR_S = 60.0


class Outbox:
    """Records on their way to a compacted topic: each once, until it has come back from there.

    ``what`` names them in the log. One that is refused may be offered again after a minute; while
    brokers are away, writing waits for them.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        health: Health,
        *,
        what: str,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        self._connection, self._topic, self._health = connection, topic, health
        self._what, self._headers = what, headers
        self._queue: asyncio.Queue[Keyed | Removed] = asyncio.Queue()
        self._under_way: set[str] = set()

    def offer(self, record: Keyed | Removed) -> None:
        """Write it, unless one with its key is under way; ``Removed`` as a tombstone."""
        if not self.is_under_way(record.key):
            self._under_way.add(record.key)
            self._queue.put_nowait(record)

    def is_under_way(self, key: str) -> bool:
        """Whether one with this key is under way, or was refused just now."""
        return key in self._under_way

    def came_back(self, key: bytes | None) -> None:
        """A record of the topic was read; what stood under its key may be offered again."""
        self._under_way.discard((key or b"").decode("utf-8", "replace"))

    async def run(self) -> None:
        """Write for ever. Connects when there is something to write: most exporters only read."""
        producer = None
        try:
            while True:
                record = await self._queue.get()
                if record.key not in self._under_way:
                    continue  # another was read meanwhile, perhaps a person's decision: it holds
                try:
                    producer = producer or await Producer.start(self._connection, self._health)
                    await self._write(producer, record)
                except (RecordRefused, DependencyRefused) as error:
                    logger().error(f"{self._what}_not_published", key=record.key, error=str(error))
                    loop = asyncio.get_running_loop()
                    loop.call_later(REFUSED_FOR_S, self._under_way.discard, record.key)
        finally:
            if producer is not None:
                await producer.stop()

    async def _write(self, producer: Producer, record: Keyed | Removed) -> None:
        key, value = record.key.encode(), None if isinstance(record, Removed) else record.to_json()
        await producer.write(self._topic, value, key=key, headers=self._headers)
        logger().info(f"{self._what}_published", key=record.key)
