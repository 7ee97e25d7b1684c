"""The series of the segments: some keep their names, the rest of each series is ``other``.

What they say is a function of the slots that count and the clock. ``other`` is the whole of a
series less its named segments: the sums are integers, so that this is exact, and segments without
a name need no sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from monitor.exporter.scores.folding import JudgedApplication
from monitor.exporter.scores.label_counts import OTHER, LabelCounts
from monitor.exporter.scores.observation import Observation
from monitor.exporter.scores.stamped_cache import StampedCache
from monitor.stats.sparse_sums import Reading, SparseRollingSums
from monitor.stats.sums import Sums, added_up
from monitor.stats.windows import RollingSums

Readings = Mapping[str, Reading]
#: Segments that have lost their name keep their totals, until there are so many times the names.
_MOST_AWAKE: Final = 3


@dataclass(frozen=True)
class SegmentLabels:
    """Which segments keep their names: ``fixed``, or the ``most`` frequent of a period."""

    fixed: frozenset[str] | None = None
    most: int = 20


class Part(NamedTuple):
    """The sums of one segment of all series of an application and judge, as labelled.

    ``stamps`` are equal only where nothing has changed.
    """

    application: str
    judge: str
    segment: str
    stamps: object
    readings: Readings


class SegmentAggregator:
    """Slots of every segment. ``is_kept`` says which metrics get sums."""

    def __init__(
        self,
        labels: SegmentLabels,
        label_counts: LabelCounts,
        windows: Mapping[str, int],
        bucket_s: int,
        period_s: int,
        is_kept: Callable[[str], bool],
    ) -> None:
        self._labels, self._label_counts = labels, label_counts
        self._windows, self._bucket_s, self._period_s = dict(windows), bucket_s, period_s
        self._is_kept = is_kept
        self._sparse: dict[JudgedApplication, dict[str, SparseRollingSums[Observation]]] = {}
        #: What slots add to their segments beyond what they add to the whole.
        self._beyond: dict[tuple[str, str, str], RollingSums] = {}
        self._now, self._start = float("-inf"), float("-inf")
        self._awake: set[str] = set()
        self._read = StampedCache[tuple[str, str, str], Readings]()

    def __len__(self) -> int:
        """How many segments of pairs have slots."""
        return sum(map(len, self._sparse.values()))

    def apply(
        self, pair: JudgedApplication, event_time: float, slot: Observation, sign: int
    ) -> None:
        """A slot counts from now on (+1), or no longer (−1), under the labels of ``pair``."""
        sparse_by_segment = self._sparse.setdefault(pair, {})
        sparse = sparse_by_segment.get(slot.segment)
        if sparse is None:
            sparse = sparse_by_segment[slot.segment] = self._new_sparse(slot.segment)
        if sign > 0:
            sparse.add(event_time, slot)
        else:
            sparse.take(event_time, slot)
            self._remove_if_empty(pair, slot.segment)
        if not slot.is_plain:
            terms = zip(slot.metrics, slot.all_segment_terms(), slot.all_terms(), strict=True)
            for metric, own, whole in terms:
                if self._is_kept(metric):
                    beyond = own.minus(whole)
                    self._rolling((metric, *pair)).add(event_time, beyond, sign)

    def forget(self, pair: JudgedApplication) -> None:
        """Nothing is left of a pair; its slots were taken out."""
        for key in [key for key in self._beyond if key[1:] == pair]:
            del self._beyond[key]

    def advance(self, now: float, start: int) -> None:
        """Let time pass; ``start`` is that of the horizon."""
        for pair, sparse_by_segment in list(self._sparse.items()):
            if start > self._start:
                for segment, sparse in list(sparse_by_segment.items()):
                    sparse.advance(now)
                    sparse.drop_before(start)
                    self._remove_if_empty(pair, segment)
            for segment in self._awake:
                if segment in sparse_by_segment:
                    sparse_by_segment[segment].advance(now)
        for key, rolling in list(self._beyond.items()):
            rolling.advance(now)
            rolling.drop_before(start)
            if rolling.is_empty:
                del self._beyond[key]
        self._now, self._start = now, max(start, self._start)

    def names(self) -> set[str]:
        """The segments that keep their names now; their totals are kept from here on.

        So are those of the segments that will have a name if the period ends as it stands: at its
        end there is nothing left to add up.
        """
        if self._now == float("-inf"):
            return set()
        if self._labels.fixed is not None:
            names = self._labels.fixed - {OTHER}
            self._wake(names)
        else:
            most = self._labels.most
            names = frozenset(self._label_counts.segments(self._now, most))
            self._wake(names.union(self._label_counts.next_segments(self._now, most)))
        return set(names)

    def parts(
        self,
        pairs: Iterable[JudgedApplication],
        whole: Callable[[JudgedApplication], Mapping[str, RollingSums]],
    ) -> Iterator[Part]:
        """Every segment of every application and judge, in the order of the labels.

        ``pairs`` are those labels, ``whole`` gives their series by metric.
        """
        names = sorted(self.names())
        for pair in sorted(pairs):
            sparse_by_segment = self._sparse.get(pair, {})
            named: list[Part] = []
            for name in names:
                sparse = sparse_by_segment.get(name)
                if sparse is not None:
                    readings = self._read.get((*pair, name), sparse.stamp, sparse.read)
                    named.append(Part(*pair, name, sparse.stamp, readings))
            rest = self._rest(pair, self._whole(pair, whole(pair)), named)
            yield from sorted([*named, rest], key=lambda part: part.segment)
        self._read.sweep()

    def _whole(
        self, pair: JudgedApplication, series: Mapping[str, RollingSums]
    ) -> dict[str, list[RollingSums]]:
        """By metric what adds up to a series as its segments see it."""
        return {
            metric: [rolling, *filter(None, [self._beyond.get((metric, *pair))])]
            for metric, rolling in series.items()
        }

    def _rest(
        self, pair: JudgedApplication, by_metric: dict[str, list[RollingSums]], named: list[Part]
    ) -> Part:
        stamps = (
            tuple((metric, *(s.stamp for s in series)) for metric, series in by_metric.items()),
            tuple((part.segment, part.stamps) for part in named),
        )

        def left() -> Readings:
            found = {
                metric: _left(self._windows, series, [p.readings.get(metric) for p in named])
                for metric, series in sorted(by_metric.items())
            }
            return {metric: reading for metric, reading in found.items() if reading.horizon.w}

        readings = self._read.get((*pair, OTHER), stamps, left)
        return Part(*pair, OTHER, stamps, readings)

    def _wake(self, wanted: frozenset[str]) -> None:
        for name in wanted - self._awake:
            for sparse in self._of(name):
                sparse.advance(self._now)
                sparse.wake()
        self._awake |= wanted
        if len(self._awake) > _MOST_AWAKE * len(wanted):
            for name in self._awake - wanted:
                for sparse in self._of(name):
                    sparse.sleep()
            self._awake = set(wanted)

    def _of(self, name: str) -> Iterator[SparseRollingSums[Observation]]:
        return (
            sparse_by_segment[name]
            for sparse_by_segment in self._sparse.values()
            if name in sparse_by_segment
        )

    def _new_sparse(self, segment: str) -> SparseRollingSums[Observation]:
        made = SparseRollingSums(
            self._bucket_s, self._period_s, list(self._windows.values()), self._sums_of
        )
        if self._now > float("-inf"):
            made.advance(self._now)
            made.drop_before(self._start)
        if segment in self._awake:
            made.wake()
        return made

    def _rolling(self, key: tuple[str, str, str]) -> RollingSums:
        found = self._beyond.get(key)
        if found is None:
            found = self._beyond[key] = RollingSums(self._bucket_s, self._windows)
            if self._now > float("-inf"):
                found.advance(self._now)
                found.drop_before(self._start)
        return found

    def _remove_if_empty(self, pair: JudgedApplication, segment: str) -> None:
        sparse_by_segment = self._sparse[pair]
        if not len(sparse_by_segment[segment]):
            del sparse_by_segment[segment]
            if not sparse_by_segment:
                del self._sparse[pair]

    def _sums_of(self, slot: Observation) -> Iterable[tuple[str, Sums]]:
        terms = zip(slot.metrics, slot.all_segment_terms(), strict=True)
        return [term for term in terms if self._is_kept(term[0])]


def _left(
    windows: Iterable[str], series: list[RollingSums], named: Iterable[Reading | None]
) -> Reading:
    """What the named segments leave of a series."""
    names = list(windows)
    left = [added_up([s.window(name) for s in series]) for name in names]
    horizon = added_up([s.horizon() for s in series])
    for reading in named:
        if reading is not None:
            left = [whole.minus(part) for whole, part in zip(left, reading.windows, strict=True)]
            horizon = horizon.minus(reading.horizon)
    return Reading(tuple(left), horizon)
