"""The exporter: replays score and control records, follows them, serves gauges, learns baselines.

Its only state is what stands on the topics; two exporters at one clock serve identical series.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple

from monitor.errors import DependencyRefused, RecordSkipped
from monitor.export.baselines import Baselines
from monitor.export.book import ScoreBook
from monitor.export.following import ControlFollower
from monitor.export.lessons import Lessons
from monitor.export.publishing import Outbox
from monitor.health import Health
from monitor.kafka.connection import Connection
from monitor.kafka.reader import GroupWatch, TopicReader
from monitor.kafka.record import KafkaRecord
from monitor.kafka.topics import check_retention
from monitor.logs import logger
from monitor.records import read_score_record
from monitor.telemetry import ExporterTelemetry

#: Windows are in event time, the broker finds offsets by its own: this much before the horizon.
REPLAY_SLACK_S = 3600
WATCH_EVERY_S = 5.0
#: Records between two steps back to the event loop, so that a replay does not delay a scrape.
YIELD_EVERY = 200


class Followed(NamedTuple):
    """The topics that are read; score records must be kept for ``keep_s`` seconds."""

    scores: str
    keep_s: int
    control: str


class Exporter:
    """Follows score and control records, and publishes baselines; ``clock`` gives epoch seconds."""

    def __init__(
        self,
        connection: Connection,
        topics: Followed,
        book: ScoreBook,
        baselines: Baselines,
        telemetry: ExporterTelemetry,
        health: Health,
        clock: Callable[[], float],
    ) -> None:
        self._connection, self._topics, self._book = connection, topics, book
        self._telemetry, self._health, self._clock = telemetry, health, clock
        self._replayed = False
        self._lessons = Lessons(book, baselines, telemetry, clock)
        self._outbox = Outbox(connection, topics.control, health)
        self._control = ControlFollower(
            connection,
            topics.control,
            baselines,
            self._outbox,
            telemetry,
            health,
            self._lessons.show,
        )

    @property
    def is_ready(self) -> bool:
        """Whether scores and control records were replayed: half of either gives wrong gauges."""
        return self._replayed and self._control.is_ready

    async def run(self) -> None:
        """Replay and follow until cancelled."""
        self._health.waits("exporter", f"replay of {self._topics.scores}")
        async with asyncio.TaskGroup() as group:
            group.create_task(self._control.run())
            group.create_task(self._outbox.run())
            group.create_task(self._follow_scores())

    async def _follow_scores(self) -> None:
        topic = self._topics.scores
        start = self._book.horizon_start(self._clock()) - REPLAY_SLACK_S
        await check_retention(self._connection, topic, self._topics.keep_s, self._health)
        reader = await TopicReader.start(
            self._connection, topic, self._health, start_ms=max(0, start) * 1000
        )
        try:
            async for records in reader.batches():
                self._health.beat("exporter")
                # First, so that records count as they come, and not all at once at the end.
                self._book.advance(self._clock())
                await self._take_in(records)
                if not self._replayed:
                    await self._look_whether_replayed(reader)
                elif self.is_ready:
                    for baseline in await self._lessons.look(reader):
                        self._outbox.offer(baseline)
        finally:
            self._health.finished("exporter")
            await reader.stop()

    async def _take_in(self, records: list[KafkaRecord]) -> None:
        for start in range(0, len(records), YIELD_EVERY):
            some = records[start : start + YIELD_EVERY]
            for result, number in Counter(map(self._take_in_one, some)).items():
                self._telemetry.records.labels(result).inc(number)
            await asyncio.sleep(0)

    def _take_in_one(self, record: KafkaRecord) -> str:
        """Add a score record; how it is counted."""
        if record.value is None:
            return "tombstone"
        try:
            self._book.add(read_score_record(record.value), record.value)
        except RecordSkipped as skipped:
            logger().warning(
                "score_record_skipped",
                topic=record.topic,
                partition=record.partition,
                offset=record.offset,
                reason=skipped.cause,
                error=str(skipped),
            )
            return skipped.cause
        return "read"

    async def _look_whether_replayed(self, reader: TopicReader) -> None:
        try:
            left = await reader.left_to_replay()
        except TimeoutError:  # the broker is away: not ready yet
            return
        self._telemetry.replay_left.set(left)
        # What a replay takes in stays: looking through it for garbage again and again is in vain.
        gc.freeze()
        if left == 0:
            await self._warm_up()
            self._replayed = True
            self._health.ready("exporter")
            logger().info("scores_replayed", topic=self._topics.scores)

    async def _warm_up(self) -> None:
        """Compute the evidence of the replay step by step, and not all in the first scrape."""
        now = self._clock()
        self._book.advance(now)
        for _ in self._book.drift.states(now) if self._book.drift is not None else ():
            await asyncio.sleep(0)


async def watch_group(
    connection: Connection,
    group_id: str,
    topics: Sequence[str],
    telemetry: ExporterTelemetry,
    health: Health,
) -> None:
    """Export the lag of the scorer's group for ever, so that a dead scorer is seen.

    Without the right to look at the group there are no such gauges, and the log says so.
    """
    async with AsyncExitStack() as stack:
        watches = []
        for topic in topics:
            try:
                watch = await GroupWatch.start(connection, group_id, topic, health)
            except DependencyRefused as error:
                logger().error("group_watch_refused", topic=topic, error=str(error))
                health.ready("group_watch")
                continue
            stack.push_async_callback(watch.stop)
            watches.append(watch)
        while watches:
            await _look(watches, telemetry)
            await asyncio.sleep(WATCH_EVERY_S)


async def _look(watches: Sequence[GroupWatch], telemetry: ExporterTelemetry) -> None:
    try:
        looks = [await watch.look() for watch in watches]
    except Exception as error:  # noqa: BLE001 - the gauges stay absent; reading goes on
        telemetry.group_lag.clear()
        logger().warning("group_watch_failed", error=str(error))
        return
    for partition, (committed, end) in (item for found in looks for item in found.items()):
        labels = (partition.topic, str(partition.partition))
        telemetry.input_end.labels(*labels).set(end)
        telemetry.group_lag.labels(*labels).set(max(0, end - committed))
