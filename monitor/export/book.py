"""The book of score records within the horizon, and the estimates that follow from it.

What it says at a time is a function of the set of records and the clock: not of order, duplicates
or restarts.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from monitor.export.census import OTHER, Census
from monitor.export.drift import DriftBook
from monitor.export.memo import Memo
from monitor.export.pair import PairSums
from monitor.export.pupils import Pupils
from monitor.export.segments import Pair, Part, SegmentBook, SegmentLabels
from monitor.export.slots import NOWHERE, Catalogue, Reader, Slot
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import JudgeIdentity, ScoreRecord
from monitor.stats.estimate import Estimate, estimate, estimate_beside, long_spread
from monitor.stats.horizon import horizon_start
from monitor.stats.selection import Candidate, Change, Dropped, Selection
from monitor.stats.sums import Sums, added_up
from monitor.stats.windows import RollingSums, bucket_seconds

__all__ = ["OTHER", "ScoreBook", "SegmentKey", "SegmentLabels", "SeriesEstimate", "SeriesKey"]

_NEVER: Final = float("-inf")


class SeriesKey(NamedTuple):
    """One series of the quality families, without its window."""

    metric: str
    application: str
    judge: str


class SegmentKey(NamedTuple):
    """One segment of a series."""

    metric: str
    application: str
    judge: str
    segment: str


class SeriesEstimate(NamedTuple):
    """The estimate of one window of one series, or of one of its segments."""

    key: SeriesKey | SegmentKey
    window: str
    estimate: Estimate


#: Estimates that are the same object for as long as none of them has changed.
Block = tuple[SeriesEstimate, ...]


class ScoreBook:
    """Score records in, estimates out.

    ``windows`` maps names to seconds; the horizon starts with the previous period of ``period_s``
    seconds, or with the longest window. ``top_k`` applications keep their names. ``drift`` is told
    of every slot that comes to count, or no longer counts. ``metrics`` are those that get
    estimates (None: all of the ``catalogue``), which changes none of them; with ``segments`` they
    get some for every segment as well.
    """

    def __init__(
        self,
        windows: Mapping[str, int],
        period_s: int,
        top_k: int = 20,
        drift: DriftBook | None = None,
        *,
        metrics: Collection[str] | None = None,
        segments: SegmentLabels | None = None,
        catalogue: Catalogue = CATALOGUE,
    ) -> None:
        self.windows = dict(windows)
        self.drift = drift
        self._catalogue, self._reader = catalogue, Reader(catalogue)
        self._metrics = frozenset(catalogue if metrics is None else metrics)
        self._top_k = top_k
        self._period_s = period_s
        self._longest_s = max(windows.values())
        self._bucket_s = bucket_seconds(windows.values())
        self._selection = Selection()
        self._series: dict[Pair, PairSums] = {}
        self._census = Census(period_s)
        self._segments = None if segments is None else self._segment_book(segments)
        #: The scored slots of everything that has detectors and no baseline yet.
        self.pupils = Pupils(_nobody if drift is None else drift.is_known, self.counted)
        self._blocks = Memo[SeriesKey, Block]()
        self._segment_blocks = Memo[Pair | tuple[str, str, str], Block]()
        self._ahead: list[tuple[float, int, Candidate]] = []
        self._serial = 0
        self._now = _NEVER

    @property
    def has_segments(self) -> bool:
        """Whether there are estimates for every segment."""
        return self._segments is not None

    @property
    def held(self) -> int:
        """How many records are held, whether they count or not."""
        return len(self._selection) + len(self._ahead)

    def horizon_start(self, now: float) -> int:
        """The first event time that counts at ``now``; both in epoch seconds."""
        return horizon_start(now, self._period_s, self._longest_s, self._bucket_s)

    def add(self, record: ScoreRecord, line: bytes, place: int = NOWHERE) -> None:
        """Take in one record; ``line`` is its bytes on the topic (they break ties).

        ``place`` is its position there.
        """
        candidate = self._reader.candidate(record, line, place)
        if candidate.event_time > self._now:
            self._serial += 1
            heapq.heappush(self._ahead, (candidate.event_time, self._serial, candidate))
        else:
            self._apply(self._selection.add(candidate))

    def advance(self, now: float) -> None:
        """Let time pass: records whose event time has come count, those too old do not."""
        self._now = now
        start = self.horizon_start(now)
        if self.drift is not None:
            self.drift.advance(now, start)
        self.pupils.drop_before(start)
        # Whole periods go at once; what is left of the records then goes without a trace.
        self._census.drop_before(start)
        for pair in [p for p, sums in self._series.items() if not sums.advance(now, start)]:
            del self._series[pair]
        if self._segments is not None:
            self._segments.advance(now, start)
        self._apply(self._selection.remove_before(start))
        while self._ahead and self._ahead[0][0] <= now:
            self._apply(self._selection.add(heapq.heappop(self._ahead)[2]))
        if self._segments is not None:
            self._segments.names()

    def estimates(self) -> Iterator[SeriesEstimate]:
        """Every window of every series seen within the horizon, in the order of their labels."""
        for block in self.blocks():
            yield from block

    def segment_estimates(self) -> Iterator[SeriesEstimate]:
        """The same for every segment of every series; none without segments."""
        for block in self.segment_blocks():
            yield from block

    def blocks(self) -> Iterator[Block]:
        """The estimates in blocks: one for each series."""
        for key, parts in sorted(self._by_label().items()):
            stamps = tuple(part.stamp for part in parts)
            yield self._blocks.get(key, stamps, functools.partial(self._block, key, parts))
        self._blocks.sweep()

    def segment_blocks(self) -> Iterator[Block]:
        """The estimates in blocks: one for each segment of an application and judge."""
        if self._segments is None:
            return
        named = self.named()
        labelled: dict[Pair, list[Pair]] = {}
        for application, judge in sorted(self._series):
            shown = application if application in named else OTHER
            labelled.setdefault((shown, judge), []).append((application, judge))
        for part in self._segments.parts(labelled, lambda pair: self._series[pair].series()):
            key = part[:3]
            make = functools.partial(self._segment_block, part)
            yield self._segment_blocks.get(key, part.stamps, make)
        self._segment_blocks.sweep()

    def named(self) -> set[str]:
        """The applications that keep their names: the largest by counted records, ties by name.

        Traffic names applications: the rest is ``other``.
        """
        return self._census.applications(self._top_k)

    def _by_label(self) -> dict[SeriesKey, list[RollingSums]]:
        """The series by their labels."""
        named = self.named()
        labelled: dict[SeriesKey, list[RollingSums]] = {}
        for (application, judge), sums in self._series.items():
            shown = application if application in named else OTHER
            for metric, rolling in sums.series().items():
                labelled.setdefault(SeriesKey(metric, shown, judge), []).append(rolling)
        return labelled

    def _block(self, key: SeriesKey, parts: Collection[RollingSums]) -> Block:
        horizon = added_up([part.horizon() for part in parts])
        windows = [added_up([part.window(window) for part in parts]) for window in self.windows]
        return self._estimated(key, windows, horizon)

    def _segment_block(self, part: Part) -> Block:
        return tuple(
            found
            for metric, reading in part.readings.items()
            for found in self._estimated(
                SegmentKey(metric, *part[:3]), reading.windows, reading.horizon
            )
        )

    def _estimated(
        self, key: SeriesKey | SegmentKey, windows: Iterable[Sums], horizon: Sums
    ) -> Block:
        if not horizon.w:
            return ()  # the clock was set back: all of it lies ahead
        better, long = self._catalogue[key.metric].higher_is_better, long_spread(horizon)
        return tuple(
            SeriesEstimate(key, window, estimate_beside(sums, long, better))
            for window, sums in zip(self.windows, windows, strict=True)
        )

    def estimate_between(self, key: SeriesKey, start: float, end: float) -> Estimate | None:
        """The estimate over the buckets in [start, end); None for a series that is not there."""
        sums = self._series.get((key.application, key.judge))
        rolling = None if sums is None else sums.series().get(key.metric)
        if rolling is None:
            return None
        better = self._catalogue[key.metric].higher_is_better
        return estimate(rolling.between(start, end), rolling.horizon(), better)

    def counted(self) -> Iterator[Candidate]:
        """The records whose slot counts, as of the last ``advance``."""
        return self._selection.counted()

    def dropped(self) -> Dropped:
        """The slots that overlap another and do not count, as of the last ``advance``."""
        return self._selection.dropped()

    def judges(self) -> list[JudgeIdentity]:
        """The judges of the records that count, in the order of their labels."""
        return self._census.judges()

    def _apply(self, changes: list[Change]) -> None:
        drift, segments, forgotten = self.drift, self._segments, self._census.floor
        dropped = forgotten if drift is None else min(forgotten, drift.floor)
        for candidate, sign in changes:
            slot, event_time = candidate.payload, candidate.event_time
            if event_time < dropped or not isinstance(slot, Slot):
                continue  # over budget: such slots do not count
            if drift is not None:
                drift.apply(candidate, slot, sign)
                self.pupils.apply(candidate, slot, sign)
            if event_time >= forgotten:
                self._census.count(event_time, candidate.application, slot, sign)
            if segments is not None:
                segments.apply(candidate, slot, sign)
            self._sum(candidate.application, event_time, slot, sign)

    def _sum(self, application: str, event_time: float, slot: Slot, sign: int) -> None:
        pair = application, slot.judge_label
        sums = self._series.get(pair)
        if sums is None:
            is_kept = self._metrics.__contains__
            sums = self._series[pair] = PairSums(self._bucket_s, is_kept, self._rolling)
        sums.add(event_time, slot, sign)

    def _rolling(self) -> RollingSums:
        made = RollingSums(self._bucket_s, self.windows)
        if self._now > _NEVER:
            made.advance(self._now)
            made.drop_before(self.horizon_start(self._now))
        return made

    def _segment_book(self, labels: SegmentLabels) -> SegmentBook:
        is_kept = self._metrics.__contains__
        return SegmentBook(
            labels, self._census, self.windows, self._bucket_s, self._period_s, is_kept
        )


def _nobody(_application: str, _judge: str) -> bool:
    """Without detectors nobody learns: all is known."""
    return True
