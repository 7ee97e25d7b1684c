"""One assignment of one partition: what has been read, what waits for a place, what is under way.

A new assignment of the same partition is a new object, so nothing that belongs to the old one can
move the new watermark.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from monitor.ingest.consumer.offsets import OffsetTracker
from monitor.ingest.work import Work
from monitor.kafka.record import KafkaRecord, Partition, last_offset, size, weight


class Pending(NamedTuple):
    """A record that waits for a place, and the last offset behind it that needs no work."""

    record: KafkaRecord
    through: int


@dataclass(eq=False)
class PartitionState:
    """One assignment of one partition, and of one log; times in epoch seconds.

    Once it is ``fenced``, what ends is not settled any more, so nothing more is committed.
    ``next_log`` is what was read of another log that has taken the place of this one: it waits
    until all of this one has ended, since that can be read only now.
    """

    partition: Partition
    tracker: OffsetTracker = field(default_factory=OffsetTracker)
    waiting: deque[Pending] = field(default_factory=deque)
    under_way: set[Work] = field(default_factory=set)
    committed: int | None = None
    last_record_time: float = 0.0
    fenced: bool = False
    #: The last offset that was read; -1 before the first.
    read_to: int = -1
    #: What keys and values take, of records that wait, and of those under way.
    bytes_waiting: int = 0
    bytes_under_way: int = 0
    next_log: list[Sequence[KafkaRecord]] = field(default_factory=list)
    is_left: bool = False
    _first_weighs: int | None = None

    def read(self, batch: Sequence[KafkaRecord], left: Sequence[KafkaRecord]) -> None:
        """A batch of the partition has been read, and ``left`` of it needs work, in order.

        The runs in between advance the watermark at once, or with the record before them.
        """
        last = last_offset(batch[-1])
        ends = [record.offset - 1 for record in left[1:]]
        pending = [
            Pending(record, through) for record, through in zip(left, [*ends, last], strict=False)
        ]
        before = left[0].offset - 1 if left else last
        if self.waiting:
            self.waiting[-1] = self.waiting[-1]._replace(through=before)
        elif before >= batch[0].offset:
            self.tracker.skip(before)
        self.waiting.extend(pending)
        self.bytes_waiting += sum(map(size, left))
        self.read_to = last
        self.last_record_time = batch[-1].timestamp / 1000

    @property
    def first_weighs(self) -> int:
        """The ``weight`` of the first that waits, counted once: each work that ends asks for it."""
        if self._first_weighs is None:
            self._first_weighs = weight(self.waiting[0].record.value)
        return self._first_weighs

    def next_pending(self) -> Pending:
        """The first that waits, which does so no more."""
        self._first_weighs = None
        pending = self.waiting.popleft()
        self.bytes_waiting -= size(pending.record)
        return pending

    def leave_waiting(self) -> None:
        """What waits is somebody else's, who reads on where the next log begins."""
        self.waiting.clear()
        self._first_weighs = None
        self.bytes_waiting = 0
        self.is_left = True

    def skip(self, pending: Pending) -> None:
        """The record needs no work after all."""
        self.tracker.skip(pending.through)

    def begin(self, pending: Pending, work: Work, now: float) -> None:
        """Work on the record begins."""
        record = pending.record
        self.tracker.take(record.offset, taken_at=now, record_time=record.timestamp / 1000)
        if pending.through > record.offset:
            self.tracker.skip(pending.through)
        self.under_way.add(work)
        work.size = size(record)
        self.bytes_under_way += work.size

    def end(self, work: Work) -> None:
        """Work has ended, with whatever it produced on Kafka."""
        self.leave(work)
        self.tracker.settle(work.offset)

    def leave(self, work: Work) -> None:
        """Work has ended without a result: its offset stays open, so that it is read again."""
        self.under_way.remove(work)
        self.bytes_under_way -= work.size

    def reach(self, position: int) -> None:
        """Nothing before ``position`` is left to read.

        Marks of transactions, and what compaction has taken, hold offsets, too: where all that was
        read is done, they are, as well.
        """
        is_done = not (self.waiting or self.under_way or self.next_log or self.is_left)
        if is_done and position > (self.tracker.reached or 0):
            self.tracker.skip(position - 1)

    @property
    def goes_on_at(self) -> int:
        """What is read below this offset is of another log.

        It is behind what was read, and behind the position where nothing was left to read.
        """
        return max(self.read_to + 1, self.tracker.reached or 0)

    @property
    def watermark(self) -> int | None:
        """The offset to commit: where the next log begins, if there is one."""
        return self.next_log[0][0].offset if self.next_log else self.tracker.watermark

    @property
    def mark(self) -> int | None:
        """The first offset that is not done, also when it still waits; None before the first."""
        watermark = self.watermark
        if watermark is None and self.waiting:
            return self.waiting[0].record.offset
        return watermark

    @property
    def oldest_time(self) -> float:
        """When the first record was written that is not done; 0.0 when nobody knows."""
        if oldest := self.tracker.oldest:
            found = oldest[1]
        elif self.waiting:
            found = self.waiting[0].record.timestamp / 1000
        else:
            found = self.last_record_time
        return max(0.0, found)  # Kafka gives -1 for a record without a time
