"""The slots of a detector held against another baseline: made in steps, while slots come and go.

A day of slots takes seconds. Until it is complete the detector goes on as before; then all of it
holds at once, and is the same as if it had been made in one step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from monitor.exporter.scores.comparison import BaselineComparison
from monitor.exporter.scores.observation import Observation
from monitor.stats.evidence_sequence import PickPlace

#: Slots in a step, which takes a few milliseconds.
STEP: Final = 200
Entry = tuple[Observation, float | None]
#: Slots by hours of event time.
SlotsByHour = Mapping[int, Mapping[PickPlace, Entry]]


class Rebuilding:
    """The sequence of ``slots``, which may change between two steps if they are told here, too."""

    def __init__(self, slots: SlotsByHour, comparison: BaselineComparison) -> None:
        self._slots, self.comparison = slots, comparison
        self.sequence = comparison.sequence()
        #: So many slots in a step.
        self.step = STEP
        #: What came or went (None) of hours that had been looked at.
        self._changes: list[tuple[PickPlace, Entry | None]] = []
        self._hour, self._floor = -math.inf, -math.inf
        self.is_filled = False

    def put(self, place: PickPlace, entry: Entry) -> None:
        """A slot counts."""
        if self.is_filled:
            self._hold(place, entry)
        elif hour_of(place[0]) <= self._hour:
            self._changes.append((place, entry))

    def take(self, place: PickPlace) -> None:
        """A slot counts no longer."""
        if self.is_filled:
            self.sequence.take(place)
        elif hour_of(place[0]) <= self._hour:
            self._changes.append((place, None))

    def drop_before(self, event_time: float) -> None:
        """The slots before this time are forgotten."""
        self._floor = event_time
        self.sequence.drop_before(event_time)

    def filled(self) -> Iterator[None]:
        """Hold all slots against the baseline, step by step."""
        while later := [hour for hour in self._slots if hour > self._hour]:
            self._hour = min(later)
            held = sorted(self._slots[int(self._hour)].items(), key=lambda item: item[0])
            for number, (place, entry) in enumerate(held, 1):
                self._hold(place, entry)
                if number % self.step == 0:
                    yield
            yield
        # What was dropped amid an hour has been put in again by the rest of it.
        self.sequence.drop_before(self._floor)
        self.is_filled = True
        for place, changed in self._changes:
            if place[0] < self._floor:
                continue
            if changed is None:
                self.sequence.take(place)
            else:
                self._hold(place, changed)
        self._changes.clear()

    def _hold(self, place: PickPlace, entry: Entry) -> None:
        self.sequence.put(place, self.comparison.compared(place[0], *entry))

    def followed(self, starts: tuple[float, float], end: float, threshold: float) -> bool:
        """Take a step of the evidence since one of the starts; False when none is left."""
        for start in starts:
            if self.sequence.left(start, end):
                self.sequence.prepare(start, end, threshold, self.step)
                return True
        return False


def hour_of(event_time: float) -> int:
    """The hour of an event time, from the epoch on."""
    return math.floor(event_time) // 3_600
