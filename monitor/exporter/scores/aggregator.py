"""Aggregates the score records within the horizon, and the estimates that follow from it.

What it says at a time is a function of the set of records and the clock: not of order, duplicates
or restarts.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from monitor.exporter.scores.cluster_sums import ClusterSums
from monitor.exporter.scores.detectors import DriftDetectors
from monitor.exporter.scores.folding import (
    MOST_JUDGES,
    Folded,
    Folding,
    JudgedApplication,
    is_watched,
)
from monitor.exporter.scores.label_counts import OTHER, LabelCounts
from monitor.exporter.scores.observation import NOWHERE, Catalogue, Observation, Reader
from monitor.exporter.scores.releases import Releases
from monitor.exporter.scores.repeats import Repeats
from monitor.exporter.scores.segments import Part, SegmentAggregator, SegmentLabels
from monitor.exporter.scores.series_sums import PairSums
from monitor.exporter.scores.stamped_cache import StampedCache
from monitor.exporter.scores.training_slots import TrainingSlots
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import JudgeIdentity, ScoreRecord
from monitor.stats.estimate import Estimate, estimate, estimate_beside, long_spread
from monitor.stats.horizon import horizon_start
from monitor.stats.period import HorizonSpan
from monitor.stats.releases import Rollout
from monitor.stats.selection import Candidate, Dropped, Selection, SlotChange
from monitor.stats.sums import Sums
from monitor.stats.windows import RollingSums, bucket_seconds

__all__ = ["OTHER", "ScoreAggregator", "SegmentKey", "SegmentLabels", "SeriesEstimate", "SeriesKey"]

_NEVER: Final = float("-inf")
#: Records that are kept until their event time comes; a scorer writes none that is five minutes
#: ahead of its broker, so there are this many only of others, or where a clock is behind.
MOST_AHEAD: Final = 100_000


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

    @property
    def values(self) -> tuple[float | None, ...]:
        """Mean, bounds, effective number and missing ratio."""
        it = self.estimate
        return it.value, it.lower, it.upper, it.samples, it.missing_ratio


#: Estimates that are the same object for as long as none of them has changed.
SeriesEstimates = tuple[SeriesEstimate, ...]


class ScoreAggregator:
    """Score records in, estimates out.

    ``windows`` maps names to seconds; the horizon starts with the previous period of ``period_s``
    seconds, or with the longest window, or with what is held to learn from. ``top_k`` applications
    keep their names, and those of ``always``; of each up to ``judges`` judges: the rest is summed
    up as it comes. ``drift`` is told of every slot of a named application and judge that comes to
    count, or no longer counts.
    ``metrics`` are those that get estimates (None: all of the ``catalogue``), which changes none of
    them; with ``segments`` they get some for every segment as well.
    """

    def __init__(
        self,
        windows: Mapping[str, int],
        period_s: int,
        top_k: int = 20,
        drift: DriftDetectors | None = None,
        *,
        metrics: Collection[str] | None = None,
        segments: SegmentLabels | None = None,
        catalogue: Catalogue = CATALOGUE,
        always: Collection[str] = (),
        judges: int = MOST_JUDGES,
        most_ahead: int = MOST_AHEAD,
        auto_period: bool = False,
        cluster_by: str | None = None,
    ) -> None:
        self.windows = dict(windows)
        self.drift, self.most_ahead = drift, most_ahead
        #: Whether the span is to go by how many are judged: whoever reads says which it is.
        self.auto_period = auto_period
        self._catalogue, self._reader = catalogue, Reader(catalogue, cluster_by)
        self._is_clustered = cluster_by is not None
        self._metrics = frozenset(catalogue if metrics is None else metrics)
        self._named = top_k, frozenset(always), judges
        self.span, self._labels = HorizonSpan(period_s), segments
        self._longest_s = max(windows.values())
        self._bucket_s = bucket_seconds(windows.values())
        self._begin()

    def _begin(self) -> None:
        """Nothing has been read."""
        self._selection = Selection()
        self._series: dict[JudgedApplication, PairSums] = {}
        self._clusters: dict[JudgedApplication, ClusterSums] = {}
        self._label_counts = LabelCounts(self.period_s)
        self._folding = Folding(self.period_s, *self._named)
        self._repeats = Repeats()
        self._releases = Releases()
        #: Pairs that slots were taken away from.
        self._left = set[JudgedApplication]()
        self._segments = None if self._labels is None else self._segment_aggregator(self._labels)
        #: The scored slots of everything that has detectors and no baseline yet.
        self.training_slots = TrainingSlots(
            _nobody if self.drift is None else self.drift.is_known,
            self.watched,
            watched=() if self.drift is None else self.drift.settings.metrics,
        )
        self._blocks = StampedCache[SeriesKey, SeriesEstimates]()
        self._segment_blocks = StampedCache[tuple[str, str, str], SeriesEstimates]()
        #: By event time.
        self._ahead: list[tuple[float, int, Candidate]] = []
        self._serial = 0
        self._now = _NEVER

    @property
    def period_s(self) -> int:
        """P, in seconds."""
        return self.span.period_s

    def begin_anew(self, span: HorizonSpan | None = None) -> None:
        """Forget all records, as a restart does: whoever reads them gives them again.

        What was dropped does not come back when the clock does. ``span`` is another one.
        """
        self.span = span or self.span
        if self.drift is not None:
            self.drift.begin_anew(self.period_s)
        self._begin()

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
        longest_s = max(self._longest_s, self.span.learning_s)
        return horizon_start(now, self.period_s, longest_s, self._bucket_s)

    def add(self, record: ScoreRecord, line: bytes, place: int = NOWHERE) -> bool:
        """Take in one record; ``line`` is its bytes on the topic (they break ties).

        ``place`` is its position there. Of what is ahead of the clock the nearest ``most_ahead``
        are kept: False where one had to go, this one or another.
        """
        candidate = self._reader.candidate(record, line, place)
        if candidate.event_time > self._now:
            self._serial += 1
            insort(self._ahead, (candidate.event_time, self._serial, candidate))
            if len(self._ahead) > self.most_ahead:
                self._ahead.pop()
                return False
        else:
            self._apply(self._selection.add(candidate))
        return True

    def advance(self, now: float) -> None:
        """Let time pass: records whose event time has come count, those too old do not."""
        self._now = now
        start = self.horizon_start(now)
        if self.drift is not None:
            self.drift.advance(now, start)
        self.training_slots.drop_before(start)
        self._watch(self._repeats.drop_before(start))
        # Whole periods go at once; what is left of the records then goes without a trace.
        self._label_counts.drop_before(start)
        self._folding.drop_before(start)
        self._releases.drop_before(self._label_counts.floor)
        for pair in [p for p, sums in self._series.items() if not sums.advance(now, start)]:
            del self._series[pair]
            self._clusters.pop(pair, None)
        for clusters in self._clusters.values():
            clusters.drop_before(start)
        if self._segments is not None:
            self._segments.advance(now, start)
        self._apply(self._selection.remove_before(start))
        come = bisect_left(self._ahead, (math.nextafter(now, math.inf),))
        due = self._ahead[:come]
        del self._ahead[:come]
        for _, _, candidate in due:
            self._apply(self._selection.add(candidate))
        if self._segments is not None:
            self._segments.names()

    def estimates(self) -> Iterator[SeriesEstimate]:
        """Every window of every series seen within the horizon, in the order of their labels."""
        for block in self.blocks():
            yield from block

    def blocks(self) -> Iterator[SeriesEstimates]:
        """The estimates in blocks: one for each series."""
        for key, rolling in sorted(self._by_label().items()):
            make = functools.partial(self._block, key, rolling)
            yield self._blocks.get(key, rolling.stamp, make)
        self._blocks.sweep()

    def segment_blocks(self) -> Iterator[SeriesEstimates]:
        """The estimates in blocks: one for each segment of an application and judge."""
        if self._segments is None:
            return
        # Those of an answer's session are those of its segment: one V for all segments.
        dependence = functools.cache(self._dependence)
        for part in self._segments.parts(self._series, lambda pair: self._series[pair].series()):
            key = part[:3]
            dependences = tuple(
                dependence(SeriesKey(metric, *part[:2])) for metric in part.readings
            )
            make = functools.partial(self._segment_block, part, dependences)
            yield self._segment_blocks.get(key, (part.stamps, dependences), make)
        self._segment_blocks.sweep()

    def named(self) -> set[str]:
        """The applications that keep their names: those with most counted records.

        By the number of binary digits, ties by name. Traffic names applications: the rest is
        ``other``, and so are judges without a share of an application worth the name.
        """
        return self._folding.kept

    def pairs(self) -> list[JudgedApplication]:
        """The applications and judges that have names of their own and slots, in order.

        Not one whose slots have all been replaced, though its sums are there until time passes.
        """
        return sorted(
            pair for pair, sums in self._series.items() if is_watched(pair) and not sums.is_empty
        )

    @property
    def folded(self) -> Folded:
        """How much is summed up as ``other``."""
        return self._folding.folded

    @property
    def state_objects(self) -> int:
        """How many series, segments of them and detectors are kept up to date.

        No page shows it: tests hold by it that names of traffic take no memory of their own.
        """
        series = sum(len(sums.series()) for sums in self._series.values())
        segments = 0 if self._segments is None else len(self._segments)
        detectors = 0 if self.drift is None else self.drift.held
        return series + segments + detectors + len(self.training_slots)

    def _by_label(self) -> dict[SeriesKey, RollingSums]:
        """The series by their labels."""
        return {
            SeriesKey(metric, *pair): rolling
            for pair, sums in self._series.items()
            for metric, rolling in sums.series().items()
        }

    def _block(self, key: SeriesKey, rolling: RollingSums) -> SeriesEstimates:
        windows = map(rolling.window, self.windows)
        return self._estimated(key, windows, rolling.horizon(), self._dependence(key))

    def _segment_block(self, part: Part, dependences: tuple[float, ...]) -> SeriesEstimates:
        return tuple(
            found
            for (metric, reading), dependence in zip(
                part.readings.items(), dependences, strict=True
            )
            for found in self._estimated(
                SegmentKey(metric, *part[:3]), reading.windows, reading.horizon, dependence
            )
        )

    def _estimated(
        self,
        key: SeriesKey | SegmentKey,
        windows: Iterable[Sums],
        horizon: Sums,
        dependence: float,
    ) -> SeriesEstimates:
        if not horizon.w:
            return ()  # the clock was set back: all of it lies ahead
        better, long = self._catalogue[key.metric].higher_is_better, long_spread(horizon)
        return tuple(
            SeriesEstimate(key, window, estimate_beside(sums, long, better, dependence))
            for window, sums in zip(self.windows, windows, strict=True)
        )

    def _dependence(self, key: SeriesKey) -> float:
        """V of a series, by its clusters where these are known; 1 of none."""
        pair = key.application, key.judge
        if self._is_clustered:
            clusters = self._clusters.get(pair)
            return 1.0 if clusters is None else clusters.dependence(key.metric)
        sums = self._series.get(pair)
        rolling = None if sums is None else sums.series().get(key.metric)
        return 1.0 if rolling is None else rolling.dependence()

    def estimate_between(self, key: SeriesKey, start: float, end: float) -> Estimate | None:
        """The estimate over the buckets in [start, end); None for a series that is not there."""
        sums = self._series.get((key.application, key.judge))
        rolling = None if sums is None else sums.series().get(key.metric)
        if rolling is None:
            return None
        better = self._catalogue[key.metric].higher_is_better
        held, horizon = rolling.between(start, end), rolling.horizon()
        return estimate(held, horizon, better, self._dependence(key))

    def counted(self) -> Iterator[Candidate]:
        """The records whose slot counts, as of the last ``advance``."""
        return self._selection.counted()

    def watched(self) -> Iterator[Candidate]:
        """Those that detectors and baselines are for: not what is summed up as ``other``."""
        for application in sorted(self._folding.kept):
            for candidate in self._selection.counted_of(application):
                slot = candidate.payload
                if isinstance(slot, Observation) and is_watched(
                    self._folding.pair(application, slot.judge_label)
                ):
                    yield candidate

    def dropped(self) -> Dropped:
        """The slots that overlap another and do not count, as of the last ``advance``."""
        return self._selection.dropped()

    def releases_of(self, application: str) -> Mapping[str, Rollout]:
        """What was rolled out of an application, by attribute; it opens no alarm."""
        return self._releases.of(application)

    def judges(self) -> list[JudgeIdentity]:
        """The judges that keep their names, in the order of their labels."""
        return self._label_counts.judges(self._folding.judges)

    def _apply(self, changes: list[SlotChange]) -> None:
        drift, forgotten = self.drift, self._label_counts.floor
        dropped = forgotten if drift is None else min(forgotten, drift.floor)
        for candidate, sign in changes:
            slot, event_time = candidate.payload, candidate.event_time
            if event_time < dropped or not isinstance(slot, Observation):
                continue  # over budget: such slots do not count
            if drift is not None:
                drift.pace(event_time, slot, sign)
            if event_time >= forgotten:
                self._label_counts.count(event_time, slot, sign)
                self._folding.count(event_time, candidate.application, slot.judge_label, sign)
                self._releases.count(event_time, candidate.application, slot.versions, sign)
            self._put(candidate, slot, sign)
        self._refold()

    def _put(self, candidate: Candidate, slot: Observation, sign: int) -> None:
        """Let a slot come (+1) where it belongs now, or go (−1) from there."""
        pair = self._folding.pair(candidate.application, slot.judge_label)
        if self.drift is not None and is_watched(pair):
            self._watch(self._repeats.changes(candidate, sign))
            self.training_slots.apply(candidate, slot, sign)
        if self._segments is not None:
            self._segments.apply(pair, candidate.event_time, slot, sign)
        self._sum(pair, candidate.event_time, slot, sign)

    def _watch(self, changes: Iterable[SlotChange]) -> None:
        """Let evidence go by what says something new."""
        for candidate, sign in changes:
            slot = candidate.payload
            if self.drift is not None and isinstance(slot, Observation):
                self.drift.watch(candidate, slot, sign)

    def _refold(self) -> None:
        """Let what has counted for more, or for less, gain or lose its place."""
        folding = self._folding
        names = folding.moving_applications()
        moving = [found for name in sorted(names) for found in self._slots_of(name)]
        self._take_away(moving)
        if names:
            folding.move_applications(
                names, [(c.event_time, c.application, slot.judge_label) for c, slot in moving]
            )
        for shown, judges in folding.moving_judges():
            within = [
                (candidate, slot)
                for name in self._shown_as(shown) - names
                for candidate, slot in self._slots_of(name)
                if slot.judge_label in judges
            ]
            self._take_away(within)
            folding.move_judges(shown, judges)
            for candidate, slot in within:
                self._put(candidate, slot, +1)
        for candidate, slot in moving:
            self._put(candidate, slot, +1)
        self._forget_emptied()

    def _take_away(self, moving: Iterable[tuple[Candidate, Observation]]) -> None:
        """Let slots go that come elsewhere."""
        for candidate, slot in moving:
            self._put(candidate, slot, -1)
            self._left.add(self._folding.pair(candidate.application, slot.judge_label))

    def _forget_emptied(self) -> None:
        """Nothing is kept of a pair that has lost its place, with all of its slots."""
        for application, judge in self._left:
            if not self._folding.has_place(application, judge):
                self._series.pop((application, judge), None)
                self._clusters.pop((application, judge), None)
                if self._segments is not None:
                    self._segments.forget((application, judge))
        self._left.clear()

    def _shown_as(self, label: str) -> set[str]:
        """The applications behind a label."""
        if label != OTHER:
            return {label}
        return set(self._selection.applications()) - self._folding.kept

    def _slots_of(self, application: str) -> list[tuple[Candidate, Observation]]:
        """Everything of an application that counts, and was not dropped."""
        found = self._selection.counted_of(application)
        return [(one, one.payload) for one in found if isinstance(one.payload, Observation)]

    def _sum(
        self, pair: JudgedApplication, event_time: float, slot: Observation, sign: int
    ) -> None:
        sums = self._series.get(pair)
        if sums is None:
            is_kept = self._metrics.__contains__
            sums = self._series[pair] = PairSums(self._bucket_s, is_kept, self._rolling)
        sums.add(event_time, slot, sign)
        if self._is_clustered:
            clusters = self._clusters.get(pair)
            if clusters is None:
                clusters = self._clusters[pair] = self._cluster_sums()
            clusters.add(event_time, slot, sign)

    def _cluster_sums(self) -> ClusterSums:
        made = ClusterSums(self.period_s)
        if self._now > _NEVER:
            made.drop_before(self.horizon_start(self._now))
        return made

    def _rolling(self) -> RollingSums:
        made = RollingSums(self._bucket_s, self.windows)
        if self._now > _NEVER:
            made.advance(self._now)
            made.drop_before(self.horizon_start(self._now))
        return made

    def _segment_aggregator(self, labels: SegmentLabels) -> SegmentAggregator:
        is_kept = self._metrics.__contains__
        return SegmentAggregator(
            labels, self._label_counts, self.windows, self._bucket_s, self.period_s, is_kept
        )


def _nobody(_application: str, _judge: str) -> bool:
    """Without detectors nobody learns: all is known."""
    return True
