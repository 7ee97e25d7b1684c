"""One detector: the slots of a metric, application and judge, held against their baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from monitor.exporter.scores.comparison import BaselineComparison
from monitor.exporter.scores.feeding import Feeding
from monitor.exporter.scores.observation import Observation
from monitor.exporter.scores.rebuilding import Entry, Rebuilding, hour_of
from monitor.stats.baseline import Baseline, Tolerance
from monitor.stats.drift import Deviation, DriftEvidence
from monitor.stats.evidence_sequence import EvidenceSequence, PickPlace

#: So many steps of the next period's evidence are taken whenever this one's is asked for.
_STEPS_AHEAD: Final = 200


class Counted(NamedTuple):
    """A slot of a detector, its value (larger is worse) and how it stands to the baseline."""

    event_time: float
    interaction_id: str
    slot: Observation
    value: float | None
    deviation: Deviation


class Detector:
    """Slots come and go, and so does the baseline; without one there is no evidence."""

    def __init__(self, metric: str, tolerance: Tolerance) -> None:
        self._metric, self._tolerance = metric, tolerance
        #: By hours of event time, so that a period is dropped without looking at its slots.
        self._slots: dict[int, dict[PickPlace, Entry]] = {}
        self._number = 0
        self._sequence = EvidenceSequence()
        self._next: Rebuilding | None = None
        self._comparison: BaselineComparison | None = None

    def __len__(self) -> int:
        return self._number

    @property
    def baseline(self) -> Baseline | None:
        """What the slots are held against."""
        return None if self._comparison is None else self._comparison.baseline

    def hold_against(self, baseline: Baseline | None) -> EvidenceSequence:
        """Another baseline, or none: all slots are held against it anew, if they are not yet.

        What is given back is not needed any more: a day of slots, for which a step is too short.
        """
        (made, self._next), old = (self._next, None), self._sequence
        if baseline is None:
            self._comparison, self._sequence = None, EvidenceSequence()
            return old
        if made is None or not made.is_filled or made.comparison.baseline != baseline:
            made = self._rebuilding(baseline)
            for _ in made.filled():
                pass
        self._comparison, self._sequence = made.comparison, made.sequence
        return old

    def rebuild(self, baseline: Baseline) -> Rebuilding:
        """Begin to hold all slots against another baseline; ``hold_against`` is the end of it."""
        self._next = self._rebuilding(baseline)
        return self._next

    def abandon(self) -> None:
        """What was begun is not wanted any more."""
        self._next = None

    @property
    def is_rebuilding(self) -> bool:
        """Whether it was begun, and is still wanted."""
        return self._next is not None

    def _rebuilding(self, baseline: Baseline) -> Rebuilding:
        return Rebuilding(self._slots, BaselineComparison(self._metric, baseline, self._tolerance))

    def put(self, place: PickPlace, entry: Entry) -> None:
        """A slot counts."""
        hour = hour_of(place[0])
        held = self._slots.get(hour)
        if held is None:
            held = self._slots[hour] = {}
        held[place] = entry
        self._number += 1
        if self._comparison is not None:
            self._sequence.put(place, self._comparison.compared(place[0], *entry))
        if self._next is not None:
            self._next.put(place, entry)

    def take(self, place: PickPlace) -> None:
        """A slot counts no longer."""
        del self._slots[hour_of(place[0])][place]
        self._number -= 1
        if self._comparison is not None:
            self._sequence.take(place)
        if self._next is not None:
            self._next.take(place)

    def drop_before(self, event_time: float) -> None:
        """Forget the slots before this time, all at once."""
        limit = hour_of(event_time)
        for hour in [hour for hour in self._slots if hour <= limit]:
            held = self._slots.pop(hour)
            kept = {} if hour < limit else {p: e for p, e in held.items() if p[0] >= event_time}
            self._number -= len(held) - len(kept)
            if kept:
                self._slots[hour] = kept
        self._sequence.drop_before(event_time)
        if self._next is not None:
            self._next.drop_before(event_time)

    def evidence(
        self,
        starts: tuple[float, float],
        end: float,
        threshold: float,
        carried: Mapping[float, DriftEvidence] = MappingProxyType({}),
    ) -> DriftEvidence | None:
        """That of the slots from the first start to ``end``; None without a slot.

        ``carried`` is what evidence from a start begins with, where it is not with none. The second
        start is kept going, a little at a time: with the next period it becomes the first.
        """
        self._sequence.carry(carried)
        self._sequence.prepare(starts[1], end, threshold, _STEPS_AHEAD)
        found = self._sequence.evidence(starts[0], end, threshold)
        self._sequence.keep(set(starts))
        return found

    def stood(self, start: float, at: float) -> DriftEvidence:
        """The evidence since ``start`` before the slots from ``at`` on, as last asked for."""
        return self._sequence.stood(start, at)

    def feeding(self, start: float, end: float) -> Feeding | None:
        """What it was fed last, from ``start`` to ``end``; None without a slot there."""
        found = self._sequence.newest(start, end)
        if found is None:
            return None
        place, gap_s = found
        slot, _ = self._slots[hour_of(place[0])][place]
        return Feeding(place[0], slot.judged_at, gap_s)

    def later(self, after: float, end: float) -> int:
        """How many slots there are with after < event time ≤ end."""
        return self._sequence.between(after, end)

    def hours(self, start: float, end: float) -> Iterator[list[Entry]]:
        """The slots of each hour, from one whole hour to another (epoch seconds)."""
        for hour in range(hour_of(start), hour_of(end)):
            yield [*self._slots.get(hour, {}).values()]

    def counted(self, start: float, end: float) -> Callable[[], list[Counted]]:
        """All slots up to an event time in their order; none without a baseline.

        Those from ``start`` on stand to the baseline as evidence that begins there has them.

        They are those of now, but only put together when they are asked for: a day of them takes a
        second, which another thread may have.
        """
        places = self._sequence.snapshot(start, end)
        slots = {hour: held.copy() for hour, held in self._slots.items()}
        return lambda: [
            Counted(*place, *slots[hour_of(place[0])][place], deviation)
            for place, deviation in places()
        ]
