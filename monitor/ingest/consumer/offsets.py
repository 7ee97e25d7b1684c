"""The watermark of one partition: the first offset that may not be committed yet."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class _Item(NamedTuple):
    offset: int
    taken_at: float
    record_time: float


class OffsetTracker:
    """Offsets of one assignment of one partition; a new assignment gets a new tracker.

    Offsets are taken in order and settled in any order. Unsampled records only advance ``next``.

    >>> tracker = OffsetTracker()
    >>> for offset in (7, 8, 9): tracker.take(offset, taken_at=0.0, record_time=0.0)
    >>> tracker.settle(8); tracker.watermark
    7
    >>> tracker.settle(7); tracker.watermark
    9
    """

    def __init__(self) -> None:
        self._order: deque[_Item] = deque()
        self._open: set[int] = set()
        self._next: int | None = None

    def skip(self, offset: int) -> None:
        """Nothing up to ``offset``, from the last one taken or skipped on, needs work.

        Raises ``ValueError`` when offsets do not grow.
        """
        self._advance(offset)

    def take(self, offset: int, *, taken_at: float, record_time: float) -> None:
        """Work on the record at ``offset`` begins; both times are in epoch seconds.

        Raises ``ValueError`` when offsets do not grow: the caller has mixed two assignments.
        """
        self._advance(offset)
        self._order.append(_Item(offset, taken_at, record_time))
        self._open.add(offset)

    def _advance(self, offset: int) -> None:
        if self._next is not None and offset < self._next:
            raise ValueError(f"offset {offset} after {self._next - 1}")
        self._next = offset + 1

    def settle(self, offset: int) -> None:
        """The record at ``offset`` has its outcome, and what it produced is on Kafka.

        Raises ``KeyError`` for an offset that is not under way.
        """
        self._open.remove(offset)
        while self._order and self._order[0].offset not in self._open:
            self._order.popleft()

    @property
    def watermark(self) -> int | None:
        """The offset to commit; None before the first record."""
        return self._order[0].offset if self._order else self._next

    @property
    def reached(self) -> int | None:
        """The first offset that was neither taken nor skipped; None before the first record."""
        return self._next

    @property
    def span(self) -> int:
        """Offsets from the watermark to the next one: what a crash now would read again."""
        return self._next - self._order[0].offset if self._order and self._next else 0

    @property
    def in_flight(self) -> int:
        """Number of offsets taken and not settled."""
        return len(self._open)

    @property
    def oldest(self) -> tuple[float, float] | None:
        """(taken at, record time) of the oldest offset under way, in epoch seconds."""
        return self._order[0][1:] if self._order else None
