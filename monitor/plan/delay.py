"""How many judged interactions pass between a change and its alarm: the detector, simulated.

Not a formula: the very recursion of ``monitor/stats/drift.py``, over monitors that each learn a
baseline, see normal traffic, and then worse traffic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from monitor.plan.world import MOST_MEMBERS, Known, Pool, Quality
from monitor.stats.baseline import NOTHING, Baseline, Tolerance
from monitor.stats.drift import NO_EVIDENCE, Deviation, DriftEvidence, after

#: Normal slots before the change.
_BEFORE: Final = 2_000
#: Monitors that are looked at, and where picks are directed, which takes longer.
_MONITORS, _DIRECTED_MONITORS = 300, 150
#: Slots that all monitors together learn from. Where each learns from many, some share a baseline:
#: the more slots there are, the less two baselines differ, and the longer it takes to learn one.
_LEARNED: Final = 300_000
#: Slots that are drawn for one monitor and one quality; they are taken at random from then on.
_DRAWN: Final = 250
#: Nobody waits for longer, in judged interactions.
_MOST_WAITED: Final = 10_000
#: A change of which more than this share are not seen in time is one that is hardly ever seen.
_UNSEEN: Final = 0.1


@dataclass(frozen=True)
class WatchSettings:
    """How it is watched: ``threshold`` is A, ``learn_slots`` 0 where the baseline is known.

    ``members`` is the number of interactions that one judgement stands for, ``counted`` how many
    judgements count as evidence at the most.
    """

    threshold: float
    learn_slots: int = 1_000
    members: int = 1
    tolerance: Tolerance = NOTHING
    counted: int = _MOST_WAITED


class Simulation:
    """Monitors of one normal quality; the same seed gives the same answers."""

    def __init__(self, normal: Quality, watch: WatchSettings, seed: int = 1) -> None:
        self._normal, self._watch, self._seed = normal, watch, seed
        self._pool = Pool(normal, Random(seed))
        self._members = max(1, min(MOST_MEMBERS, watch.members))

    def delays(self, factors: Sequence[float]) -> list[float | None]:
        """Mean judged interactions from a change by each factor to the alarm.

        None where one in ten takes more than 10,000, or more than count as evidence, or where there
        is hardly a monitor that does not alarm before. Those that do are left out.
        """
        random = Random(self._seed + 1)
        pools = [Pool(self._normal.times(one), random, self._pool.noise) for one in factors]
        found: list[list[int | None]] = [[] for _ in factors]
        is_directed = self._normal.correlation > 0 and self._members > 1
        for known in self._all_known(_DIRECTED_MONITORS if is_directed else _MONITORS, random):
            evidence = self._quiet(known, random)
            if evidence is None:
                continue
            for lengths, pool in zip(found, pools, strict=True):
                slots = self._slots(known, pool, random)
                lengths.append(self._until_alarm(evidence, slots, random))
        return [self._mean(lengths) for lengths in found]

    def relative_variance(self) -> float:
        """D: the variance of one judgement against that of a proportion of the same mean."""
        random, p = Random(self._seed + 2), self._normal.mean
        # Against a baseline of 0 everywhere the deviation is the pick's own term of the estimate.
        bare = Known(Baseline(0.0, 0.0, {}), self._known(random).calibration)
        slots = bare.slots(4_000, self._pool, self._members, random, NOTHING, p)
        return math.fsum((slot.by - p) ** 2 for slot in slots) / len(slots) / (p * (1 - p))

    def _all_known(self, monitors: int, random: Random) -> Iterator[Known]:
        """What each of the monitors goes by."""
        different = max(1, _LEARNED // max(1, self._watch.learn_slots))
        found: list[Known] = []
        for number in range(monitors):
            if number < different:
                found.append(self._known(random))
            yield found[number % different]

    def _known(self, random: Random) -> Known:
        slots, directs = self._watch.learn_slots, self._normal.correlation > 0
        if slots:
            return Known.learned(self._pool, slots, random, directs=directs)
        means = {str(number): mean for number, mean in enumerate(self._normal.means)}
        return Known(Baseline(self._normal.mean, 0.0, means))

    def _slots(self, known: Known, pool: Pool, random: Random) -> list[Deviation]:
        # A baseline is learned from the pool: against it, all means are as far off as the pool's.
        mean = pool.mean + (self._pool.off if self._watch.learn_slots else 0.0)
        return known.slots(_DRAWN, pool, self._members, random, self._watch.tolerance, mean)

    def _quiet(self, known: Known, random: Random) -> DriftEvidence | None:
        """The evidence after normal traffic; None after an alarm."""
        evidence, threshold = NO_EVIDENCE, self._watch.threshold
        for slot in random.choices(self._slots(known, self._pool, random), k=_BEFORE):
            evidence = after(evidence, slot, threshold)
            if evidence.is_open:
                return None
        return evidence

    def _until_alarm(
        self, evidence: DriftEvidence, slots: Sequence[Deviation], random: Random
    ) -> int | None:
        for judged in range(1, self._most + 1):
            evidence = after(evidence, random.choice(slots), self._watch.threshold)
            if evidence.is_open:
                return judged
        return None

    def _mean(self, lengths: Sequence[int | None]) -> float | None:
        """Those that were not seen in time took as long as there is, at least."""
        if lengths.count(None) > _UNSEEN * len(lengths) or not lengths:
            return None
        return math.fsum(self._most if one is None else one for one in lengths) / len(lengths)

    @property
    def _most(self) -> int:
        return min(_MOST_WAITED, self._watch.counted)
