"""Who is under way: places are given to records in turns, and fetching pauses where it must."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from monitor.ingest.consumer.assignment import PartitionState
from monitor.ingest.consumer.worker import LoopLimits, Worker
from monitor.ingest.work import PARKED_STATES, Work
from monitor.kafka.record import KafkaRecord, Partition, Unreadable
from monitor.records import Reason

PAUSE_AT, RESUME_AT = 0.75, 0.25
#: A record that weighs so much is large: what is made of its JSON may take fifty times its bytes,
#: so that large ones of only so much weight are under way at once; one always may be.
LARGE, MOST_LARGE = 262_144, 1_572_864


class Dispatcher:
    """The assignment and the work under way; nothing here waits for anything.

    ``clock`` gives epoch seconds; ``failed`` is told of errors that nothing can be made of.
    """

    def __init__(
        self,
        worker: Worker,
        limits: LoopLimits,
        clock: Callable[[], float],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._worker, self._limits = worker, limits
        self._clock, self._failed = clock, failed
        self.assigned: dict[Partition, PartitionState] = {}
        self.in_flight = self.ended = 0
        self.draining = False
        #: Who has records that wait, the next one first.
        self._turns: deque[PartitionState] = deque()
        self._full = False
        self._large: set[Work] = set()
        self._goes_on = False

    def assign(self, partitions: Sequence[Partition]) -> None:
        """Fresh trackers: from now on these partitions, and nothing of what was before."""
        for state in self.assigned.values():  # never without having been revoked; and if so, fenced
            self.fence(state, Reason.REVOKED)
        self.assigned = {partition: PartitionState(partition) for partition in partitions}
        self._turns.clear()
        self.draining = self._full = False

    def receive(self, batch: Sequence[KafkaRecord]) -> None:
        """A batch of one partition has been read."""
        state = self.assigned.get(Partition(batch[0].topic, batch[0].partition))
        if state is None or self.draining:  # revoked since it was read, the next owner reads it
            return
        for run in _runs(batch):
            if state.next_log or run[0].offset < state.goes_on_at:
                state.next_log.append(run)
            else:
                self._queue(state, run)

    def _queue(self, state: PartitionState, batch: Sequence[KafkaRecord]) -> None:
        has_turn = bool(state.waiting)
        state.read(batch, self._worker.prefilter(batch))
        if state.waiting and not has_turn:
            self._turns.append(state)

    def hand_out(self) -> None:
        """Fill the places that are free, one record of each partition in turn.

        After some of them others have their turn on the event loop: to decode takes a while.
        """
        self._begin_next_logs()
        without_room, begun = [], 0
        while self._turns and self._has_place() and not self.draining:
            if begun > LARGE:
                self._go_on_soon()
                break
            state = self._turns.popleft()
            if state.fenced or not state.waiting:
                continue
            found = state.first_weighs
            if not self._may_begin(state, found):
                without_room.append(state)
                continue
            begun += found
            self._begin(state, found)
            if state.waiting:
                self._turns.append(state)
        self._turns.extend(without_room)

    def _may_begin(self, state: PartitionState, weighs: int) -> bool:
        if not self._bears(weighs) or self._worker.room(state.partition) == 0:
            return False
        return not self._worker.awaits(state.waiting[0].record)

    def _bears(self, found: int) -> bool:
        """Whether memory bears a record of this weight beside the large ones under way."""
        if found <= LARGE:
            return True
        under_way = sum(w.weight for w in self._large if w.state not in PARKED_STATES)
        return not under_way or under_way + found <= MOST_LARGE

    def _go_on_soon(self) -> None:
        if not self._goes_on:
            self._goes_on = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._goes_on = False
        try:
            self.hand_out()
        except Exception as bug:  # noqa: BLE001 - in a callback it would be lost
            self._failed(bug)

    def _has_place(self) -> bool:
        """Whether one more record may begin; a large one does when it is alone."""
        under_way = sum(state.bytes_under_way for state in self.assigned.values())
        return self.taken < self._limits.max_in_flight and under_way <= self._limits.most_bytes

    def _begin_next_logs(self) -> None:
        """Go on in the logs that have taken the place of others, where all of those has ended."""
        for state in [state for state in self.assigned.values() if state.next_log]:
            if state.is_left or state.fenced or state.waiting:
                continue
            if state.under_way:
                self._worker.log_ended(state.partition)
                continue
            self.assigned[state.partition] = PartitionState(state.partition)
            for batch in state.next_log:
                self.receive(batch)

    def _begin(self, state: PartitionState, weighs: int) -> None:
        pending = state.next_pending()
        work = self._worker.begin(pending.record)
        if work is None:
            state.skip(pending)
            return
        state.begin(pending, work, self._clock())
        self.in_flight += 1
        work.weight = weighs
        if weighs > LARGE:
            self._large.add(work)
        work.start().add_done_callback(lambda done: self._done(done, work, state))

    def _done(self, task: asyncio.Task[None], work: Work, state: PartitionState) -> None:
        self.in_flight -= 1
        self.ended += 1
        self._large.discard(work)
        error = None if task.cancelled() else task.exception()
        if state.fenced or (task.cancelled() and work.is_handed_over):
            state.leave(work)  # the offset stays open, so that it is never committed
            return
        if task.cancelled() or error is not None:
            self._failed(error or RuntimeError("work was cancelled by nobody"))
            return
        try:
            state.end(work)
            self.hand_out()
        except Exception as bug:  # noqa: BLE001 - in a callback it would be lost
            self._failed(bug)

    def full(self) -> frozenset[Partition]:
        """The partitions of which nothing more may be fetched for now.

        A partition with nothing under way is read however much is: no other can keep it waiting.
        """
        cap = self._limits.max_in_flight
        if self.taken >= PAUSE_AT * cap:
            self._full = True
        elif self.taken <= RESUME_AT * cap:
            self._full = False
        bytes_held = sum(one.bytes_waiting + one.bytes_under_way for one in self.assigned.values())
        heavy = bytes_held > self._limits.most_bytes
        return frozenset(p for p, state in self.assigned.items() if self._is_full(state, heavy))

    @property
    def taken(self) -> int:
        """How many works are under way that may be expected to end."""
        return self.in_flight - self._worker.works.parked

    def _is_full(self, state: PartitionState, heavy: bool) -> bool:
        return (
            bool(state.waiting or state.next_log)
            or ((self._full or heavy) and bool(state.under_way))
            or state.tracker.span > self._limits.most_span
            or self._worker.room(state.partition) == 0
        )

    def end_what_is_stuck(self, elapsed_s: float) -> None:
        """Work that is about something of its own for too long goes to the dead letters."""
        for state in self.assigned.values():
            for work in state.under_way:
                work.end_if_stuck(elapsed_s, self._limits.stuck_after_s)

    def hand_over_waiting(self, state: PartitionState, reason: Reason, within_s: float) -> None:
        """What waits is left to the next owner at once; the rest may end in so many seconds."""
        for work in state.under_way:
            if work.may_be_left(within_s):
                work.end(reason)

    def fence(self, state: PartitionState, reason: Reason) -> list[asyncio.Task[None]]:
        """From now on nothing of it is settled; the tasks of the work that was told to end."""
        state.fenced = True
        for work in state.under_way:
            work.end(reason)
        return [work.task for work in state.under_way]


def _runs(batch: Sequence[KafkaRecord]) -> Iterator[Sequence[KafkaRecord]]:
    """Parts of one log each; and behind what stands for many offsets begins another part.

    Blocks are cut of all offsets of a part: a gap between two parts is none of them.
    """
    begin = 0
    for index in range(1, len(batch)):
        before = batch[index - 1]
        if batch[index].offset <= before.offset or isinstance(before, Unreadable):
            yield batch[begin:index]
            begin = index
    yield batch[begin:] if begin else batch
