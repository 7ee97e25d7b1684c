"""Gathers sampled interactions into slots, until their blocks close; one for all partitions.

The first member of a slot begins its work, and holds the watermark; the others only join. The work
of every slot of a block ends with the last of them, so that the watermark stands at the beginning
of a block, and whoever reads again meets the same slots with the same members.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, Protocol, TypeVar

from monitor.kafka.record import KafkaRecord, Partition
from monitor.sampling.blocks import BlockCutter, BlockPlan, BlockSpan, FillRate, OpenPicks

T = TypeVar("T")
#: Interactions that may wait for their pick in closed blocks: their texts are kept.
MOST_UNPICKED = 20_000


class Block(Generic[T]):
    """An open or closed block: its slots by their key."""

    def __init__(self, partition: Partition, span: BlockSpan, opened_at: float) -> None:
        self.partition, self.span, self.opened_at = partition, span, opened_at
        self.slots: dict[Hashable, Slot[T]] = {}
        self.closed, self.done = asyncio.Event(), asyncio.Event()
        self._finished = 0

    @property
    def length(self) -> int:
        """Its offsets, whether they hold members or not."""
        return self.span.last - self.span.first + 1

    def finish(self) -> None:
        """One of the slots has its record on Kafka, or will have none."""
        self._finished += 1
        if self._finished == len(self.slots):
            self.done.set()


class Slot(Generic[T]):
    """The members of a block that one judgement stands for; offsets are both included.

    ``interactions`` counts all that have joined; one that stands in the block twice is one member.
    """

    def __init__(self, block: Block[T]) -> None:
        self.block = block
        self.first_offset = self.last_offset = -1
        self.members: dict[str, T] = {}
        self.interactions = 0
        self.is_picked = False

    def put(self, offset: int, interaction_id: str, member: T) -> None:
        """One more interaction."""
        self.interactions += 1
        if interaction_id in self.members:
            return
        if not self.members:
            self.first_offset = offset
        self.last_offset = offset
        self.members[interaction_id] = member


class _PartitionBuffer(Generic[T]):
    """One partition: what has been read of it, and what is still to begin."""

    def __init__(self) -> None:
        self.cutter, self.fill_rate = BlockCutter(), FillRate()
        self.read_to = self.begun = self.last_left = self.shared_to = -1
        self.share = 1.0
        self.open: Block[T] | None = None

    @property
    def reached(self) -> int:
        """The last offset that is behind us."""
        return self.begun if self.begun < self.last_left else self.read_to

    def begin(self, offset: int, share: float) -> BlockSpan:
        """The record at this offset begins; who is behind takes this share of its block, or less.

        Of all of the block: what was read before it was known may have to wait for long.
        """
        self.begun, span = offset, self.cutter.at(offset)
        if offset > self.shared_to:
            self.share = min(span.share, share) if share < 1.0 else span.share
            self.shared_to = offset if span.length == 1 else span.last
        return span._replace(share=self.share)

    def under_way(self, now: float) -> OpenPicks:
        """What has begun in the block that is open."""
        block = self.open
        if block is None:
            return OpenPicks()
        begun = min(self.reached, block.span.last) - block.span.first + 1
        waited = (now - block.opened_at) / self.fill_rate.wait_s(block.length)
        slots = len(block.slots)
        return OpenPicks(slots * min(1.0, max(begun / block.length, waited)), slots * begun, slots)


class Planned(Protocol):
    """Whoever says how long blocks are: the pace."""

    @property
    def plan(self) -> BlockPlan:
        """What holds for blocks from now on."""


class SlotBuffer(Generic[T]):
    """``pace`` says what holds for blocks from now on; ``monotonic`` gives seconds."""

    def __init__(self, pace: Planned, monotonic: Callable[[], float]) -> None:
        self._pace, self._monotonic = pace, monotonic
        self._buffers: dict[Partition, _PartitionBuffer[T]] = {}
        #: Interactions whose block is closed, and of which none has been picked yet.
        self.unpicked = 0
        self._closed = OpenPicks()

    def under_way(self) -> OpenPicks:
        """What has begun and has no pick yet, in open blocks and closed ones."""
        now = self._monotonic()
        each = [self._closed, *(buffer.under_way(now) for buffer in self._buffers.values())]
        return OpenPicks(*map(sum, zip(*each, strict=True)))

    @property
    def length(self) -> int:
        """The length of the next block."""
        return self._pace.plan.length

    def read(self, batch: Sequence[KafkaRecord]) -> list[BlockSpan]:
        """A batch of one partition has been read: the blocks that it lies in."""
        partition = Partition(batch[0].topic, batch[0].partition)
        first, last = batch[0].offset, batch[-1].offset
        buffer = self._buffers.get(partition)
        if buffer is None or first <= buffer.read_to:  # assigned anew: an open block is no more
            buffer = self._buffers[partition] = _PartitionBuffer()
        if buffer.begun >= buffer.last_left:
            buffer.cutter.forget(first)
        buffer.read_to = last
        return buffer.cutter.read(first, last, self._pace.plan)

    def left(self, batch: Sequence[KafkaRecord], left: Sequence[KafkaRecord]) -> None:
        """These of the batch are to begin, in order; the others have ended."""
        buffer = self._buffers[Partition(batch[0].topic, batch[0].partition)]
        if left:
            buffer.last_left = left[-1].offset
        self._close_what_is_full(buffer, buffer.reached)

    def begin(self, partition: Partition, offset: int) -> BlockSpan:
        """The record at this offset begins: a block before it is full. Its own block."""
        buffer = self._buffers[partition]
        self._close_what_is_full(buffer, offset - 1)
        return buffer.begin(offset, self._pace.plan.share)

    def passed(self, partition: Partition) -> None:
        """The record that began last has joined a slot, or has ended otherwise."""
        buffer = self._buffers[partition]
        self._close_what_is_full(buffer, buffer.reached)

    def join(
        self, record: KafkaRecord, key: Hashable, interaction_id: str, member: T
    ) -> Slot[T] | None:
        """Put an interaction into its slot; the slot where it is the first member."""
        partition = Partition(record.topic, record.partition)
        buffer = self._buffers[partition]
        if buffer.open is None:
            span = buffer.cutter.at(record.offset)
            buffer.open = Block(partition, span, self._monotonic())
        slots = buffer.open.slots
        is_new = key not in slots
        slot = slots.setdefault(key, Slot(buffer.open))
        slot.put(record.offset, interaction_id, member)
        return slot if is_new else None

    def picked(self, slot: Slot[T]) -> None:
        """The slot has its pick: nothing is kept of the others."""
        slot.is_picked = True
        slot.members.clear()
        self.unpicked -= slot.interactions
        self._count_closed(-1, slot.block)

    def abandon(self, slot: Slot[T]) -> None:
        """The slot is left to the next owner of its partition, and so is its block."""
        if not slot.block.closed.is_set():
            buffer = self._buffers[slot.block.partition]
            if buffer.open is slot.block:
                buffer.open = None
        elif not slot.is_picked:
            self.picked(slot)

    def end(self, partition: Partition) -> None:
        """No more comes of the partition's log: an open block closes where reading stands."""
        buffer = self._buffers.get(partition)
        if buffer is not None and buffer.open is not None:
            self._close_here(buffer, buffer.open)

    def turn(self) -> None:
        """Time passes: blocks that have waited for long enough close where reading stands."""
        now = self._monotonic()
        for buffer in self._buffers.values():
            if buffer.open is None:
                continue
            block, waited_s = buffer.open, now - buffer.open.opened_at
            if waited_s >= buffer.fill_rate.wait_s(block.length):
                self._close_here(buffer, block)

    def _close_here(self, buffer: _PartitionBuffer[T], block: Block[T]) -> None:
        block.span = buffer.cutter.close(min(buffer.reached, block.span.last))
        self._close(buffer)

    def _close_what_is_full(self, buffer: _PartitionBuffer[T], reached: int) -> None:
        if buffer.open is not None and reached >= buffer.open.span.last:
            self._close(buffer)

    def _close(self, buffer: _PartitionBuffer[T]) -> None:
        block, buffer.open = buffer.open, None
        if block is None:
            return
        grown = block.span.last - min(s.first_offset for s in block.slots.values())
        buffer.fill_rate.closed(grown, self._monotonic() - block.opened_at)
        self.unpicked += sum(slot.interactions for slot in block.slots.values())
        self._count_closed(len(block.slots), block)
        block.closed.set()

    def _count_closed(self, slots: int, block: Block[T]) -> None:
        picks, offsets, _ = self._closed
        self._closed = OpenPicks(picks + slots, offsets + slots * block.length)
