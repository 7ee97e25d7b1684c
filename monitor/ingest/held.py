"""One assignment of one partition: what has been read, what waits for a place, what is under way.

A new assignment of the same partition is a new object, so nothing that belongs to the old one can
move the new watermark.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from monitor.ingest.offsets import OffsetTracker
from monitor.kafka.record import KafkaRecord, Partition


class Pick(NamedTuple):
    """A record that waits for a place, and the last offset behind it that needs no work."""

    record: KafkaRecord
    through: int


@dataclass
class UnderWay:
    """Work on one offset; ``busy_s`` is for how long it has been about something of its own."""

    offset: int
    busy_s: float = 0.0
    told: bool = False
    handed_over: bool = False


@dataclass(eq=False)
class Held:
    """One assignment of one partition; times in epoch seconds.

    Once it is ``fenced``, what ends is not settled any more, so nothing more is committed.
    """

    partition: Partition
    tracker: OffsetTracker = field(default_factory=OffsetTracker)
    waiting: deque[Pick] = field(default_factory=deque)
    under_way: dict[asyncio.Task[None], UnderWay] = field(default_factory=dict)
    committed: int | None = None
    last_record_time: float = 0.0
    fenced: bool = False

    def read(self, batch: Sequence[KafkaRecord], left: Sequence[KafkaRecord]) -> None:
        """A batch of the partition has been read, and ``left`` of it needs work, in order.

        The runs in between advance the watermark at once, or with the record before them.
        """
        ends = [record.offset - 1 for record in left[1:]]
        picks = [
            Pick(record, through)
            for record, through in zip(left, [*ends, batch[-1].offset], strict=False)
        ]
        before = left[0].offset - 1 if left else batch[-1].offset
        if self.waiting:
            self.waiting[-1] = self.waiting[-1]._replace(through=before)
        elif before >= batch[0].offset:
            self.tracker.skip(before)
        self.waiting.extend(picks)
        self.last_record_time = batch[-1].timestamp / 1000

    def skip(self, pick: Pick) -> None:
        """The picked record needs no work after all."""
        self.tracker.skip(pick.through)

    def begin(self, pick: Pick, task: asyncio.Task[None], now: float) -> None:
        """Work on the picked record begins."""
        record = pick.record
        self.tracker.take(record.offset, taken_at=now, record_time=record.timestamp / 1000)
        if pick.through > record.offset:
            self.tracker.skip(pick.through)
        self.under_way[task] = UnderWay(record.offset)

    def end(self, task: asyncio.Task[None]) -> None:
        """Work has ended, with whatever it produced on Kafka."""
        self.tracker.settle(self.under_way.pop(task).offset)

    def leave(self, task: asyncio.Task[None]) -> None:
        """Work has ended without a result: its offset stays open, so that it is read again."""
        del self.under_way[task]

    @property
    def mark(self) -> int | None:
        """The first offset that is not done, also when it still waits; None before the first."""
        watermark = self.tracker.watermark
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
