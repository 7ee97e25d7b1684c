"""The consuming loop: reads, hands records to a worker, commits what is done, hands over the rest.

Per partition the watermark is the first offset whose work is not done; only that is committed, so
a crash at any moment reads again, and loses nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from monitor.errors import MonitorError
from monitor.health import Health
from monitor.ingest.apart import GRACE_S
from monitor.ingest.held import Held
from monitor.ingest.lag import clear_lag, show_lag
from monitor.ingest.liveness import Liveness, Patience, Seen
from monitor.ingest.outcomes import Reason
from monitor.kafka.group import GroupConsumer
from monitor.kafka.record import KafkaRecord, Partition
from monitor.logs import logger
from monitor.telemetry import ScorerTelemetry

POLL_MS = 200
POLL_RECORDS = 2_000
PAUSE_AT, RESUME_AT = 0.75, 0.25
#: One stuck offset must not let everything behind it be read again.
MOST_SPAN = 50_000

Work = Coroutine[Any, Any, None]


class Worker(Protocol):
    """What the loop hands records to."""

    def screen(self, batch: Sequence[KafkaRecord]) -> Sequence[KafkaRecord]:
        """What has to begin of a batch of one partition, in order; the rest has ended."""

    def begin(self, record: KafkaRecord) -> Work | None:
        """Take a record: None when it is done, else the work to be done on it.

        The work must settle its interaction, also when it is cancelled; the cancellation's message
        is the reason. Only after the reason ``stuck`` it may go on, to say so elsewhere.
        """

    def is_busy(self, task: asyncio.Task[None]) -> bool:
        """Whether its work is about something that ought to end by itself.

        Waiting for a place or for Kafka does not count: it may take as long as it takes.
        """

    def room(self, partition: Partition) -> int | None:
        """How many records of the partition it takes now; None without a bound.

        The rest waits, and nothing of the partition is fetched while there is no room.
        """

    def parked(self) -> int:
        """How many works wait for what may never come: they take no place from others."""

    def turn(self) -> None:
        """The loop comes round: at least once a second."""


@dataclass(frozen=True)
class LoopLimits:
    """Bounds of the loop; times in seconds."""

    max_in_flight: int
    commit_interval_s: float
    drain_s: float
    stuck_after_s: float = 600.0
    most_span: int = MOST_SPAN


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
        self._held: dict[Partition, Held] = {}
        self._turns: deque[Held] = deque()  # who has records that wait, the next one first
        self._in_flight = self._ended = 0
        self._full = self._draining = False
        self._paused: frozenset[Partition] = frozenset()
        self._polled_at = 0.0
        self._failure: BaseException | None = None
        self._failed = asyncio.Event()

    async def run(self, topics: Sequence[str], stop: asyncio.Event) -> None:
        """Consume until ``stop`` is set; then drain, commit, leave.

        Raises ``DependencyRefused`` when Kafka says no for good, and ``RuntimeError`` when a part
        of the loop has ended by a mistake of ours; either ends the process.
        """
        self._health.waits("consumer", f"partitions of {', '.join(topics)}")
        self._polled_at = _monotonic()
        limits = self._limits
        patience = Patience(limits.commit_interval_s, 2 * limits.stuck_after_s)
        liveness = Liveness(self._consumer, self._health, topics[0], patience)
        self._consumer.subscribe(topics, self)
        parts = {
            asyncio.create_task(self._read(), name="the read loop"),
            asyncio.create_task(self._keep_up(liveness), name="the commit loop"),
        }
        try:
            await self._until(stop, parts)
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
            liveness.finished()
            await self._let_go(list(self._held.values()), Reason.SHUTDOWN)
            await self._consumer.stop()

    async def _until(self, stop: asyncio.Event, parts: set[asyncio.Task[None]]) -> None:
        """Wait for the end; a part that ends before it is an error, however it ends."""
        ends = {asyncio.create_task(event.wait()) for event in (stop, self._failed)}
        try:
            await asyncio.wait({*parts, *ends}, return_when="FIRST_COMPLETED")
        finally:
            for end in ends:
                end.cancel()
        for part in parts:
            if part.done():
                error = None if part.cancelled() else part.exception()
                self._fail(error or RuntimeError(f"{part.get_name()} has ended by itself"))
        if isinstance(self._failure, MonitorError):
            raise self._failure
        if self._failure is not None:  # its words may be those of an interaction
            raise RuntimeError(f"the scorer failed with {type(self._failure).__name__}") from None

    async def _read(self) -> None:
        while True:
            self._worker.turn()
            self._throttle()
            for batch in await self._consumer.poll(POLL_MS, POLL_RECORDS):
                self._receive(batch)
            self._hand_out()
            self._polled_at = _monotonic()
            self._health.beat("consumer", needs="kafka")
            await asyncio.sleep(0)  # a poll that finds records waits for nothing

    def _throttle(self) -> None:
        """Stop fetching where much is under way. The member keeps polling, or it is evicted.

        A partition with nothing under way is read even then: no other one can keep it waiting.
        """
        cap = self._limits.max_in_flight
        if self._places_taken >= PAUSE_AT * cap:
            self._full = True
        elif self._places_taken <= RESUME_AT * cap:
            self._full = False
        paused = frozenset(p for p, held in self._held.items() if self._is_full(held))
        if paused != self._paused:
            self._paused = paused
            self._consumer.pause_only(paused)

    @property
    def _places_taken(self) -> int:
        return self._in_flight - self._worker.parked()

    def _is_full(self, held: Held) -> bool:
        return (
            bool(held.waiting)
            or (self._full and bool(held.under_way))
            or held.tracker.span > self._limits.most_span
            or self._worker.room(held.partition) == 0
        )

    def _receive(self, batch: Sequence[KafkaRecord]) -> None:
        held = self._held.get(Partition(batch[0].topic, batch[0].partition))
        if held is None or self._draining:  # revoked since it was read, the next owner reads it
            return
        has_turn = bool(held.waiting)
        held.read(batch, self._worker.screen(batch))
        if held.waiting and not has_turn:
            self._turns.append(held)

    def _hand_out(self) -> None:
        """Fill the places that are free, one record of each partition in turn."""
        without_room = []
        most = self._limits.max_in_flight
        while self._turns and self._places_taken < most and not self._draining:
            held = self._turns.popleft()
            if held.fenced or not held.waiting:
                continue
            if self._worker.room(held.partition) == 0:
                without_room.append(held)
                continue
            self._begin(held)
            if held.waiting:
                self._turns.append(held)
        self._turns.extend(without_room)

    def _begin(self, held: Held) -> None:
        pick = held.waiting.popleft()
        work = self._worker.begin(pick.record)
        if work is None:
            held.skip(pick)
            return
        task = asyncio.create_task(work)
        held.begin(pick, task, self._clock())
        self._in_flight += 1
        task.add_done_callback(lambda done: self._done(done, held))

    def _done(self, task: asyncio.Task[None], held: Held) -> None:
        self._in_flight -= 1
        self._ended += 1
        error = None if task.cancelled() else task.exception()
        if held.fenced:
            return  # handed over: the offset stays open, so that it is never committed
        if task.cancelled() or error is not None:
            self._fail(error or RuntimeError("work was cancelled by nobody"))
            return
        try:
            held.end(task)
            self._hand_out()
        except Exception as bug:  # noqa: BLE001 - in a callback it would be lost
            self._fail(bug)

    def _fail(self, error: BaseException) -> None:
        # Work settles what it can by itself; what is left is a refusal of Kafka, or our own bug.
        # The traceback is logged without what strange errors say: it may quote an interaction.
        logger().error("scorer_failed", error=type(error).__name__, exc_info=error)
        self._failure = self._failure or error
        self._failed.set()

    async def assigned(self, partitions: Sequence[Partition]) -> None:
        """Fresh trackers; positions are the committed offsets."""
        for held in self._held.values():  # never without having been revoked; and if so, fenced
            self._fence(held, Reason.REVOKED)
        self._held = {partition: Held(partition) for partition in partitions}
        self._turns.clear()
        self._draining = self._full = False
        self._paused = frozenset()  # the client has forgotten what was paused
        self._telemetry.rebalances.inc()
        clear_lag(self._telemetry)
        self._health.ready("consumer")
        logger().info("partitions_assigned", partitions=[f"{t}/{p}" for t, p in partitions])

    async def revoked(self, partitions: Sequence[Partition]) -> None:
        """Drain within the budget, commit, cancel the rest."""
        self._draining = True
        try:
            await self._let_go(
                [self._held[p] for p in partitions if p in self._held], Reason.REVOKED
            )
        except Exception as error:  # noqa: BLE001 - the client would log its words, and go on
            self._fail(error)

    async def _let_go(self, given: Collection[Held], reason: Reason) -> None:
        """Drain, commit, fence: from then on nothing is settled or committed of what is given."""
        for held in given:
            held.waiting.clear()
        await self._drain(given)
        late = [task for held in given for task in self._fence(held, reason)]
        if late:  # their clean-up; whoever does not heed is left behind
            await asyncio.wait(late, timeout=2 * GRACE_S)
        await self._commit(given)
        for held in given:
            if self._held.get(held.partition) is held:
                del self._held[held.partition]

    async def _drain(self, given: Collection[Held]) -> None:
        """Let work end, and commit what has: whoever is killed meanwhile has less to read again."""
        until = _monotonic() + self._limits.drain_s
        while tasks := {task for held in given for task in held.under_way}:
            left_s = until - _monotonic()
            if left_s <= 0 or self._failure is not None:
                return
            await asyncio.wait(tasks, timeout=min(left_s, self._limits.commit_interval_s))
            await self._commit(given)

    def _fence(self, held: Held, reason: Reason) -> list[asyncio.Task[None]]:
        held.fenced = True
        for task in held.under_way:
            task.cancel(reason.value)
        return list(held.under_way)

    async def _keep_up(self, liveness: Liveness) -> None:
        """Commit, measure, look after what is stuck."""
        last = _monotonic()
        while True:
            await asyncio.sleep(self._limits.commit_interval_s)
            self._worker.turn()
            now = _monotonic()
            # A process that was stopped for an hour has not worked for an hour.
            self._end_what_is_stuck(min(now - last, 2 * self._limits.commit_interval_s))
            last = now
            held = list(self._held.values())
            result = None if self._draining else await self._commit(held)
            await show_lag(self._consumer, held, self._paused, self._telemetry, self._clock())
            await liveness.look(self._seen(), result)

    def _end_what_is_stuck(self, elapsed_s: float) -> None:
        """Work that is about something of its own for too long goes to the dead letters."""
        for held in self._held.values():
            for task, item in held.under_way.items():
                item.busy_s = item.busy_s + elapsed_s if self._worker.is_busy(task) else 0.0
                if item.busy_s > self._limits.stuck_after_s and not item.told:
                    item.told = True
                    task.cancel(Reason.STUCK.value)

    def _seen(self) -> Seen:
        return Seen(
            now=_monotonic(),
            polled_at=self._polled_at,
            held=list(self._held.values()),
            paused=self._paused,
            draining=self._draining,
            in_flight=self._in_flight,
            ended=self._ended,
        )

    async def _commit(self, held: Collection[Held]) -> str | None:
        """Commit the watermarks that have moved; the result, None when none has."""
        due = {
            one: mark
            for one in held
            if (mark := one.tracker.watermark) is not None and mark != one.committed
        }
        if not due:
            return None
        result = await self._consumer.commit({one.partition: mark for one, mark in due.items()})
        self._telemetry.commits.labels(result).inc()
        if result == "ok":
            for one, mark in due.items():
                one.committed = mark
        return result


def _monotonic() -> float:
    return asyncio.get_running_loop().time()
