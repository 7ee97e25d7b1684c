"""Following the control topic from its beginning: what has been decided holds."""

from __future__ import annotations

from collections.abc import Callable

from monitor.errors import RecordSkipped
from monitor.export.baselines import Baselines
from monitor.export.publishing import Outbox
from monitor.health import Health
from monitor.kafka.connection import Connection
from monitor.kafka.reader import TopicReader
from monitor.kafka.record import KafkaRecord
from monitor.kafka.topics import check_compaction
from monitor.logs import logger
from monitor.telemetry import ExporterTelemetry


class ControlFollower:
    """Reads all of the control topic at every start, and goes on; ``changed`` is told of it."""

    def __init__(
        self,
        connection: Connection,
        topic: str,
        baselines: Baselines,
        outbox: Outbox,
        telemetry: ExporterTelemetry,
        health: Health,
        changed: Callable[[], None],
    ) -> None:
        self._connection, self._topic, self._baselines = connection, topic, baselines
        self._outbox, self._changed = outbox, changed
        self._telemetry, self._health = telemetry, health
        self.is_ready = False

    async def run(self) -> None:
        """Replay and follow until cancelled."""
        self._health.waits("control", f"replay of {self._topic}")
        reader = await TopicReader.start(
            self._connection, self._topic, self._health, start_ms=0, part="control_reader"
        )
        try:
            await check_compaction(self._connection, self._topic, self._health)
            async for records in reader.batches():
                self._health.beat("control")
                for record in records:
                    self._take_in(record)
                if not self.is_ready:
                    await self._look_whether_ready(reader)
                elif records:
                    self._changed()
        finally:
            self._health.finished("control")
            await reader.stop()

    def _take_in(self, record: KafkaRecord) -> None:
        result = take_in(self._baselines, record.key, record.value)
        self._telemetry.control_records.labels(result.cause if result else "read").inc()
        self._outbox.came_back(record.key)
        if result is not None:
            logger().warning(
                "control_record_skipped",
                topic=record.topic,
                partition=record.partition,
                offset=record.offset,
                reason=result.cause,
                error=str(result),
            )

    async def _look_whether_ready(self, reader: TopicReader) -> None:
        try:
            left = await reader.left_to_replay()
        except TimeoutError:  # the broker is away: not ready yet
            return
        if left == 0:
            self.is_ready = True
            self._health.ready("control")
            self._changed()


def take_in(baselines: Baselines, key: bytes | None, value: bytes | None) -> RecordSkipped | None:
    """Let a record hold; what was wrong with one that was left out."""
    try:
        baselines.take_in(key, value)
    except RecordSkipped as skipped:
        return skipped
    return None
