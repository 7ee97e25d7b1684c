"""Following a compacted topic from its beginning: the latest record of each key holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from monitor.errors import RecordSkipped
from monitor.kafka.connection import Connection
from monitor.kafka.reader import TopicReader
from monitor.kafka.record import KafkaRecord
from monitor.kafka.skipped import warn_skipped
from monitor.kafka.topics import check_compaction
from monitor.runtime.health import Health


class FollowedTopic(NamedTuple):
    """A topic, what its follower is called, and what is lost where the topic forgets."""

    topic: str
    name: str
    loses: str


class StateFollower:
    """Reads all of a topic at every start, and goes on.

    ``apply`` lets a record hold, and says what was wrong with one that it left out; ``count`` is
    told the result of each. ``changed`` is told when the replay is over, and of all that comes
    then.
    """

    def __init__(
        self,
        connection: Connection,
        state: FollowedTopic,
        apply: Callable[[KafkaRecord], RecordSkipped | None],
        count: Callable[[str], None],
        health: Health,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection, self._state, self._health = connection, state, health
        self._take, self._count, self._changed = apply, count, changed
        self.is_ready = False

    async def run(self) -> None:
        """Replay and follow until cancelled."""
        topic, name, loses = self._state
        self._health.waits(name, f"replay of {topic}")
        reader = await TopicReader.start(
            self._connection, topic, self._health, start_ms=0, part=f"{name}_reader"
        )
        try:
            await check_compaction(
                self._connection, topic, self._health, event=f"{name}_retention", loses=loses
            )
            async for records in reader.batches():
                self._health.beat(name)
                for record in records:
                    self._apply(record)
                if not self.is_ready:
                    await self._look_whether_ready(reader)
                elif records:
                    self._changed()
        finally:
            self._health.finished(name)
            await reader.stop()

    def _apply(self, record: KafkaRecord) -> None:
        result = self._take(record)
        self._count(result.cause if result else "read")
        if result is not None:
            warn_skipped(f"{self._state.name}_record_skipped", record, result)

    async def _look_whether_ready(self, reader: TopicReader) -> None:
        try:
            left = await reader.left_to_replay()
        except TimeoutError:  # the broker is away: not ready yet
            return
        if left == 0:
            self.is_ready = True
            self._health.ready(self._state.name)
            self._changed()
