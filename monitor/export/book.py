"""The book of score records within the horizon, and the estimates that follow from it.

What it says at a time is a function of the set of records and the clock: not of order, duplicates
or restarts.
"""

from __future__ import annotations

import functools
import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from monitor.metrics.catalogue import CATALOGUE, defined_for
from monitor.records import JudgeIdentity, Outcome, ScoreRecord
from monitor.stats.estimate import Estimate, estimate
from monitor.stats.horizon import horizon_start
from monitor.stats.selection import Candidate, Change, Selection
from monitor.stats.sums import ZERO, Sums, as_worse, terms
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


class _Slot(NamedTuple):
    """What a counted record adds, compact: the sums are computed when it enters or leaves.

    ``values`` holds metric → value with larger meaning worse (None: unscored or failed).
    """

    judge: JudgeIdentity
    m: int
    q: float
    u: float
    expected: Mapping[str, tuple[float, float]]
    values: tuple[tuple[str, float | None], ...]
    failed: bool


class ScoreBook:
    """Score records in, estimates out.

    ``windows`` maps names to seconds; the horizon starts with the previous period of ``period_s``
    seconds, or with the longest window. ``top_k`` applications keep their names.
    """

    def __init__(self, windows: Mapping[str, int], period_s: int, top_k: int = 20) -> None:
        self.windows = dict(windows)
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
        candidate = _candidate(record, line)
        if candidate.event_time > self._now:
            self._serial += 1
            heapq.heappush(self._ahead, (candidate.event_time, self._serial, candidate))
        else:
            self._apply(self._selection.add(candidate))

    def advance(self, now: float) -> None:
        """Let time pass: records whose event time has come count, those too old do not."""
        self._now = now
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

    def _by_label(self) -> dict[SeriesKey, list[RollingSums]]:
        """The series by their labels: traffic names applications, so only the largest keep theirs.

        Largest by records that count, ties by name.
        """
        ranked = sorted(self._applications, key=lambda name: (-self._applications[name], name))
        named = set(ranked[: self._top_k])
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
            if not isinstance(slot, _Slot):
                continue  # over budget: such slots do not count
            self._judges[slot.judge] += sign
            if not self._judges[slot.judge]:
                del self._judges[slot.judge]
            self._applications[candidate.application] += sign
            if not self._applications[candidate.application]:
                del self._applications[candidate.application]
            for metric, value in slot.values:
                key = SeriesKey(metric, candidate.application, slot.judge.label)
                sums = _terms(slot, metric, value)
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


def _terms(slot: _Slot, metric: str, value: float | None) -> Sums:
    f_mean, f = slot.expected.get(metric, (0.0, 0.0))
    return terms(slot.m, slot.q, slot.u, f_mean, f, value, slot.failed)


def _candidate(record: ScoreRecord, line: bytes) -> Candidate:
    sampling = record.sampling
    return Candidate(
        application=record.application,
        interaction_id=record.interaction_id,
        event_time=record.event_time.timestamp(),
        judged_at=record.judged_at.timestamp(),
        digest=hashlib.sha256(line).digest(),
        has_slot=not sampling.forced,
        # A failed pick may carry marks for its metrics: they are no values.
        has_values=bool(record.scores) and record.outcome is not Outcome.JUDGE_FAILED,
        topic=record.source.topic,
        partition=record.source.partition,
        kind=sampling.kind,
        first_offset=sampling.first_offset or 0,
        last_offset=sampling.last_offset or 0,
        payload=_slot(record),
    )


def _slot(record: ScoreRecord) -> _Slot | None:
    sampling = record.sampling
    if sampling.m is None or sampling.q is None or sampling.u is None:
        return None
    if record.outcome is Outcome.OVER_BUDGET:
        return None
    return _Slot(
        record.judge,
        sampling.m,
        sampling.q,
        sampling.u,
        sampling.expected,
        _values(record),
        record.outcome is Outcome.JUDGE_FAILED,
    )


def _values(record: ScoreRecord) -> tuple[tuple[str, float | None], ...]:
    """Metrics that are defined for the record's kind; a failed pick counts for all of them."""
    names = record.scores or CATALOGUE
    return tuple(
        (name, _as_worse(record, name))
        for name in CATALOGUE
        if name in names and defined_for(CATALOGUE[name], record.sampling.kind)
    )


def _as_worse(record: ScoreRecord, name: str) -> float | None:
    score = record.scores.get(name)
    if not isinstance(score, float):
        return None
    return as_worse(score, CATALOGUE[name].higher_is_better)
