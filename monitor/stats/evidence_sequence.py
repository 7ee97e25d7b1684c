"""The evidence of one series over its slots in the order of their event times.

Slots come and go in any order; the evidence is a function of the slots held, the start, the end
and the threshold. A slot that comes late recomputes from its minute.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

from monitor.stats.drift import CEILING, NO_EVIDENCE, BetEvidence, Deviation, after, combined

MINUTE_S: Final = 60

#: Event time in epoch seconds and interaction id: the order of the slots.
PickPlace = tuple[float, str]
_LAST: Final = "\U0010ffff"
#: Evidence that was scaled down stands within rounding of the ceiling, thus above this share of it.
_BELOW_CEILING: Final = 0.99
#: Slots let go of in a step, which takes a millisecond.
_LET_GO: Final = 5_000


class EvidenceSequence:
    """The slots of one metric, application and judge that have a baseline.

    >>> trail = EvidenceSequence()
    >>> trail.put((60.0, "a"), Deviation(0.5, 0.25))
    >>> trail.put((0.0, "b"), Deviation(0.0, 0.25))
    >>> trail.evidence(0.0, 59.0, 1e4), trail.evidence(0.0, 60.0, 1e4)[3]
    ((1.0, 1.0, 1.0, 1.0, 1.0), 4.0)
    """

    def __init__(self) -> None:
        self._places: list[PickPlace] = []
        self._deviations: list[Deviation] = []
        self._runs: dict[float, _Run] = {}

    def __len__(self) -> int:
        return len(self._places)

    def put(self, place: PickPlace, deviation: Deviation) -> None:
        """Take in a slot; its place must be free."""
        if not self._places or place > self._places[-1]:
            self._places.append(place)
            self._deviations.append(deviation)
        else:
            index = bisect_left(self._places, place)
            self._places.insert(index, place)
            self._deviations.insert(index, deviation)
        self._forget_from(place)

    def take(self, place: PickPlace) -> None:
        """Take out a slot that was put in."""
        index = bisect_left(self._places, place)
        if self._places[index : index + 1] != [place]:
            raise KeyError(place)
        del self._places[index], self._deviations[index]
        self._forget_from(place)

    def evidence(self, start: float, end: float, threshold: float) -> BetEvidence | None:
        """Over the slots with start ≤ event time ≤ end, beginning with none; None without a slot.

        ``threshold`` is A. Starts that are not asked for again should be dropped by ``keep``.
        """
        return self._follow(start, end, threshold, len(self._places))

    def left(self, start: float, end: float) -> int:
        """How many steps ``evidence`` would take."""
        run, place = self._runs.get(start), (start, "")
        beyond = bisect_right(self._places, (end, _LAST))
        following = bisect_left(self._places, place)
        if run is not None:
            following = max(following, bisect_right(self._places, run.place))
        return max(0, beyond - following)

    def prepare(self, start: float, end: float, threshold: float, most: int) -> None:
        """Take at most so many steps towards what ``evidence`` will be asked for later."""
        self._follow(start, end, threshold, most)

    def _follow(self, start: float, end: float, threshold: float, most: int) -> BetEvidence | None:
        run = self._runs.get(start)
        if run is None:
            run = self._runs[start] = _Run(threshold)
        run.hold_for(threshold)
        first = bisect_left(self._places, (start, ""))
        beyond = bisect_right(self._places, (end, _LAST))
        run.rewind(end)
        following = max(first, bisect_right(self._places, run.place))
        for index in range(following, min(beyond, following + most)):
            run.step(self._places[index], self._deviations[index])
        return run.evidence if beyond > first else None

    def between(self, start: float, end: float) -> list[tuple[PickPlace, Deviation]]:
        """The slots with start ≤ event time ≤ end, in their order."""
        first = bisect_left(self._places, (start, ""))
        beyond = bisect_right(self._places, (end, _LAST))
        return list(zip(self._places[first:beyond], self._deviations[first:beyond], strict=True))

    def drop_before(self, event_time: float) -> None:
        """Forget the slots before this time; a start before it is not asked for any more."""
        gone = bisect_left(self._places, (event_time, ""))
        del self._places[:gone], self._deviations[:gone]

    def emptied(self) -> Iterator[None]:
        """Let go of all slots step by step; nothing is asked for any more.

        Whoever drops a day of them at once waits a tenth of a second.
        """
        while self._places:
            del self._places[-_LET_GO:], self._deviations[-_LET_GO:]
            yield

    def keep(self, starts: set[float]) -> None:
        """Forget the recursions of other starts."""
        self._runs = {start: run for start, run in self._runs.items() if start in starts}

    def _forget_from(self, place: PickPlace) -> None:
        for run in self._runs.values():
            run.forget_from(place)


class _Run:
    """One recursion: where it stands, and how it stood when each minute began."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.evidence: BetEvidence = NO_EVIDENCE
        self.place: PickPlace = (-math.inf, "")
        self._peak = 0.0
        self._minutes: list[int] = []
        #: Evidence, place of the last slot and peak when the minute began.
        self._stood: list[tuple[BetEvidence, PickPlace, float]] = []

    def hold_for(self, threshold: float) -> None:
        """Go back as far as the steps would not have been the same at another threshold.

        Only the ceiling depends on it, and it was not reached before a step came near it: back to
        the beginning of the minute of the first such step, and not to the start.
        """
        most = _BELOW_CEILING * CEILING * min(threshold, self.threshold)
        if threshold != self.threshold and self._peak > most:
            near = bisect_right(self._stood, most, key=lambda stood: stood[2]) - 1
            self._back_to(self._minutes[near])
        self.threshold = threshold

    def step(self, place: PickPlace, deviation: Deviation) -> None:
        """One slot further."""
        minute = _minute(place[0])
        if not self._minutes or minute > self._minutes[-1]:
            self._minutes.append(minute)
            self._stood.append((self.evidence, self.place, self._peak))
        self.evidence = after(self.evidence, deviation, self.threshold)
        self.place = place
        reached = combined(self.evidence)
        if reached > self._peak:
            self._peak = reached

    def forget_from(self, place: PickPlace) -> None:
        """Back to the beginning of the place's minute, if that far has been gone already."""
        if place <= self.place:
            self._back_to(_minute(place[0]))

    def rewind(self, end: float) -> None:
        """Back, if further has been gone than to ``end`` (the clock was set back)."""
        if self.place[0] > end:
            self._back_to(_minute(end))

    def _back_to(self, minute: int) -> None:
        index = bisect_left(self._minutes, minute)
        if index < len(self._minutes):
            self.evidence, self.place, self._peak = self._stood[index]
            del self._minutes[index:], self._stood[index:]


def _minute(event_time: float) -> int:
    return math.floor(event_time) // MINUTE_S
