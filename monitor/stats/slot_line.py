"""Which slots of one partition count, where several cover the same offset."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

from monitor.stats.candidates import Candidate, SlotChange

SlotPlace = tuple[int, int, str]

_NOTHING_YET: Final = -1


class Dropped(NamedTuple):
    """``slots`` that do not count, and the ``offsets`` that only such slots cover."""

    slots: int
    offsets: int

    def plus(self, other: Dropped) -> Dropped:
        """Those of both.

        >>> Dropped(1, 3).plus(Dropped(2, 0))
        Dropped(slots=3, offsets=3)
        """
        return Dropped(self.slots + other.slots, self.offsets + other.offsets)


class _LinedSlot:
    """A slot on its line; ``reach`` is the last offset counted, once this slot was looked at."""

    __slots__ = ("candidate", "counts", "reach")

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate
        self.counts = False
        self.reach = _NOTHING_YET


class SlotLine:
    """The slots of one topic, partition, application and kind, in the order of the walk."""

    __slots__ = ("_beyond", "_counted", "_keys", "_slots")

    def __init__(self) -> None:
        self._keys: list[SlotPlace] = []
        self._slots: list[_LinedSlot] = []
        self._counted = 0
        #: Slots that do not count, and end after what counts up to there: next to none.
        self._beyond: set[SlotPlace] = set()

    def add(self, candidate: Candidate) -> list[SlotChange]:
        """Put a slot in its place."""
        key = _place(candidate)
        index = bisect_left(self._keys, key)
        self._keys.insert(index, key)
        self._slots.insert(index, _LinedSlot(candidate))
        return self._walk(index, index + 1, self._reach(index))

    def remove(self, candidates: list[Candidate]) -> list[SlotChange]:
        """Take several slots out at once, so that what lies between is walked only once."""
        leaving = {id(candidate) for candidate in candidates}
        places = [_place(candidate) for candidate in candidates]
        first = bisect_left(self._keys, min(places))
        beyond = bisect_left(self._keys, max(places)) + 1
        reach = self._reach(beyond)
        within = self._slots[first:beyond]
        gone = [slot for slot in within if slot.counts and id(slot.candidate) in leaving]
        for slot in gone:
            slot.counts = False  # for whoever is looking at what counts
        kept = [slot for slot in within if id(slot.candidate) not in leaving]
        self._counted -= len(gone)
        self._beyond.difference_update(places)
        self._keys[first:beyond] = [_place(slot.candidate) for slot in kept]
        self._slots[first:beyond] = kept
        changes = self._walk(first, first + len(kept), reach)
        return [SlotChange(slot.candidate, -1) for slot in gone] + changes

    def counted(self) -> Iterator[Candidate]:
        """The slots that count, in the order of their offsets; those of now that still do then."""
        return (slot.candidate for slot in self._slots.copy() if slot.counts)

    @property
    def is_whole(self) -> bool:
        """Whether every slot counts."""
        return self._counted == len(self._keys)

    def dropped(self) -> Dropped:
        """What overlaps cost: in O(log n) for each slot that another covers in part only."""
        ends: dict[int, int] = {}
        for place in self._beyond:
            for reach, end in self._uncovered(place):
                ends[reach] = max(ends.get(reach, reach), end)
        offsets = sum(end - reach for reach, end in ends.items())
        return Dropped(len(self._keys) - self._counted, offsets)

    def _uncovered(self, place: SlotPlace) -> Iterator[tuple[int, int]]:
        """The parts of a slot that nothing counted covers: the offsets before them, their ends."""
        index = bisect_left(self._keys, place)
        reach, last = self._slots[index].reach, -place[1]
        for behind in range(index + 1, len(self._slots)):
            slot = self._slots[behind]
            if reach >= last or slot.candidate.first_offset > last:
                break
            if slot.counts:
                yield reach, slot.candidate.first_offset - 1
                reach = slot.candidate.last_offset
        if reach < last:
            yield reach, last

    def __len__(self) -> int:
        return len(self._keys)

    def _reach(self, index: int) -> int:
        """The last offset counted before a position."""
        return self._slots[index - 1].reach if index else _NOTHING_YET

    def _walk(self, index: int, until: int, was: int) -> list[SlotChange]:
        """Decide again from ``index`` to ``until``, and on until the reach is what it ``was``.

        From there on nothing can differ: the walk carries nothing else forward.
        """
        changes: list[SlotChange] = []
        reach = self._reach(index)
        while index < len(self._slots) and (index < until or reach != was):
            slot = self._slots[index]
            if index >= until:
                was = slot.reach
            counts = slot.candidate.first_offset > reach
            if counts:
                reach = slot.candidate.last_offset
            if counts != slot.counts:
                changes.append(SlotChange(slot.candidate, 1 if counts else -1))
                self._counted += 1 if counts else -1
            slot.counts, slot.reach = counts, reach
            is_beyond = slot.candidate.last_offset > reach
            (self._beyond.add if is_beyond else self._beyond.discard)(self._keys[index])
            index += 1
        return changes


def _place(candidate: Candidate) -> SlotPlace:
    return candidate.first_offset, -candidate.last_offset, candidate.interaction_id
