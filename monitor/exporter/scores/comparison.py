"""The slots of one metric as they are held against one baseline."""

from __future__ import annotations

from typing import Final

from monitor.exporter.scores.observation import Observation
from monitor.stats.baseline import Baseline, Tolerance
from monitor.stats.drift import Deviation, directed, uniform, weighted
from monitor.stats.evidence_sequence import ComparedSlot, EvidenceSequence
from monitor.stats.recent_mix import Parts, recent_mix

#: Scores are shares of a few claims: slots that are alike are held as one object.
_MOST_ALIKE: Final = 16_384
#: The worst value of any metric, larger meaning worse.
_WORST: Final = 1.0


class BaselineComparison:
    """Makes what an ``EvidenceSequence`` holds; a function of its arguments."""

    def __init__(self, metric: str, baseline: Baseline, tolerance: Tolerance) -> None:
        self.baseline = baseline
        self._metric, self._tolerance = metric, tolerance
        self._mix = recent_mix(baseline)
        self._alike: dict[tuple[float | None, float, str], ComparedSlot] = {}

    def sequence(self) -> EvidenceSequence:
        """One without a slot."""
        return EvidenceSequence(self._mix, self.baseline.dependence)

    def compared(self, event_time: float, slot: Observation, value: float | None) -> ComparedSlot:
        """A slot with its value, larger meaning worse."""
        own = self.baseline.of(slot.segment, self._tolerance, event_time)
        if own >= _WORST:  # nothing can be worse: to be always the worst is no evidence
            value = None
        if not slot.is_plain:
            return ComparedSlot(self._deviation(event_time, slot, value, own), self._parts(slot))
        key = value, own, slot.segment
        found = None if slot.segments else self._alike.get(key)
        if found is None:
            found = ComparedSlot(uniform(value, own), self._parts(slot))
            if not slot.segments:
                self._remember(key, found)
        return found

    def _remember(self, key: tuple[float | None, float, str], found: ComparedSlot) -> None:
        if len(self._alike) >= _MOST_ALIKE:
            self._alike.clear()
        self._alike[key] = found

    def _deviation(
        self, event_time: float, slot: Observation, value: float | None, own: float
    ) -> Deviation:
        if self._metric not in slot.expected:
            return uniform(value, own) if slot.u == 1.0 else weighted(value, slot.u, own)
        members = slot.segments or {slot.segment: 1}
        total = sum(
            n * self.baseline.of(name, self._tolerance, event_time) for name, n in members.items()
        )
        f_mean, f = slot.expected[self._metric]
        return directed(value, slot.u, f_mean, f, own, total / sum(members.values()))

    def _parts(self, slot: Observation) -> Parts:
        if self._mix is None:
            return ()
        return self._mix.parts(slot.segments or {slot.segment: 1})
