"""Rolling sums of several series that share their slots, kept as slots and not as buckets.

A segment has few slots: a bucket for each of its series and minutes would hold one slot each, and
take more room than the slots themselves. Here each slot is held once, in the order of its bucket,
and moves from one total to the next as it ages. Totals are kept only while they are awake,
so that thousands of segments without a name of their own cost nothing but their slots.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from monitor.stats.sums import ZERO, Sums
from monitor.stats.windows import new_stamp

SlotT = TypeVar("SlotT")
#: Totals of one zone by series.
Zone = dict[str, Sums]
_NOT_YET: Final = -1


class Reading(NamedTuple):
    """One series: its sums in every window, in the order they were given, and in the horizon."""

    windows: tuple[Sums, ...]
    horizon: Sums


class SparseRollingSums(Generic[SlotT]):
    """Slots with the sums that each adds to one or more series.

    ``windows_s`` are lengths in whole buckets of ``bucket_s`` seconds. Zone 0 is what lies ahead
    of the current bucket, zone i + 1 what the i-th shortest window holds beyond the next shorter
    one, the last zone the rest. Totals are kept by spans of ``span_s`` seconds of event time:
    a span that is dropped as a whole takes no adding up.

    >>> from monitor.stats.sums import SCALE, terms
    >>> half = terms(m=1, q=1.0, u=1.0, f_mean=0.0, f=0.0, value_as_worse=0.5, failed=False)
    >>> sums = SparseRollingSums(60, 86_400, [300, 3_600], lambda metric: [(metric, half)])
    >>> sums.advance(300.0)
    >>> sums.add(30.0, "faithfulness")
    >>> sums.wake()
    >>> reading = sums.read()["faithfulness"]
    >>> [window.scored for window in reading.windows], reading.horizon.wg / SCALE
    ([0, 1], 0.5)
    """

    def __init__(
        self,
        bucket_s: int,
        span_s: int,
        windows_s: Sequence[int],
        sums_of: Callable[[SlotT], Iterable[tuple[str, Sums]]],
    ) -> None:
        self._bucket_s, self._span_s = bucket_s, span_s
        lengths = sorted({seconds // bucket_s for seconds in windows_s})
        self._lengths = lengths
        self._zones_of = [lengths.index(seconds // bucket_s) + 2 for seconds in windows_s]
        self._sums_of = sums_of
        self._buckets = array("q")
        self._slots: list[SlotT] = []
        self._totals: dict[int, list[Zone]] | None = None
        self._current = _NOT_YET
        self._oldest = 0
        self.stamp = new_stamp()

    def __len__(self) -> int:
        return len(self._slots)

    def wake(self) -> None:
        """Keep totals from now on."""
        if self._totals is None:
            self._totals = {}
            self.stamp = new_stamp()
            for bucket, slot in zip(self._buckets, self._slots, strict=True):
                self._count(bucket, slot, +1)

    def sleep(self) -> None:
        """Keep the slots only."""
        self._totals = None

    def add(self, event_time: float, slot: SlotT) -> None:
        """Take in a slot at its event time in seconds since the epoch, unless that was dropped."""
        bucket = self._bucket(event_time)
        if bucket < self._oldest:
            return
        index = bisect_right(self._buckets, bucket)
        self._buckets.insert(index, bucket)
        self._slots.insert(index, slot)
        self._count(bucket, slot, +1)

    def take(self, event_time: float, slot: SlotT) -> None:
        """Take out the very slot that was taken in, unless it was dropped; else ``KeyError``."""
        bucket = self._bucket(event_time)
        if bucket < self._oldest:
            return
        for index in range(*self._between(bucket, bucket + 1)):
            if self._slots[index] is slot:
                del self._buckets[index], self._slots[index]
                self._count(bucket, slot, -1)
                return
        raise KeyError(event_time)

    def advance(self, now: float) -> None:
        """Let the windows end with the bucket of ``now``; a step back is followed too."""
        before, self._current = self._current, self._bucket(now)
        if self._totals is None or before == self._current:
            return
        for zone, (old, new) in enumerate(
            zip(self._edges(before), self._edges(self._current), strict=True)
        ):
            first, beyond = self._between(min(old, new), max(old, new))
            forward = +1 if new > old else -1
            for index in range(first, beyond):
                zones = self._zones(self._totals, self._buckets[index])
                for name, sums in self._sums_of(self._slots[index]):
                    _put(zones[zone], name, sums, -forward)
                    _put(zones[zone + 1], name, sums, forward)
            if beyond > first:
                self.stamp = new_stamp()

    def drop_before(self, epoch_s: float) -> None:
        """Forget the buckets that end at or before this time; the limit never moves back."""
        oldest = self._bucket(epoch_s)
        if oldest <= self._oldest:
            return
        self._oldest = oldest
        gone = bisect_left(self._buckets, oldest)
        if self._totals is not None and gone:
            self.stamp = new_stamp()
            span = self._span(oldest)
            for index in range(bisect_left(self._buckets, span, key=self._span), gone):
                self._count(self._buckets[index], self._slots[index], -1)
            self._totals = {s: zones for s, zones in self._totals.items() if s >= span}
        del self._buckets[:gone], self._slots[:gone]

    def read(self) -> Mapping[str, Reading]:
        """The sums of every series that has slots up to the current bucket; only when awake."""
        spans = list((self._totals or {}).values())
        names = sorted({name for zones in spans for zone in zones[1:] for name in zone})
        found = {name: self._reading(name, spans) for name in names}
        return {name: reading for name, reading in found.items() if reading.horizon.w}

    def _reading(self, name: str, spans: list[list[Zone]]) -> Reading:
        total, up_to = ZERO, [ZERO]
        for zone in range(1, len(self._lengths) + 2):
            for zones in spans:
                part = zones[zone].get(name)
                if part is not None:
                    total = total.plus(part)
            up_to.append(total)
        return Reading(tuple(up_to[zone - 1] for zone in self._zones_of), total)

    def _count(self, bucket: int, slot: SlotT, sign: int) -> None:
        """Add a slot to the totals of its zone, or take it away."""
        if self._totals is None:
            return
        self.stamp = new_stamp()
        totals = self._zones(self._totals, bucket)[self._zone(bucket)]
        for name, sums in self._sums_of(slot):
            _put(totals, name, sums, sign)

    def _zones(self, totals: dict[int, list[Zone]], bucket: int) -> list[Zone]:
        """The totals of the span that a bucket lies in."""
        span = bucket * self._bucket_s // self._span_s
        found = totals.get(span)
        if found is None:
            found = totals[span] = [{} for _ in range(len(self._lengths) + 2)]
        return found

    def _edges(self, current: int) -> list[int]:
        """The bucket that a slot must lie before to be past zone 0, 1, … ."""
        return [current + 1, *(current + 1 - length for length in self._lengths)]

    def _zone(self, bucket: int) -> int:
        return sum(bucket < edge for edge in self._edges(self._current))

    def _between(self, first: int, beyond: int) -> tuple[int, int]:
        return bisect_left(self._buckets, first), bisect_left(self._buckets, beyond)

    def _bucket(self, epoch_s: float) -> int:
        return math.floor(epoch_s) // self._bucket_s

    def _span(self, bucket: int) -> int:
        return bucket * self._bucket_s // self._span_s


def _put(totals: Zone, name: str, sums: Sums, sign: int) -> None:
    held = totals.get(name, ZERO)
    totals[name] = held.plus(sums) if sign > 0 else held.minus(sums)
