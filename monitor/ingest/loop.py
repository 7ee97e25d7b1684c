"""The consuming loop: reads, hands records to a worker, commits what is done, hands over the rest.

Per partition the watermark is the first offset whose work is not done; only that is committed, so
a crash at any moment reads again, and loses nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from monitor.health import Health
from monitor.ingest.offsets import OffsetTracker
from monitor.ingest.outcomes import Reason
from monitor.kafka.group import GroupConsumer
from monitor.kafka.record import KafkaRecord, Partition
from monitor.logs import logger
from monitor.telemetry import ScorerTelemetry

POLL_MS = 200
POLL_RECORDS = 500
PAUSE_AT, RESUME_AT = 0.75, 0.25
#: One stuck offset must not let everything behind it be read again.
MOST_SPAN = 50_000

Work = Coroutine[Any, Any, None]


class Worker(Protocol):
    """What the loop hands records to."""

    def begin(self, record: KafkaRecord) -> Work | None:
        """Take a record: None when it is done, else the work to be done on it.

        The work must settle its interaction, also when it is cancelled; the cancellation's message
        is the reason.
        """


@dataclass
class _Held:
    """One assignment of one partition."""

    tracker: OffsetTracker = field(default_factory=OffsetTracker)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    committed: int | None = None
    last_record_time: float = 0.0


@dataclass(frozen=True)
class LoopLimits:
    """Bounds of the loop; times in seconds."""

    max_in_flight: int
    commit_interval_s: float
    drain_s: float


class ConsumingLoop:
    """Owns the assignment. ``clock`` gives epoch seconds."""

    def __init__(
        self,
        consumer: GroupConsumer,
        worker: Worker,
        limits: LoopLimits,
        telemetry: ScorerTelemetry,
        health: Health,
        clock: Callable[[], float],
    ) -> None:
        self._consumer, self._worker, self._limits = consumer, worker, limits
        self._telemetry, self._health, self._clock = telemetry, health, clock
        self._held: dict[Partition, _Held] = {}
        self._backlog: deque[KafkaRecord] = deque()
        self._in_flight = 0
        self._paused = False
        self._draining = False
        self._failure: BaseException | None = None

    async def run(self, topic: str, stop: asyncio.Event) -> None:
        """Consume until ``stop`` is set; then drain, commit, leave."""
        self._health.waits("consumer", f"partitions of {topic}")
        self._consumer.subscribe(topic, self)
        try:
            async with asyncio.TaskGroup() as group:
                commits = group.create_task(self._commit_regularly())
                await self._read(stop)
                commits.cancel()
        finally:
            self._health.finished("consumer")
            await self._let_go(list(self._held), Reason.SHUTDOWN)
            await self._consumer.stop()

    async def _read(self, stop: asyncio.Event) -> None:
        stopping = asyncio.ensure_future(stop.wait())
        poll: asyncio.Task[list[KafkaRecord]] | None = None
        try:
            while not stop.is_set():
                self._health.beat("consumer")
                self._throttle()
                poll = poll or asyncio.create_task(self._consumer.poll(POLL_MS, POLL_RECORDS))
                # A poll may wait for a rebalance or a broker: the beat must not.
                await asyncio.wait({poll, stopping}, timeout=1, return_when="FIRST_COMPLETED")
                if poll.done():
                    self._backlog.extend(poll.result())
                    poll = None
                self._hand_out()
        finally:
            stopping.cancel()
            if poll is not None:
                poll.cancel()

    def _throttle(self) -> None:
        """Stop fetching while much is under way. The member keeps polling, or it is evicted."""
        cap = self._limits.max_in_flight
        stretched = any(held.tracker.span > MOST_SPAN for held in self._held.values())
        if self._backlog or stretched or self._in_flight >= PAUSE_AT * cap:
            if not self._paused:
                self._consumer.pause()
            self._paused = True
        elif self._paused and self._in_flight <= RESUME_AT * cap:
            self._consumer.resume()
            self._paused = False

    def _hand_out(self) -> None:
        while self._backlog and self._in_flight < self._limits.max_in_flight and not self._draining:
            record = self._backlog.popleft()
            held = self._held.get(Partition(record.topic, record.partition))
            if held is not None:  # else: revoked since it was read, the next owner reads it
                self._take(record, held)

    def _take(self, record: KafkaRecord, held: _Held) -> None:
        held.last_record_time = record.timestamp / 1000
        work = self._worker.begin(record)
        if work is None:
            held.tracker.skip(record.offset)
            return
        held.tracker.take(
            record.offset, taken_at=self._clock(), record_time=record.timestamp / 1000
        )
        self._in_flight += 1
        task = asyncio.create_task(work)
        held.tasks.add(task)
        task.add_done_callback(lambda done: self._done(done, record.offset, held))

    def _done(self, task: asyncio.Task[None], offset: int, held: _Held) -> None:
        self._in_flight -= 1
        held.tasks.discard(task)
        if task.cancelled():
            return  # handed over: the offset stays open, so that it is never committed
        if error := task.exception():
            self._fail(error)
            return
        held.tracker.settle(offset)

    def _fail(self, error: BaseException) -> None:
        # Work settles what it can by itself; what is left is a refusal of Kafka, or our own bug.
        logger().error("scorer_work_failed", error=f"{type(error).__name__}: {error}")
        self._failure = error

    async def assigned(self, partitions: Sequence[Partition]) -> None:
        """Fresh trackers; positions are the committed offsets."""
        self._held = {partition: _Held() for partition in partitions}
        self._backlog.clear()
        self._draining = self._paused = False
        self._telemetry.rebalances.inc()
        self._telemetry.lag_records.clear()
        self._telemetry.lag_seconds.clear()
        self._telemetry.watermark_age.clear()
        self._health.ready("consumer")
        logger().info("partitions_assigned", partitions=[p.partition for p in partitions])

    async def revoked(self, partitions: Sequence[Partition]) -> None:
        """Drain within the budget, commit, cancel the rest."""
        self._draining = True
        await self._let_go(partitions, Reason.REVOKED)

    async def _let_go(self, partitions: Sequence[Partition], reason: Reason) -> None:
        held = [self._held[p] for p in partitions if p in self._held]
        self._backlog.clear()
        tasks = {task for one in held for task in one.tasks}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._limits.drain_s)
            for task in late:
                task.cancel(reason.value)
            await asyncio.gather(*late, return_exceptions=True)
        await self._commit()
        for partition in partitions:
            self._held.pop(partition, None)

    async def _commit_regularly(self) -> None:
        while True:
            await asyncio.sleep(self._limits.commit_interval_s)
            if self._failure is not None:
                raise self._failure
            await self._measure()
            if not self._draining:
                await self._commit()

    async def _commit(self) -> None:
        due = {
            partition: mark
            for partition, held in self._held.items()
            if (mark := held.tracker.watermark) is not None and mark != held.committed
        }
        if not due:
            return
        result = await self._consumer.commit(due)
        self._telemetry.commits.labels(result).inc()
        if result == "ok":
            for partition, mark in due.items():
                if partition in self._held:
                    self._held[partition].committed = mark

    async def _measure(self) -> None:
        """The lag of every partition, also of those that no record has been taken from yet."""
        waiting: dict[Partition, KafkaRecord] = {}
        for record in self._backlog:
            waiting.setdefault(Partition(record.topic, record.partition), record)
        unread = [p for p, held in self._held.items() if held.tracker.watermark is None]
        standing = await self._consumer.standing(unread) if unread else {}
        now = self._clock()
        for partition, held in self._held.items():
            mark, end = held.tracker.watermark, self._consumer.end_offset(partition)
            first = waiting.get(partition)
            if mark is None and partition in standing:
                position, end = standing[partition]
                mark = first.offset if first else position
                held.last_record_time = first.timestamp / 1000 if first else 0.0
            if mark is not None and end is not None:
                self._show(partition, held, max(0, end - mark), now)

    def _show(self, partition: Partition, held: _Held, behind: int, now: float) -> None:
        labels = (partition.topic, str(partition.partition))
        oldest = held.tracker.oldest
        since = oldest[1] if oldest else held.last_record_time
        self._telemetry.lag_records.labels(*labels).set(behind)
        if since or not behind:  # else: how old the first unread record is, nobody knows yet
            age = max(0.0, now - since) if behind else 0.0
            self._telemetry.lag_seconds.labels(*labels).set(age)
        self._telemetry.watermark_age.labels(*labels).set(now - oldest[0] if oldest else 0)
