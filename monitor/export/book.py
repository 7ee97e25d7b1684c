"""The book of score records within the horizon, and the estimates that follow from it.

What it says at a time is a function of the set of records and the clock: not of order, duplicates
or restarts.
"""

from __future__ import annotations

import functools
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from monitor.export.drift import DriftBook
from monitor.export.slots import Slot, candidate_of
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import JudgeIdentity, ScoreRecord
from monitor.stats.estimate import Estimate, estimate
from monitor.stats.horizon import horizon_start
from monitor.stats.selection import Candidate, Change, Selection
from monitor.stats.sums import ZERO, Sums
from monitor.stats.windows import RollingSums, bucket_seconds

OTHER: Final = "other"


class SeriesKey(NamedTuple):
    """One series of the quality families, without its window."""

    metric: str
    application: str
    judge: str


class SeriesEstimate(NamedTuple):
    """The estimate of one window of one series."""

    key: SeriesKey
    window: str
    estimate: Estimate


class ScoreBook:
    """Score records in, estimates out.

    ``windows`` maps names to seconds; the horizon starts with the previous period of ``period_s``
    seconds, or with the longest window. ``top_k`` applications keep their names. ``drift`` is told
    of every slot that comes to count, or no longer counts.
    """

    def __init__(
        self,
        windows: Mapping[str, int],
        period_s: int,
        top_k: int = 20,
        drift: DriftBook | None = None,
    ) -> None:
        self.windows = dict(windows)
        self.drift = drift
        self._top_k = top_k
        self._applications: Counter[str] = Counter()
        self._period_s = period_s
        self._longest_s = max(windows.values())
        self._bucket_s = bucket_seconds(windows.values())
        self._selection = Selection()
        self._series: dict[SeriesKey, RollingSums] = {}
        self._judges: Counter[JudgeIdentity] = Counter()
        self._ahead: list[tuple[float, int, Candidate]] = []
        self._serial = 0
        self._now = float("-inf")

    def horizon_start(self, now: float) -> int:
        """The first event time that counts at ``now``; both in epoch seconds."""
        return horizon_start(now, self._period_s, self._longest_s, self._bucket_s)

    def add(self, record: ScoreRecord, line: bytes) -> None:
        """Take in one record; ``line`` is its bytes on the topic (they break ties)."""
        candidate = candidate_of(record, line)
        if candidate.event_time > self._now:
            self._serial += 1
            heapq.heappush(self._ahead, (candidate.event_time, self._serial, candidate))
        else:
            self._apply(self._selection.add(candidate))

    def advance(self, now: float) -> None:
        """Let time pass: records whose event time has come count, those too old do not."""
        self._now = now
        if self.drift is not None:
            self.drift.advance(now)
        start = self.horizon_start(now)
        for rolling in self._series.values():
            rolling.drop_before(start)
            rolling.advance(now)
        self._apply(self._selection.remove_before(start))
        while self._ahead and self._ahead[0][0] <= now:
            self._apply(self._selection.add(heapq.heappop(self._ahead)[2]))
        for key in [key for key, rolling in self._series.items() if rolling.is_empty]:
            del self._series[key]

    def estimates(self) -> Iterator[SeriesEstimate]:
        """Every window of every series seen within the horizon, in the order of their labels."""
        for key, parts in sorted(self._by_label().items()):
            better = CATALOGUE[key.metric].higher_is_better
            horizon = _total(part.horizon() for part in parts)
            if not horizon.w:
                continue  # the clock was set back: all of it lies ahead
            for window in self.windows:
                found = _total(part.window(window) for part in parts)
                yield SeriesEstimate(key, window, estimate(found, horizon, better))

    def named(self) -> set[str]:
        """The applications that keep their names: the largest by counted records, ties by name.

        Traffic names applications: the rest is ``other``.
        """
        ranked = sorted(self._applications, key=lambda name: (-self._applications[name], name))
        return set(ranked[: self._top_k])

    def _by_label(self) -> dict[SeriesKey, list[RollingSums]]:
        """The series by their labels."""
        named = self.named()
        labelled: dict[SeriesKey, list[RollingSums]] = {}
        for key, rolling in self._series.items():
            shown = key if key.application in named else key._replace(application=OTHER)
            labelled.setdefault(shown, []).append(rolling)
        return labelled

    def estimate_between(self, key: SeriesKey, start: float, end: float) -> Estimate | None:
        """The estimate over the buckets in [start, end); None for a series that is not there."""
        rolling = self._series.get(key)
        if rolling is None:
            return None
        better = CATALOGUE[key.metric].higher_is_better
        return estimate(rolling.between(start, end), rolling.horizon(), better)

    def judges(self) -> list[JudgeIdentity]:
        """The judges of the records that count, in the order of their labels."""
        return sorted(self._judges, key=lambda j: (j.label, j.model, j.prompts, j.pipeline))

    def _apply(self, changes: list[Change]) -> None:
        for candidate, sign in changes:
            slot = candidate.payload
            if not isinstance(slot, Slot):
                continue  # over budget: such slots do not count
            if self.drift is not None:
                self.drift.apply(candidate, slot, sign)
            self._judges[slot.judge] += sign
            if not self._judges[slot.judge]:
                del self._judges[slot.judge]
            self._applications[candidate.application] += sign
            if not self._applications[candidate.application]:
                del self._applications[candidate.application]
            for metric, value in slot.values:
                key = SeriesKey(metric, candidate.application, slot.judge.label)
                sums = slot.terms(metric, value)
                self._rolling(key).add(candidate.event_time, sums, sign)

    def _rolling(self, key: SeriesKey) -> RollingSums:
        found = self._series.get(key)
        if found is None:
            found = self._series[key] = RollingSums(self._bucket_s, self.windows)
            if self._now > float("-inf"):
                found.drop_before(self.horizon_start(self._now))
                found.advance(self._now)
        return found


def _total(parts: Iterable[Sums]) -> Sums:
    return functools.reduce(Sums.plus, parts, ZERO)
