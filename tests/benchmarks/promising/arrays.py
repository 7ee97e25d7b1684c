"""The evidence of one metric of an installation, over arrays: a tenth of the time and less.

What ``weeks.py`` plays for a table, in ``i.i.d.`` traffic of one tenant: the first baseline, its
hours and days after a week, the period, the threshold, and the recursion between two alarms. The
product's own functions say what is learned; what is written again is when, and the recursion as a
sum of logarithms. ``tests/unit/exporter/test_promise.py`` holds both against each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from monitor.config import Settings, seconds
from monitor.exporter.baselines.learning import LEAST_VALUES
from monitor.stats.baseline import (
    Baseline,
    Tolerance,
)
from monitor.stats.days import HourSums
from monitor.stats.drift import BETS, closing
from monitor.stats.period import day_bounds, pace, period_days
from monitor.stats.threshold import LEAST_PER_DAY, WEEK_S, in_steps
from tests.benchmarks.promising.installation import JUDGED_S, LEARN_EVERY_S
from tests.benchmarks.promising.looks import Slots as Picked
from tests.benchmarks.promising.recursion import Numbers
from tests.benchmarks.promising.teaching import refined, taught
from tests.benchmarks.promising.weeks import (
    PATIENCE_DAYS,
    PATIENCE_JUDGED,
    Change,
    Delay,
    Found,
    Plan,
)
from tests.benchmarks.promising.worlds import DAY, HOUR, METRICS, WEEK, Cell, Traffic, Worse

_BOLDEST: Final = 0.95
_LOOK_S: Final = 5.0
WATCHED: Final = METRICS.index("noise_sensitivity_irrelevant")


class Normal(NamedTuple):
    """A baseline and the event time from which slots are held against it; ``known_at`` it is."""

    baseline: Baseline
    effective_from: float
    known_at: float


class Slots(NamedTuple):
    """Event times and scores in their order, shape (slots,)."""

    times: Numbers
    scores: Numbers

    def between(self, begin: float, end: float) -> Slots:
        """Those in [begin, end)."""
        first, last = np.searchsorted(self.times, [begin, end])
        return Slots(self.times[first:last], self.scores[first:last])


class Line:
    """One installation."""

    def __init__(self, cell: Cell, seed: int, number: int, chosen: Settings, share: int) -> None:
        self._traffic = Traffic(cell, seed, number)
        self._drift, self._share = chosen.drift, share
        self._settle_s = seconds(chosen.drift.settle)
        self._wait_s = seconds(chosen.drift.learn_wait)
        self._tolerance = Tolerance(*chosen.drift.tolerated)
        self._days = lru_cache(maxsize=None)(self._day)

    def _day(self, number: int, worse: Worse | None = None) -> tuple[Numbers, Numbers]:
        found = self._traffic.day(number, worse)
        return found.times, found.scores

    def slots(self, begin: float, end: float, worse: Worse | None = None) -> Slots:
        """Those in [begin, end) of the metric that is watched; before a change they are usual."""
        if worse is not None and begin < worse.since < end:
            parts = self.slots(begin, worse.since), self.slots(worse.since, end, worse)
            return Slots(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        is_worse = worse is not None and begin >= worse.since
        first, last = ((each - self._traffic.start) / DAY for each in (begin, end))
        numbers = range(max(0, math.floor(first)), math.ceil(last))
        days = [self._days(number, worse if is_worse else None) for number in numbers]
        times, scores = (np.concatenate(column) for column in zip(*days, strict=True))
        return Slots(times, scores[:, WATCHED]).between(begin, end)

    @cached_property
    def first(self) -> Normal:
        """The first whole baseline."""
        slots, least = self._drift.learn_slots, min(LEAST_VALUES, self._drift.learn_slots)
        held, numbers = list[tuple[Numbers, Numbers]](), 0
        while True:
            held.append(self._days(len(held)))
            times = np.concatenate([one[0] for one in held])
            until = math.inf
            if len(times) >= slots:
                until = max(times[slots - 1], times[0] + self._drift.learn_for_s)
            if len(times) >= least:
                until = min(until, max(times[least - 1], times[0] + WEEK_S))
            if until < times[-1]:
                break
        numbers = int(np.searchsorted(times, until, "right"))
        scores = np.concatenate([one[1] for one in held])[:numbers]
        picked = Picked(times[:numbers], scores, np.zeros(numbers, dtype=np.int64))
        baselines, last = taught(picked, provisional=False)
        return Normal(baselines[WATCHED], last, until + self._wait_s)

    @property
    def began(self) -> float:
        """When there was a baseline, if only a provisional one: at a look of the learner."""
        times = self.slots(self._traffic.start, self.first.known_at + DAY).times
        slots, soon = self._drift.learn_slots, self.first.known_at
        if len(times) >= slots:
            soon = min(soon, float(times[slots - 1]) + self._wait_s)
        due = np.ceil((times + self._settle_s) / _LOOK_S) * _LOOK_S
        midnights = np.arange(self._traffic.start, times[-1], DAY)
        looks, now = np.union1d(due, midnights), -math.inf
        while now < soon:
            now = float(looks[np.searchsorted(looks, now + LEARN_EVERY_S)])
        # With the next pick it is noticed, and there may have been looks between.
        noticed = times[np.searchsorted(times, now - JUDGED_S)] + JUDGED_S
        return float(looks[np.searchsorted(looks, noticed, "right") - 1])

    def refined(self, worse: Worse) -> Normal:
        """What seven whole days after it make of it."""
        first = self.first
        day = math.ceil((first.effective_from - self._traffic.start) / DAY)
        days = [self._hours(number, worse) for number in range(day, day + 7)]
        end = float(self._traffic.start + (day + 7) * DAY)
        baseline = refined(first.baseline, days, end)
        assert baseline is not None
        return Normal(baseline, end, end + self._wait_s)

    def _hours(self, number: int, worse: Worse) -> Sequence[HourSums]:
        midnight = self._traffic.start + number * DAY
        found = self.slots(midnight, midnight + DAY, worse)
        hour = ((found.times - midnight) // HOUR).astype(int)
        sums = [np.bincount(hour, w, 24) for w in (None, found.scores, found.scores**2)]
        return [HourSums(int(n), n, x, n, x, xx) for n, x, xx in zip(*sums, strict=True)]

    def delays(self, change: Change, changes: Sequence[Change], since: float) -> dict[str, Delay]:
        """Of changes of one size, from ``since`` on; without those that are open then."""
        worse = Worse(since, change.times)
        end = self._patience(since, worse)
        open_at: dict[str, float | None] = {}
        for begin, until, normal in self._phases(since, end, worse):
            start = max(self._start(begin), normal.effective_from)
            slots = self.slots(start, until, worse)
            seen_at = np.ceil((slots.times + self._settle_s) / _LOOK_S) * _LOOK_S
            rises = _log_factors(slots, normal.baseline, self._tolerance)
            evidence, counted = _evidence(rises), self._counted(seen_at, worse)
            for one in changes:
                if one.name not in open_at:
                    a = counted * self._share / one.per_week
                    if one.judged_per_week is not None:
                        a = np.full(len(a), one.judged_per_week * self._share / one.per_week)
                    found = _opens(rises, evidence, np.log(a), seen_at, begin)
                    if found is not None:
                        open_at[one.name] = found if found > since else None
        times = self.slots(since, end, worse).times
        delays: dict[str, Delay] = {}
        for one in changes:
            at = open_at.get(one.name, math.inf)
            if at is not None and at <= end + self._settle_s + _LOOK_S:
                judged = int(np.searchsorted(times, at - self._settle_s, "right"))
                delays[one.name] = Delay(judged, (at - since) / HOUR)
            elif at is not None:
                delays[one.name] = Delay(None, None)
        return delays

    def _patience(self, since: float, worse: Worse) -> float:
        end = since + PATIENCE_DAYS * DAY
        per_day = len(self._days(0)[0])
        short = since + min(PATIENCE_DAYS, 1.1 * PATIENCE_JUDGED / per_day) * DAY
        times = self.slots(since, short, worse).times
        return (
            float(times[PATIENCE_JUDGED - 1]) if len(times) >= PATIENCE_JUDGED else min(end, short)
        )

    def _phases(
        self, since: float, end: float, worse: Worse
    ) -> Iterator[tuple[float, float, Normal]]:
        """Spans with one start of evidence and one baseline: from, to, baseline."""
        after = math.ceil((self.first.effective_from - self._traffic.start) / DAY) + 7
        refined_at = self._traffic.start + after * DAY + self._wait_s
        midnights = range(int(since // DAY + 1) * DAY, int(end) + 1, DAY)
        bounds = sorted(
            {since, end, *midnights, *([refined_at] if since < refined_at < end else [])}
        )
        for begin, until in pairwise(bounds):
            yield begin, until, self.refined(worse) if begin >= refined_at else self.first

    def _period_s(self, now: float) -> int:
        bounds = day_bounds(now)
        counts = [
            len(self._days(number)[0]) if number >= 0 else 0
            for number in (int((day - self._traffic.start) // DAY) for day in bounds[:-1])
        ]
        return DAY * period_days(pace(counts))

    def _start(self, now: float) -> float:
        period_s = self._period_s(now)
        return (int(now) // period_s - 1) * period_s

    def _counted(self, at: Numbers, worse: Worse) -> Numbers:
        """Slots a week with a value, as they are counted at each of these moments."""
        if not len(at):
            return at
        period_s = self._period_s(float(at[-1]))
        found = np.empty(len(at))
        for start in np.unique(at // period_s * period_s):
            inside = at // period_s * period_s == start
            times = self.slots(
                max(start - period_s, self._traffic.start), float(at[-1]) + 1.0
            ).times
            before = int(np.searchsorted(times, start))
            so_far = np.searchsorted(times, at[inside], "right") - before
            least = max(before, LEAST_PER_DAY * period_s / DAY)
            steps = {n: in_steps(int(n)) for n in np.unique(so_far)}
            found[inside] = [max(least, steps[n]) for n in so_far]
        return found * WEEK / period_s


def _log_factors(slots: Slots, baseline: Baseline, tolerance: Tolerance) -> Numbers:
    """By how much each bet's evidence grows, shape (slots, bets)."""
    hours = [baseline.of("tenant-00", tolerance, hour * 3_600.0) for hour in range(24)]
    b = np.array(hours)[(slots.times // HOUR % 24).astype(int)]
    bets = np.minimum(BETS, _BOLDEST / b[:, None])
    found: Numbers = np.log1p(bets * (slots.scores - b)[:, None]) / baseline.dependence
    return found


def _opens(
    rises: Numbers, evidence: Numbers, log_a: Numbers, seen_at: Numbers, begin: float
) -> float | None:
    """When the first alarm opens that is open after ``begin``; at ``begin`` if one is then."""
    first = 0
    while first < len(rises):
        above = np.flatnonzero(evidence >= log_a[first:])
        if not len(above):
            return None
        opened = first + int(above[0])
        if seen_at[opened] > begin:
            return float(seen_at[opened])
        closed = _closes(rises, log_a, first, opened)
        if closed is None or seen_at[closed] > begin:
            return begin
        first = closed + 1
        evidence = _evidence(rises[first:])
    return None


def _evidence(rises: Numbers) -> Numbers:
    """The logarithm of R after each slot, shape (slots,)."""
    if not len(rises):
        return np.zeros(0)
    total = np.cumsum(rises, axis=0)
    before = np.vstack([np.zeros(len(BETS)), total[:-1]])
    bets = total + np.logaddexp.accumulate(-before, axis=0)
    found: Numbers = np.logaddexp.reduce(bets, axis=1) - math.log(len(BETS))
    return found


def _closes(rises: Numbers, log_a: Numbers, first: int, opened: int) -> int | None:
    """The slot with which an alarm ends; without the ceiling, which few reach in vain."""
    factors, evidence = np.exp(rises), np.zeros(len(BETS))
    for number in range(first, len(rises)):
        evidence = (1.0 + evidence) * factors[number]
        if number > opened and evidence.mean() < closing(math.exp(log_a[number])):
            return number
    return None


def told(cell: Cell, seed: int, number: int, chosen: Settings, plan: Plan) -> Found:
    """What ``weeks.played`` tells of the delays of a plan with a share."""
    assert plan.share is not None
    line = Line(cell, seed, number, chosen, plan.share)
    traffic = Traffic(cell, seed, number)
    found = Found(plan.name, cell.name, seed, number, plan.weeks)
    began = line.began
    since = began + plan.weeks * WEEK + traffic.rng(2).random() * DAY
    found.learned_h = (began - traffic.start) / HOUR
    for times in dict.fromkeys(change.times for change in plan.changes):
        alike = [change for change in plan.changes if change.times == times]
        found.delays |= line.delays(alike[0], alike, since)
    return found
