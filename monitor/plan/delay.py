"""How many judged interactions pass between a change and its alarm: the detector, simulated.

Not a formula: the very recursion of ``monitor/stats/drift.py``, over monitors that each learn a
baseline, see normal traffic, and then worse traffic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Final, NamedTuple

from monitor.plan.simulated import MOST_MEMBERS, Known, Pool, Quality, drawn, taken
from monitor.stats.baseline import NOTHING, Baseline, Tolerance
from monitor.stats.days import unseen_spread
from monitor.stats.drift import (
    NO_EVIDENCE,
    BetEvidence,
    SlotFactors,
    factors,
    quiet_after,
    until_open,
)

#: Normal slots before the change, at most: fewer where evidence of fewer counts.
_BEFORE: Final = 2_000
#: Monitors that are looked at, and where picks are directed, which takes longer.
_MONITORS, _DIRECTED_MONITORS = 300, 150
#: Slots that all monitors together learn from. Where each learns from many, some share a baseline:
#: the more slots there are, the less two baselines differ, and the longer it takes to learn one.
_LEARNED: Final = 300_000
#: Slots that are drawn for one monitor and one quality; they are taken at random from then on.
_DRAWN: Final = 250
#: Nobody waits for longer, in judged interactions.
MOST_WAITED: Final = 20_000
#: A change that is seen so late that all monitors together take longer than this is looked at on
#: fewer of them, as many as these at least. That is seconds.
_MOST_STEPS: Final = 1_000_000
_LEAST_MONITORS: Final = 60
#: Where fewer of the monitors than this are in no alarm while all is well, none tells anything.
_LEAST_QUIET: Final = 1 / 3
#: Half of the monitors alarm sooner than the median, nine of ten sooner than the other.
_HALF: Final = 0.5
_NINE_OF_TEN: Final = 0.9


class Delay(NamedTuple):
    """Judged from a change to its alarm: the median, and what nine of ten are at most.

    None where so many are not seen in time: hardly ever.
    """

    median: float | None
    most: float | None


NEVER: Final = Delay(None, None)


@dataclass(frozen=True)
class WatchSettings:
    """How it is watched: ``threshold`` is A, ``learn_slots`` 0 where the baseline is known.

    ``members`` are in a slot, of which one is judged. ``in_period`` are judged in a period, so that
    evidence of one to two times as many counts. ``most_waited`` is how many are waited for. A
    provisional baseline of ``provisional_s`` seconds tolerates more. Another one that is learned is
    refined by a week with ``per_day`` judged a day, unless that is 0.
    """

    threshold: float
    learn_slots: int = 1_000
    members: int = 1
    tolerance: Tolerance = NOTHING
    in_period: int = 2 * MOST_WAITED
    most_waited: int = MOST_WAITED
    provisional_s: float | None = None
    per_day: float = 0.0


class Simulation:
    """Monitors of one normal quality; the same seed gives the same answers."""

    def __init__(self, normal: Quality, watch: WatchSettings, seed: int = 1) -> None:
        self._normal, self._watch, self._seed = normal, watch, seed
        self._pool, _ = drawn(normal, seed)
        self._members = max(1, min(MOST_MEMBERS, watch.members))

    def delays(self, factors: Sequence[float]) -> list[Delay]:
        """How many judged from a change by each factor to the alarm.

        Monitors in whose alarm it comes are left out; where they are most, nothing is ever seen.
        """
        if self.alarms_too_often:
            return [NEVER] * len(factors)
        return [self._delay(factor, self._calm) for factor in factors]

    @property
    def in_false_alarm(self) -> float:
        """The share of the monitors that are in an alarm while all is well."""
        return 1.0 - len(self._calm) / self._monitors

    @property
    def alarms_too_often(self) -> bool:
        """Whether so many are that their alarms tell nothing."""
        return len(self._calm) < _LEAST_QUIET * self._monitors

    @property
    def _monitors(self) -> int:
        return _DIRECTED_MONITORS if self._is_directed else _MONITORS

    @property
    def _is_directed(self) -> bool:
        """Whether a signal chooses among several members."""
        return self._normal.correlation > 0 and self._members > 1

    @cached_property
    def _calm(self) -> list[tuple[Known, BetEvidence]]:
        """What the monitors go by that are in no alarm when the change comes, and evidence then."""
        random = Random(self._seed + 1)
        return [
            (known, evidence)
            for known in self._all_known(self._monitors, random)
            if (evidence := self._quiet(known, random)) is not None
        ]

    def _delay(self, factor: float, calm: Sequence[tuple[Known, BetEvidence]]) -> Delay:
        """Of these monitors; whatever is asked for beside it, it is the same."""
        seed = f"{self._seed} {factor}"
        pool, random = drawn(self._normal.times(factor), seed, self._pool.noise)
        lengths, steps = list[float](), 0.0
        for known, evidence in calm:
            slots = self._slots(known, pool, random)
            judged = self._until_alarm(evidence, slots, random)
            lengths.append(math.inf if judged is None else judged)
            steps += min(lengths[-1], self._watch.most_waited)
            if steps > _MOST_STEPS and len(lengths) >= _LEAST_MONITORS:
                break
        return Delay(_quantile(lengths, _HALF), _quantile(lengths, _NINE_OF_TEN))

    def relative_variance(self) -> float:
        """D: the variance of one judgement against that of a proportion of the same mean."""
        random, p = Random(self._seed + 2), self._normal.mean
        # Against a baseline of 0 everywhere the deviation is the pick's own term of the estimate.
        bare = Known(Baseline(0.0, 0.0, {}), self._known(random).calibration)
        which, slots = bare.slots(4_000, self._pool, self._members, random, NOTHING, p)
        squares = math.fsum([(slots[one].by - p) ** 2 for one in which])
        return squares / len(which) / (p * (1 - p))

    def _all_known(self, monitors: int, random: Random) -> Iterator[Known]:
        """What each of the monitors goes by."""
        different = max(1, _LEARNED // max(1, self._watch.learn_slots))
        found: list[Known] = []
        for number in range(monitors):
            if number < different:
                found.append(self._known(random))
            yield found[number % different]

    def _known(self, random: Random) -> Known:
        watch, slots = self._watch, self._watch.learn_slots
        if slots:
            known = Known.learned(self._pool, slots, random, directs=self._is_directed)
            if watch.provisional_s is None and watch.per_day:
                return known.in_the_long_run(self._pool, watch.per_day, random, watch.tolerance)
            return replace(known, baseline=self._as_provisional(known.baseline))
        means = {str(number): mean for number, mean in enumerate(self._normal.means)}
        return Known(Baseline(self._normal.mean, 0.0, means))

    def _as_provisional(self, baseline: Baseline) -> Baseline:
        seen_s = self._watch.provisional_s
        if seen_s is None:
            return baseline
        spread = unseen_spread(baseline.mean, seen_s)
        return replace(baseline, provisional=True, hour_spread=spread)

    def _slots(self, known: Known, pool: Pool, random: Random) -> list[SlotFactors]:
        # A baseline is learned from the pool: against it, all means are as far off as the pool's.
        mean = pool.mean + (self._pool.off if self._watch.learn_slots else 0.0)
        tolerance = self._watch.tolerance
        which, slots = known.slots(_DRAWN, pool, self._members, random, tolerance, mean)
        return [*map({one: factors(slot) for one, slot in slots.items()}.__getitem__, which)]

    def _quiet(self, known: Known, random: Random) -> BetEvidence | None:
        """The evidence after normal traffic; None while an alarm is open, which says nothing."""
        period, threshold = self._watch.in_period, self._watch.threshold
        held = min(_BEFORE, random.randint(period, 2 * period))
        return quiet_after(taken(random, self._slots(known, self._pool, random), held), threshold)

    def _until_alarm(
        self, bets: BetEvidence, slots: Sequence[SlotFactors], random: Random
    ) -> int | None:
        """A period ends at random after the change: what is older than the one before is gone."""
        threshold, most = self._watch.threshold, self._watch.most_waited
        of_period = list[SlotFactors]()
        judged, ends_at = 0, random.randint(1, self._watch.in_period)
        while judged < most:
            # Most alarms come soon: not more are drawn than have been.
            number = min(max(_DRAWN, judged), ends_at - judged, most - judged)
            some = taken(random, slots, number)
            opens, bets = until_open(bets, some, threshold)
            if opens is not None:
                return judged + opens
            judged, of_period = judged + number, of_period + some
            if judged == ends_at:
                _, bets = until_open(NO_EVIDENCE.bets, of_period, threshold)
                ends_at, of_period = ends_at + self._watch.in_period, []
        return None


def _quantile(lengths: Sequence[float], share: float) -> float | None:
    """What this share of them are at most; None where that is not in time, or there are none.

    >>> _quantile([3.0, 1.0, 2.0, math.inf], 0.5), _quantile([1.0, math.inf], 0.9)
    (2.0, None)
    """
    ordered = sorted(lengths)
    found = ordered[math.ceil(share * len(ordered)) - 1] if ordered else math.inf
    return None if math.isinf(found) else found
