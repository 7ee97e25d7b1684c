"""The consuming loop: reads, hands records to a worker, commits what is done, hands over the rest.

Per partition the watermark is the first offset whose work is not done; only that is committed, so
a crash at any moment reads again, and loses nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Sequence

from monitor.errors import MonitorError
from monitor.ingest.consumer.assignment import PartitionState
from monitor.ingest.consumer.dispatcher import Dispatcher
from monitor.ingest.consumer.lag import clear_lag, show_lag
from monitor.ingest.consumer.liveness import Liveness, LivenessLimits, LoopActivity
from monitor.ingest.consumer.worker import LoopLimits, Worker
from monitor.kafka.group import GroupConsumer
from monitor.kafka.record import Partition
from monitor.records import Reason
from monitor.runtime.health import Health
from monitor.runtime.logs import logger
from monitor.runtime.offload import GRACE_S
from monitor.telemetry import ScorerTelemetry

POLL_MS = 200
POLL_RECORDS = 2_000


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
        self._dispatcher = Dispatcher(worker, limits, clock, self._fail)
        self._paused: frozenset[Partition] = frozenset()
        self._polled_at = self._reached_at = 0.0
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
        limits_of_loop = LivenessLimits(limits.commit_interval_s, 2 * limits.stuck_after_s)
        liveness = Liveness(self._consumer, self._health, topics[0], limits_of_loop)
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
            try:
                await self._let_go(list(self._dispatcher.assigned.values()), Reason.SHUTDOWN)
            finally:
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
                self._dispatcher.receive(batch)
            self._dispatcher.hand_out()
            self._polled_at = _monotonic()
            self._reach(self._polled_at)
            self._health.beat("consumer", needs="kafka")

    def _reach(self, now: float) -> None:
        """Nothing that was read is in anybody's hands now: the positions say how far all is."""
        if now - self._reached_at < self._limits.commit_interval_s:
            return
        self._reached_at = now
        for one in self._dispatcher.assigned.values():
            if not one.under_way and (position := self._consumer.position(one.partition)):
                one.reach(position)

    def _throttle(self) -> None:
        """Stop fetching where much is under way. The member keeps polling, or it is evicted."""
        paused = self._dispatcher.full()
        if paused != self._paused:
            self._paused = paused
            self._consumer.pause_only(paused)

    def fails_with(self, task: asyncio.Task[None]) -> None:
        """Something has ended that work cannot go on without."""
        if not task.cancelled():
            self._fail(task.exception() or RuntimeError("it has ended by itself"))

    def _fail(self, error: BaseException) -> None:
        # Work settles what it can by itself; what is left is a refusal of Kafka, or our own bug.
        # The traceback is logged without what strange errors say: it may quote an interaction.
        logger().error("scorer_failed", error=type(error).__name__, exc_info=error)
        self._failure = self._failure or error
        self._failed.set()

    async def assigned(self, partitions: Sequence[Partition]) -> None:
        """Fresh trackers; positions are the committed offsets."""
        self._dispatcher.assign(partitions)
        self._paused = frozenset()  # the client has forgotten what was paused
        self._telemetry.rebalances.inc()
        clear_lag(self._telemetry)
        self._health.ready("consumer")
        logger().info("partitions_assigned", partitions=[f"{t}/{p}" for t, p in partitions])

    async def revoked(self, partitions: Sequence[Partition]) -> None:
        """Drain within the budget, commit, cancel the rest."""
        self._dispatcher.draining = True
        assigned = self._dispatcher.assigned
        try:
            await self._let_go([assigned[p] for p in partitions if p in assigned], Reason.REVOKED)
        except Exception as error:  # noqa: BLE001 - the client would log its words, and go on
            self._fail(error)

    async def _let_go(self, given: Collection[PartitionState], reason: Reason) -> None:
        """Hand over what waits, drain, commit, fence: then nothing given is settled any more."""
        for state in given:
            state.leave_waiting()
        await asyncio.sleep(0)  # work that has just begun takes its first step: to wait, perhaps
        for state in given:
            self._dispatcher.hand_over_waiting(state, reason, math.inf)
        await self._drain(given, reason)
        late = [task for state in given for task in self._dispatcher.fence(state, reason)]
        if late:  # their clean-up; whoever does not heed is left behind
            await asyncio.wait(late, timeout=2 * GRACE_S)
        if given:
            await self._commit_last(given)
        for state in given:
            if self._dispatcher.assigned.get(state.partition) is state:
                del self._dispatcher.assigned[state.partition]

    async def _commit_last(self, given: Collection[PartitionState]) -> None:
        """Commit, where a broker says what logs there are: in others it would lose records."""
        if await self._consumer.look_at_logs():
            await self._commit(given)
            return
        where = [f"{topic}/{number}" for topic, number in (one.partition for one in given)]
        hint = "no broker has said whether these topics are the same as before; what has ended "
        hint += "since the commit before is read again"
        logger().warning("last_commit_left_out", partitions=where, hint=hint)

    async def _drain(self, given: Collection[PartitionState], reason: Reason) -> None:
        """Let work end, and commit what has: whoever is killed meanwhile has less to read again."""
        until = _monotonic() + self._limits.drain_s
        while tasks := {work.task for state in given for work in state.under_way}:
            left_s = until - _monotonic()
            if left_s <= 0 or self._failure is not None:
                return
            await asyncio.wait(tasks, timeout=min(left_s, self._limits.commit_interval_s))
            for state in given:  # some have come to where they wait, some cannot end in time
                self._dispatcher.hand_over_waiting(state, reason, until - _monotonic())
            await self._commit(given)

    async def _keep_up(self, liveness: Liveness) -> None:
        """Commit, measure, look after what is stuck."""
        last = _monotonic()
        while True:
            await asyncio.sleep(self._limits.commit_interval_s)
            self._worker.turn()
            now = _monotonic()
            # A process that was stopped for an hour has not worked for an hour.
            self._dispatcher.end_what_is_stuck(min(now - last, 2 * self._limits.commit_interval_s))
            last = now
            assigned = list(self._dispatcher.assigned.values())
            result = None if self._dispatcher.draining else await self._commit(assigned)
            shown = show_lag(self._consumer, assigned, self._paused, self._telemetry, self._clock())
            self._worker.behind(await shown)
            await liveness.look(self._seen(), result)

    def _seen(self) -> LoopActivity:
        return LoopActivity(
            now=_monotonic(),
            polled_at=self._polled_at,
            assigned=list(self._dispatcher.assigned.values()),
            paused=self._paused,
            draining=self._dispatcher.draining,
            in_flight=self._dispatcher.taken,
            ended=self._dispatcher.ended,
            waits_for_limits=self._worker.works.wait_for_limits,
        )

    def _done_to(self, one: PartitionState) -> int | None:
        """The offset to commit: behind what is done, or where another log has been begun, if any.

        What is done of a log that is no more says nothing of the one that is read now, of which
        nothing may have been given yet.
        """
        if self._consumer.is_old(one.partition):
            return None
        position = self._consumer.position(one.partition)
        if position is not None and position < one.goes_on_at and not one.next_log:
            return position
        return one.watermark

    async def _commit(self, assigned: Collection[PartitionState]) -> str | None:
        """Commit the watermarks that have moved; the result, None when none has."""
        due = {
            one: mark
            for one in assigned
            if (mark := self._done_to(one)) is not None and mark != one.committed
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
