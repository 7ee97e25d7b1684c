"""One detector: the slots of a metric, application and judge, held against their baseline."""

from __future__ import annotations

import math
from typing import NamedTuple

from monitor.export.slots import Slot
from monitor.stats.baseline import Baseline
from monitor.stats.drift import Deviation, combined, directed, uniform
from monitor.stats.trail import Place, Trail

Entry = tuple[Slot, float | None]


class Counted(NamedTuple):
    """A slot of a detector, its value (larger is worse) and how it stands to the baseline."""

    event_time: float
    interaction_id: str
    slot: Slot
    value: float | None
    deviation: Deviation


class Detector:
    """Slots come and go, and so does the baseline; without one there is no evidence."""

    def __init__(self, metric: str, tolerate: float) -> None:
        self._metric, self._tolerate = metric, tolerate
        self._slots: dict[Place, Entry] = {}
        self._trail = Trail()
        self.baseline: Baseline | None = None

    def __len__(self) -> int:
        return len(self._slots)

    def hold_against(self, baseline: Baseline | None) -> None:
        """Another baseline, or none: all slots are held against it anew."""
        self.baseline = baseline
        self._trail = Trail()
        for place in sorted(self._slots) if baseline is not None else ():
            self._follow(place)

    def put(self, place: Place, entry: Entry) -> None:
        """A slot counts."""
        self._slots[place] = entry
        self._follow(place)

    def take(self, place: Place) -> None:
        """A slot counts no longer."""
        del self._slots[place]
        if self.baseline is not None:
            self._trail.take(place)

    def drop_before(self, event_time: float) -> None:
        """Forget the slots before this time, all at once."""
        self._slots = {place: it for place, it in self._slots.items() if place[0] >= event_time}
        self._trail.drop_before(event_time)

    def evidence(self, starts: tuple[float, float], end: float, threshold: float) -> float | None:
        """R over the slots from the first start to ``end``; None without a slot.

        The second start is kept going: with the next period it becomes the first.
        """
        self._trail.evidence(starts[1], end, threshold)
        found = self._trail.evidence(starts[0], end, threshold)
        self._trail.keep(set(starts))
        return None if found is None else combined(found)

    def counted(self, end: float) -> list[Counted]:
        """All slots up to an event time in their order; none without a baseline."""
        return [
            Counted(*place, *self._slots[place], deviation)
            for place, deviation in self._trail.between(-math.inf, end)
        ]

    def _follow(self, place: Place) -> None:
        if self.baseline is not None:
            self._trail.put(place, self._deviation(self.baseline, *self._slots[place]))

    def _deviation(self, baseline: Baseline, slot: Slot, value: float | None) -> Deviation:
        own = baseline.of(slot.segment, self._tolerate)
        if self._metric not in slot.expected:
            return uniform(value, own)
        members = slot.segments or {slot.segment: 1}
        total = sum(n * baseline.of(name, self._tolerate) for name, n in members.items())
        f_mean, f = slot.expected[self._metric]
        return directed(value, slot.u, f_mean, f, own, total / sum(members.values()))
