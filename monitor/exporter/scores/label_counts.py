"""Who the counted records come from, by period: judges and segments."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from heapq import nsmallest
from typing import Final, Generic, TypeVar

from monitor.exporter.scores.observation import Observation
from monitor.records import JudgeIdentity

#: Label value of everything that has no label value of its own.
OTHER: Final = "other"
KeyT = TypeVar("KeyT")


class Tally(Generic[KeyT]):
    """Counts by period; a period is dropped without looking at its records.

    >>> tally = Tally[str]()
    >>> tally.count(0, "acme", +1); tally.count(1, "acme", +1); tally.total()
    {'acme': 2}
    >>> tally.drop(0); tally.of(0), tally.of(1)
    ({}, {'acme': 1})
    """

    def __init__(self) -> None:
        self._by_period: dict[int, dict[KeyT, int]] = {}

    def count(self, period: int, key: KeyT, sign: int) -> None:
        """One more, or one less."""
        counts = self._by_period.get(period)
        if counts is None:
            counts = self._by_period[period] = {}
        counts[key] = number = counts.get(key, 0) + sign
        if not number:
            del counts[key]

    def of(self, period: int) -> Mapping[KeyT, int]:
        """The counts of a period."""
        return self._by_period.get(period, {})

    def total(self) -> Mapping[KeyT, int]:
        """The counts over all periods."""
        total: dict[KeyT, int] = {}
        for counts in self._by_period.values():
            for key, number in counts.items():
                total[key] = total.get(key, 0) + number
        return total

    def drop(self, last: int) -> None:
        """Forget the periods up to and with ``last``."""
        for period in [period for period in self._by_period if period <= last]:
            del self._by_period[period]


class LabelCounts:
    """What is known of the counted slots without their values; times in epoch seconds."""

    def __init__(self, period_s: int) -> None:
        self._period_s = period_s
        #: By label: thousands of versions may have none of their own, and nobody asks for those.
        self._judges: dict[str, Tally[JudgeIdentity]] = {}
        self._segments = Tally[str]()
        self._dropped = -1
        self._frequent: dict[tuple[int, int], list[str]] = {}

    @property
    def floor(self) -> float:
        """Slots before this time are forgotten."""
        return float((self._dropped + 1) * self._period_s)

    def count(self, event_time: float, slot: Observation, sign: int) -> None:
        """A slot counts from now on (+1), or no longer (−1); it is not from before the floor."""
        period = self._period(event_time)
        self._frequent.clear()
        judges = self._judges.get(slot.judge_label)
        if judges is None:
            judges = self._judges[slot.judge_label] = Tally()
        judges.count(period, slot.judge, sign)
        self._segments.count(period, slot.segment, sign)

    def drop_before(self, event_time: float) -> None:
        """Forget the periods that end at or before this time, as a whole."""
        last = self._period(event_time) - 1
        if last > self._dropped:
            self._dropped = last
            self._frequent.clear()
            self._segments.drop(last)
            for label, judges in list(self._judges.items()):
                judges.drop(last)
                if not judges.total():
                    del self._judges[label]

    def judges(self, labels: Collection[str]) -> list[JudgeIdentity]:
        """The judges within the horizon that have these labels, in their order."""
        tallies = [self._judges[label] for label in labels if label in self._judges]
        found = [judge for tally in tallies for judge in tally.total()]
        return sorted(found, key=lambda j: (j.label, j.model, j.prompts, j.pipeline))

    def segments(self, now: float, most: int) -> list[str]:
        """The segments with the most slots in the previous period, ties by name.

        Those of the current period while the previous one has none.
        """
        period = self._period(now)
        return self._most(period - 1, most) or self._most(period, most)

    def next_segments(self, now: float, most: int) -> list[str]:
        """What ``segments`` would be if the current period ended now."""
        return self._most(self._period(now), most)

    def _most(self, period: int, most: int) -> list[str]:
        found = self._frequent.get((period, most))
        if found is None:
            found = self._frequent[period, most] = _largest(self._segments.of(period), most)
        return found

    def _period(self, event_time: float) -> int:
        return math.floor(event_time) // self._period_s


def _largest(counts: Mapping[str, int], most: int) -> list[str]:
    """What is called like the rest is counted with the rest."""
    names = (name for name in counts if name != OTHER)
    return nsmallest(most, names, key=lambda name: (-counts[name], name))
