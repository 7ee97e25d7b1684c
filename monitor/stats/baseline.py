"""What «normal» is for one metric of one application and judge, learned or given.

Larger means worse throughout. A segment's mean is drawn towards the mean of all with the weight
of five judgements, so that a rare segment does not get a baseline of its own accidents.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from monitor.stats.dependence import is_beyond_chance

PRIOR_WEIGHT: Final = 5.0
MOST_SEGMENTS: Final = 20
#: Consecutive picks whose sum is looked at as one, and how many such sums tell anything.
BATCH: Final = 40
_ENOUGH_BATCHES: Final = 10


class ScoredPick(NamedTuple):
    """A scored pick: its segment ("" without one), u, and its value.

    Picks of one ``cluster`` belong together, as those of one session do; 0 says nothing of it.
    """

    segment: str
    u: float
    value: float
    cluster: int = 0


#: Standard errors between two halves of what was learned from that are told.
UNSTEADY: Final = 2.6
#: Standard errors that a learned mean may be too low by: with one, one baseline in six was.
STANDARD_ERRORS: Final = 2.0
#: Standard deviations of the daily means that a usual day may lie above the mean.
DAY_SPREADS: Final = 1.5
#: What a baseline that has not seen a whole day tolerates of its mean at least.
PROVISIONAL: Final = 0.25
#: Standard errors of the mix of the recent traffic, where that is the larger margin.
MIX_ERRORS: Final = 1.5


class Tolerance(NamedTuple):
    """How much worse than usual is no drift: the larger of a loss and a share of the mean.

    >>> Tolerance(0.0, 0.1).of(0.5), Tolerance(0.125).of(0.5)
    (0.05, 0.125)
    """

    loss: float = 0.0
    share: float = 0.0

    def of(self, mean: float) -> float:
        """The loss that is tolerated; ``mean`` is what is usual, larger meaning worse."""
        return max(self.loss, self.share * mean)


NOTHING: Final = Tolerance()


class SegmentSpread(NamedTuple):
    """What learning has seen of a segment: its share of the picks, and SE of its mean."""

    share: float
    se: float


@dataclass(frozen=True)
class Baseline:
    """What is normal. A segment that is not known has the mean of all.

    ``se`` is the standard error of the mean, ``day_spread`` τ, how far whole days lie from it.
    ``hours`` is what each hour of the day (UTC) adds to the mean, 24 numbers or none, and
    ``hour_spread`` τ_h, how far hours lie apart while that is all that is known. ``spreads``
    has the known segments, and "" for all others; none where nothing was learned of them. A
    ``provisional`` one was learned from less than a day: its τ_h is what hours that were not seen
    may add. ``dependence`` is V, how many times the variance of a sum is what it would be for
    independent scores. ``values`` is the number of scores it was learned from, ``halves_z`` how far
    the later half of them lies above the earlier one, in standard errors (None: too few to tell).
    """

    mean: float
    se: float
    segments: Mapping[str, float]
    day_spread: float = 0.0
    hour_spread: float = 0.0
    hours: tuple[float, ...] = ()
    spreads: Mapping[str, SegmentSpread] = field(default_factory=dict)
    provisional: bool = False
    dependence: float = 1.0
    values: int = 0
    halves_z: float | None = None

    def margin(self, tolerance: Tolerance = NOTHING) -> float:
        """What a segment's usual mean is exceeded by before it counts as worse.

        max(2·SE, SE + what is tolerated) + 1.5·τ + τ_h: what is tolerated covers one SE of two,
        for both at once cost a change to ×2 a fifth more scores. A provisional baseline has 2·SE +
        the larger of what is tolerated and a quarter of the mean.

        >>> Baseline(0.5, 0.125, {}).margin(), Baseline(0.5, 0.0, {}, provisional=True).margin()
        (0.25, 0.125)
        """
        errors, tolerated = STANDARD_ERRORS * self.se, tolerance.of(self.mean)
        if self.provisional:
            own = errors + max(tolerated, PROVISIONAL * self.mean)
        else:
            own = max(errors, self.se + tolerated)
        return own + DAY_SPREADS * self.day_spread + self.hour_spread

    def as_dependent(self, dependence: float) -> Baseline:
        """The same where scores repeat each other so much, if that is more than was seen here.

        >>> Baseline(0.5, 0.125, {}).as_dependent(4.0).se
        0.25
        """
        if dependence <= self.dependence:
            return self
        error = self.se * math.sqrt(dependence / self.dependence)
        return replace(self, se=error, dependence=dependence)

    def of(self, segment: str, tolerance: Tolerance = NOTHING, event_time: float = 0.0) -> float:
        """B of a segment at an event time (epoch seconds), at most 1.

        >>> Baseline(0.25, 0.125, {"acme": 0.5}).of("acme"), Baseline(0.25, 0.0, {}).of("acme")
        (0.75, 0.25)
        """
        usual = self.segments.get(segment, self.mean)
        if self.hours:
            usual = max(0.0, usual + self.hours[hour_of_day(event_time)])
        return min(1.0, usual + self.margin(tolerance))

    def overall(self, tolerance: Tolerance = NOTHING) -> float:
        """The mean and the margin, at most 1: what is shown."""
        return min(1.0, self.mean + self.margin(tolerance))


def is_unsteady(halves_z: float | None) -> bool:
    """Whether two halves differ: steady ones do so one time in a hundred.

    >>> is_unsteady(-2.7), is_unsteady(2.5), is_unsteady(None)
    (True, False, False)
    """
    return halves_z is not None and abs(halves_z) > UNSTEADY


def hour_of_day(event_time: float) -> int:
    """The hour of the day in UTC, 0 to 23.

    >>> hour_of_day(86_399.5), hour_of_day(86_400.0)
    (23, 0)
    """
    return math.floor(event_time) // 3_600 % 24


def learned(picks: Iterable[ScoredPick]) -> Baseline | None:
    """The baseline of the picks in the order of their event times; None without one.

    mean = Σux/Σu; mean_s = (Σ_s ux + 5·mean)/(Σ_s u + 5); SE² = V·(Σu²(x − mean)² + 1)/(Σu)².
    Segments beyond the 20 most frequent, and the empty one, have the mean. SE_s² = (v_s + 1/(n_s +
    5))/(n_s + 5), with v_s the variance within the segment; v/5 where it was never seen, with v the
    variance of all.

    >>> picks = [ScoredPick("a", 1.0, 0.0), ScoredPick("a", 1.0, 0.5), ScoredPick("", 1.0, 1.0)]
    >>> found = learned(picks)
    >>> found.mean, round(found.se, 4), found.segments
    (0.5, 0.4082, {'a': 0.42857142857142855})
    """
    held = list(picks)
    whole = _part(held)
    total = whole.weight
    if not total:
        return None
    mean, off = whole.mean, whole.off()
    squares = math.fsum(map(operator.mul, off, off))
    inflation = max(dependence(off), cluster_dependence(off, [pick.cluster for pick in held]))
    by_segment: dict[str, list[ScoredPick]] = {}
    for pick in held:
        by_segment.setdefault(pick.segment, []).append(pick)
    rest = by_segment.pop("", [])
    ranked = sorted(by_segment, key=lambda name: (-len(by_segment[name]), name))
    for name in ranked[MOST_SEGMENTS:]:
        rest += by_segment.pop(name)
    names = sorted(by_segment)
    parts = {name: _part(by_segment[name]) for name in names}
    usual = squares / math.fsum([u**2 for u in whole.us])
    spreads = {name: _spread(part, total, usual) for name, part in parts.items()}
    return Baseline(
        mean,
        math.sqrt(inflation * (squares + 1.0)) / total,
        {name: _drawn(part, mean) for name, part in parts.items()},
        spreads={**spreads, "": _spread(_part(rest), total, usual)} if names else {},
        dependence=inflation,
        values=len(held),
        halves_z=_halves_z(whole),
    )


class _PickSums(NamedTuple):
    """Some of the picks: u and the value of each, Σu and Σux."""

    us: Sequence[float]
    values: Sequence[float]
    weight: float
    sum: float

    @property
    def mean(self) -> float:
        """Needs a pick."""
        return self.sum / self.weight

    def off(self) -> list[float]:
        """How far each is from the mean, times its u."""
        mean = self.mean
        return [u * (value - mean) for u, value in zip(self.us, self.values, strict=True)]


def _part(picks: Sequence[ScoredPick]) -> _PickSums:
    _, us, values, _ = zip(*picks, strict=True) if picks else [()] * 4
    return _summed(us, values)


def _summed(us: Sequence[float], values: Sequence[float]) -> _PickSums:
    # Hundreds of thousands of picks for a plan, hence by column.
    return _PickSums(us, values, math.fsum(us), math.fsum(map(operator.mul, us, values)))


def dependence(off: Sequence[float]) -> float:
    """V, how much scores repeat each other; ``off`` are their distances to the mean, in order.

    V = m/(m − 1)·Σ(Σ off)²/Σ off² over the sums of m batches of 40. It is 1 where chance alone
    gives as much one time in twenty, and below ten batches.

    >>> dependence([1.0, -1.0] * 400), round(dependence(([1.0] * 40 + [-1.0] * 40) * 10), 1)
    (1.0, 42.1)
    """
    m, found = _of_batches(off)
    return found if m and is_beyond_chance(found, m) else 1.0


def cluster_dependence(off: Sequence[float], clusters: Sequence[int]) -> float:
    """V by clusters: the sums are those of clusters; a pick without one is one by itself.

    It is 1 without any, where chance alone gives as much, and below ten clusters.

    >>> alike = [1.0] * 4 + [-1.0] * 4
    >>> cluster_dependence(alike * 20, [n // 4 + 1 for n in range(160)]) > 4.0
    True
    >>> cluster_dependence(alike * 20, [0] * 160)
    1.0
    """
    if not any(clusters):
        return 1.0
    sums: dict[int, list[float]] = {}
    alone = list[float]()
    for one, cluster in zip(off, clusters, strict=True):
        if cluster:
            sums.setdefault(cluster, []).append(one)
        else:
            alone.append(one)
    found = [math.fsum(sums[cluster]) for cluster in sorted(sums)]
    m, squares = len(found) + len(alone), math.fsum(one * one for one in off)
    if m < _ENOUGH_BATCHES or not squares:
        return 1.0
    v = m / (m - 1) * math.fsum(one * one for one in [*found, *alone]) / squares
    return v if is_beyond_chance(v, m) else 1.0


def common_dependence(metrics: Iterable[Sequence[ScoredPick]]) -> float:
    """V of all metrics of the same answers: the mean of what the batches of each give.

    A day of little traffic is some thirty batches, which tell a V of 3 from none four times in
    five only. Sessions are those of all metrics, so that together they tell more.
    """
    told = [(m, found) for m, found in (_of_batches(_part(picks).off()) for picks in metrics) if m]
    if not told:
        return 1.0
    mean = math.fsum(found for _, found in told) / len(told)
    return mean if is_beyond_chance(mean, max(m for m, _ in told)) else 1.0


def _of_batches(off: Sequence[float]) -> tuple[int, float]:
    """How many batches there are, and V of them; none where that tells nothing."""
    whole = len(off) // BATCH * BATCH
    batches = [math.fsum(off[i : i + BATCH]) for i in range(0, whole, BATCH)]
    m, squares = len(batches), math.fsum(map(operator.mul, off[:whole], off))
    if m < _ENOUGH_BATCHES or not squares:
        return 0, 1.0
    return m, m / (m - 1) * math.fsum(one * one for one in batches) / squares


def _halves_z(picks: _PickSums) -> float | None:
    """The later half's mean less the earlier one's, in standard errors."""
    us, values = picks.us, picks.values
    middle = len(us) // 2
    if middle < 2:
        return None
    earlier, later = _summed(us[:middle], values[:middle]), _summed(us[middle:], values[middle:])
    both = _variance(earlier) + _variance(later)
    return (later.mean - earlier.mean) / math.sqrt(both) if both else 0.0


def _variance(picks: _PickSums) -> float:
    """That of their mean."""
    return math.fsum([one**2 for one in picks.off()]) / picks.weight**2


def _spread(picks: _PickSums, total: float, usual: float) -> SegmentSpread:
    """What is known of a segment; one that was never seen varies as much as is ``usual``."""
    weight, n = picks.weight, len(picks.us) + PRIOR_WEIGHT
    if not weight:
        return SegmentSpread(0.0, math.sqrt(usual / n))
    mean = picks.mean
    squares = [u * (value - mean) ** 2 for u, value in zip(picks.us, picks.values, strict=True)]
    variance = math.fsum(squares) / weight
    return SegmentSpread(weight / total, math.sqrt((variance + 1.0 / n) / n))


def _drawn(picks: _PickSums, mean: float) -> float:
    return (picks.sum + PRIOR_WEIGHT * mean) / (picks.weight + PRIOR_WEIGHT)
