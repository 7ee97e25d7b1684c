"""How the offsets of one partition are cut in blocks, whoever reads them and however often.

Blocks are aligned (block = offset // B, B a power of two), so that two readers cut in the same
places. A block that is closed early ends at the last offset read, and its rest is a block of its
own. Another length holds from the next offset on that both lengths divide; on the way to a longer
one blocks are as long as they can be where they begin. Who begins to read elsewhere than where a
block begins cuts shorter ones up to there: of blocks of whatever lengths two are either one within
the other, or apart, so that what somebody else has judged of an overlap never stands for a part of
a block only.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

#: Longer blocks would hold too many interactions in memory.
LONGEST = 4_096
#: Seconds that a block stays open at least, if its end does not come.
SHORTEST_WAIT_S = 60.0
#: And at most: however rare the traffic, an interaction does not wait for longer.
LONGEST_WAIT_S = 600.0


class BlockPlan(NamedTuple):
    """What holds for blocks from now on: their length B, and the share of the rate that is taken.

    ``share`` is below 1 where the monitor is behind, and above 1 in a burst.
    """

    length: int
    share: float = 1.0


class BlockSpan(NamedTuple):
    """A block's offsets, both included; the length was fixed when it was read.

    So was the share, but who is behind when the block begins takes less of it.
    """

    first: int
    last: int
    share: float = 1.0
    length: int = 1


class OpenPicks(NamedTuple):
    """What has begun in slots that have no pick yet: their offsets, and how much of their picks.

    A block that is half full, or has waited for half of its time, has half a pick for each slot.
    ``slots`` counts those of open blocks.
    """

    picks: float = 0.0
    offsets: float = 0.0
    slots: int = 0


class BlockCutter:
    """The blocks of one partition, as one reader meets them; offsets only grow.

    >>> cutting = BlockCutter()
    >>> [(span.first, span.last) for span in cutting.read(40, 70, BlockPlan(32))]
    [(40, 47), (48, 63), (64, 95)]
    >>> cutting.at(64)
    BlockSpan(first=64, last=95, share=1.0, length=32)
    >>> cutting.close(70)[:2], cutting.at(71)[:2]
    ((64, 70), (71, 95))
    """

    def __init__(self) -> None:
        self._spans: deque[BlockSpan] = deque()
        self._length = 0
        self._last: int | None = None

    def forget(self, before: int) -> None:
        """Let go of the blocks that end before this offset."""
        while self._spans and self._spans[0].last < before:
            self._spans.popleft()

    def read(self, first: int, last: int, plan: BlockPlan) -> list[BlockSpan]:
        """Cut what is read now: the blocks that hold offsets from ``first`` to ``last``."""
        start = first if self._last is None else self._last + 1
        while start <= last:
            self._follow(start, plan.length)
            # Over a gap in the log nothing is cut but the block that reading goes on in.
            start = max(start, first // self._length * self._length)
            end = start + min(self._length, _largest_at(start)) - 1
            if plan.length == self._length == 1:  # each a block of its own, and all alike
                end = max(start, last)
            self._spans.append(BlockSpan(start, end, plan.share, self._length))
            self._last, start = end, end + 1
        return [span for span in self._spans if span.first <= last and span.last >= first]

    def at(self, offset: int) -> BlockSpan:
        """The block of an offset that was read; those before it are forgotten.

        Raises ``ValueError`` for an offset that was not read, or is in a block that is forgotten.
        """
        self.forget(offset)
        if not self._spans or self._spans[0].first > offset:
            raise ValueError(f"offset {offset} was not read, or is behind")
        return self._spans[0]

    def close(self, offset: int) -> BlockSpan:
        """End the block of this offset here; the rest of it is the next block."""
        whole = self.at(offset)
        if offset == whole.last:
            return whole
        self._spans[0] = whole._replace(last=offset)
        self._spans.insert(1, whole._replace(first=offset + 1))
        return self._spans[0]

    def _follow(self, start: int, length: int) -> None:
        """Take another length, or one on the way to it, where both divide ``start``."""
        if self._length and length > self._length:
            length = min(length, _largest_at(start))
        if not self._length or start % max(self._length, length) == 0:
            self._length = length


def _largest_at(offset: int) -> int:
    """The longest block that may begin at this offset.

    >>> [_largest_at(offset) for offset in (35, 36, 48, 0)]
    [1, 4, 16, 4096]
    """
    return min(LONGEST, offset & -offset or LONGEST)


class FillRate:
    """How long blocks of one partition take to fill, from those that have been read.

    >>> filling = FillRate()
    >>> filling.wait_s(32)
    60.0
    >>> filling.closed(8, 30.0); filling.wait_s(32)
    240.0
    """

    def __init__(self) -> None:
        self._seconds_per_offset: float | None = None

    def closed(self, offsets: int, seconds: float) -> None:
        """A block has closed that took this long to grow by so many offsets."""
        found = max(0.0, seconds) / max(1, offsets)
        before = self._seconds_per_offset
        self._seconds_per_offset = found if before is None else (before + found) / 2

    def wait_s(self, length: int) -> float:
        """T: for how long a block of this length stays open, in seconds."""
        expected = (self._seconds_per_offset or 0.0) * length
        return min(LONGEST_WAIT_S, max(SHORTEST_WAIT_S, 2 * expected))
