"""Weeks of an installation by arrays: what ``weeks.py`` plays, in a tenth of the time.

For rates that have a period of one day. What is learned is learned by the product's functions, and
when is told by the same looks. The evidence of a day is an array (``recursion.py``); where it comes
near the threshold, or an alarm is open, the product's own recursion goes from look to look.
``tests/unit/exporter/test_promise_quiet.py`` holds both against each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.config import Settings, seconds
from monitor.exporter.baselines.bad_times import HELD_BACK_S
from monitor.exporter.baselines.learning import LEAST_VALUES
from monitor.stats.baseline import Baseline, Tolerance
from monitor.stats.days import HourSums
from monitor.stats.drift import DriftEvidence, uniform
from monitor.stats.evidence_sequence import ComparedSlot, EvidenceSequence
from monitor.stats.recent_mix import recent_mix
from tests.benchmarks.promising.arrays import Normal
from tests.benchmarks.promising.installation import JUDGED_S
from tests.benchmarks.promising.looks import Looks, Slots, Stream, Thresholds, joined
from tests.benchmarks.promising.recursion import Numbers, combined, mix_margins
from tests.benchmarks.promising.teaching import refined, taught
from tests.benchmarks.promising.weeks import (
    PATIENCE_DAYS,
    PATIENCE_JUDGED,
    WAITS,
    Change,
    Delay,
    Found,
    Plan,
)
from tests.benchmarks.promising.worlds import DAY, HOUR, METRICS, WEEK, Cell, Traffic, Worse

#: What is so near to a threshold is computed as the product does it.
_NEAR: Final = 1.0 - 1e-9


class Against:
    """Slots of one metric as one baseline has them."""

    def __init__(self, baseline: Baseline, tolerance: Tolerance, tenants: int) -> None:
        self.baseline = baseline
        names = [f"tenant-{tenant:02}" for tenant in range(tenants)]
        self._table = np.array(
            [[baseline.of(name, tolerance, hour * HOUR) for name in names] for hour in range(24)]
        )
        self._known = sorted({*baseline.spreads, ""})
        numbers = {name: number for number, name in enumerate(self._known)}
        #: Shares of the known segments, and which of them each tenant is.
        self.mix = (
            tuple(one.share for _, one in sorted(baseline.spreads.items())),
            tuple(numbers.get(name, numbers[""]) for name in names),
        )
        self._names = names

    def _own(self, slots: Slots) -> Numbers:
        hours = (slots.times // HOUR % 24).astype(int)
        return np.asarray(self._table[hours, slots.tenants])

    def evidence(self, slots: Slots, shares: Numbers, metric: int) -> Numbers:
        """R after each slot, beginning with none; ``shares`` are those of the mix before each."""
        own, x = self._own(slots), slots.scores[:, metric]
        against = own
        if len(self.baseline.spreads) > 1:
            against = own + mix_margins(self.baseline, shares, self._known)
        says = own < 1.0
        found = np.zeros(len(own))
        found[says] = combined(x[says], against[says], self.baseline.dependence)
        return found

    def sequence(self, slots: Slots, metric: int) -> EvidenceSequence:
        """The same slots as the product holds them."""
        mix = recent_mix(self.baseline)
        made = EvidenceSequence(mix, self.baseline.dependence)
        parts = [() if mix is None else mix.parts({name: 1}) for name in self._names]
        alike: dict[tuple[float, float, int], ComparedSlot] = {}
        columns = slots.times, self._own(slots), slots.scores[:, metric], slots.tenants
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for number, (at, own, x, tenant) in enumerate(rows):
            key = x, own, tenant
            if key not in alike:
                alike[key] = ComparedSlot(uniform(None if own >= 1.0 else x, own), parts[tenant])
            made.put((at, f"{number:010}"), alike[key])
        return made


class Event(NamedTuple):
    """An alarm of a metric opens or closes at a look."""

    at: float
    metric: int
    is_open: bool


class Span(NamedTuple):
    """The looks of a day with begin ≤ look < end, and what is looked at then."""

    begin: float
    end: float
    period_s: int
    stream: Stream
    looks: Looks
    thresholds: Thresholds

    @property
    def day_ends(self) -> float:
        """Of the day that they are of."""
        return self.begin // DAY * DAY + DAY

    def starts(self, normal: Normal) -> tuple[float, float]:
        """Where evidence of this period and of the next one begins."""
        after = math.nextafter(normal.effective_from, math.inf)
        current = self.begin // self.period_s * self.period_s
        return max(current - self.period_s, after), max(current, after)


class Watch:
    """One metric: what it is held against, and its alarm."""

    def __init__(self, metric: int) -> None:
        self.metric = metric
        self.normal: Normal | None = None
        self.against: Against | None = None
        self.is_open, self.opened_at, self.closed_at = False, -math.inf, -math.inf
        self.days: list[list[HourSums]] = []
        self.days_end, self.is_refined = -math.inf, False
        self._carried: dict[float, DriftEvidence] = {}
        self._run: tuple[tuple[float, float], Numbers, Numbers] | None = None

    def copy(self) -> Watch:
        """It goes on by itself, with other traffic."""
        made = copy(self)
        made._run = None
        return made

    def hold(self, normal: Normal, against: Against) -> None:
        """Another baseline."""
        self.normal, self.against = normal, against
        self._carried, self._run = {}, None

    def go(self, span: Span) -> list[Event]:
        """What opens and closes at these looks."""
        if self.normal is None or self.against is None:
            return []
        start, following = span.starts(self.normal)
        near, looks = self._near(start, span), span.looks
        if near is None:
            return []
        events = []
        sequence = self.against.sequence(span.stream.slots(start, span.end), self.metric)
        for now in looks.between(near, span.end):
            sequence.carry(self._carried)
            found = sequence.evidence(start, looks.seen_until(now), span.thresholds.at(now))
            was_open, self.is_open = self.is_open, found is not None and found.is_open
            if was_open != self.is_open:
                events.append(Event(now, self.metric, self.is_open))
                self._turned(now)
            if self.is_open:
                has_begun = start < following <= looks.seen_until(now)
                to = sequence.stood(start, following) if has_begun else None
                self._carry(start, following, to, is_new=not was_open)
        return events

    def _turned(self, now: float) -> None:
        if self.is_open:
            self.opened_at = now
        else:
            self.closed_at = now

    def _carry(
        self, start: float, following: float, to: DriftEvidence | None, *, is_new: bool
    ) -> None:
        kept = {start: self._carried[start]} if start in self._carried else {}
        if to is not None and to.combined:
            kept[following] = to
        if is_new or (kept and max(kept) > max(self._carried, default=-math.inf)):
            self._carried = kept

    def first(self, span: Span) -> float | None:
        """The first of these looks at which it opens; it is not open before."""
        assert self.normal is not None
        start, _ = span.starts(self.normal)
        if start in self._carried:
            return next((one.at for one in self.go(span) if one.is_open), None)
        seen, evidence, near = self._candidates(start, span)
        exact = (seen[one] for one in near if not evidence[one] < span.thresholds.at(seen[one]))
        return next(map(float, exact), None)

    def _near(self, start: float, span: Span) -> float | None:
        """From which look on the evidence may be enough; None where it is at none of them."""
        if self.is_open or start in self._carried:
            return span.begin
        seen, _, near = self._candidates(start, span)
        return float(seen[near[0]]) if len(near) else None

    def _candidates(self, start: float, span: Span) -> tuple[Numbers, Numbers, NDArray[np.intp]]:
        """Looks that see the slots, evidence after each, and where that may be enough then."""
        times, evidence = self._evidence(start, span.day_ends, span.stream)
        beyond = np.searchsorted(times, span.looks.seen_until(span.end))
        seen = np.maximum(span.looks.settled(times[:beyond]), span.begin)
        enough = ~(evidence[:beyond] < span.thresholds.seen(seen) * _NEAR)
        return seen, evidence, np.flatnonzero(enough)

    def _evidence(self, start: float, end: float, stream: Stream) -> tuple[Numbers, Numbers]:
        assert self.against is not None
        if self._run is None or self._run[0] != (start, end):
            slots, (known, numbers) = stream.slots(start, end), self.against.mix
            shares = stream.shares(start, end, known, numbers)
            found = self.against.evidence(slots, shares, self.metric)
            self._run = (start, end), slots.times, found
        return self._run[1:]


class Quiet:
    """An installation, from look to look."""

    def __init__(self, cell: Cell, seed: int, number: int, chosen: Settings, plan: Plan) -> None:
        self._plan, self._drift = plan, chosen.drift
        self.traffic = Traffic(cell, seed, number)
        self._stream = Stream(self.traffic)
        self._looks = Looks(self._stream, seconds(chosen.drift.settle))
        self._wait_s = seconds(chosen.drift.learn_wait)
        self._tolerance = Tolerance(*chosen.drift.tolerated)
        self._watches = [Watch(metric) for metric in range(len(METRICS))]
        self.events: list[Event] = []
        self.now = float(self.traffic.start)
        self.began = math.inf
        self._teaching = self._taught()
        self._teach_at = next(self._teaching)

    def run(self, end: float) -> None:
        """Look until then, inclusively."""
        end = math.nextafter(end, math.inf)
        while self.now < end:
            span = self._span(self._stream, min(end, self._teach_at))
            for watch in self._watches:
                self.events += watch.go(span)
            self.now = span.end
            if span.end == self._teach_at:
                self._teach_at = next(self._teaching)

    def _span(self, stream: Stream, end: float, begin: float | None = None) -> Span:
        """From ``begin`` on, or from now; no further than to midnight."""
        begin = self.now if begin is None else begin
        midnight = begin // DAY * DAY
        period_s = self._drift.period_s or self._stream.period_s(midnight)
        per_week = self._drift.false_alarms_per_week
        thresholds = Thresholds(stream, midnight, period_s, per_week)
        until = min(end, midnight + DAY)
        return Span(begin, until, period_s, stream, self._looks, thresholds)

    @property
    def is_open(self) -> bool:
        """Whether an alarm is."""
        return any(watch.is_open for watch in self._watches)

    def _taught(self) -> Iterator[float]:
        """The looks at which something is learned, each before it is."""
        enough, until = self._enough()
        whole = self._looks.learning(until + self._wait_s)
        provisional = whole
        if enough + self._wait_s < whole:
            provisional = self._looks.learning(enough + self._wait_s)
        if provisional < whole:
            yield provisional
            self._learn(enough, provisional=True)
        yield whole
        while self._is_held_back():
            yield self._looks.learning(self.now + 1.0)
        last = self._learn(until, provisional=False)
        day = math.ceil((last - self.traffic.start) / DAY)
        while not all(watch.is_refined for watch in self._watches):
            yield self._looks.learning(self.traffic.start + (day + 1) * DAY + self._wait_s)
            self._add(day)
            day += 1
            yield self._looks.learning(self.now + 1.0)
            self._refine()
        yield math.inf

    def _enough(self) -> tuple[float, float]:
        """Event times with which there is enough for a provisional baseline, and for a whole one.

        The first is ∞ where the other one comes before.
        """
        start, slots = self.traffic.start, self._drift.learn_slots
        least, enough, until = min(LEAST_VALUES, slots), math.inf, math.inf
        days = 0
        while until >= start + days * DAY:
            days += 1
            times = self._stream.scored(start, start + days * DAY)
            if len(times) >= slots:
                enough = float(times[slots - 1])
                until = max(enough, float(times[0]) + self._drift.learn_for_s)
            if len(times) >= least:
                until = min(until, max(float(times[least - 1]), float(times[0]) + WEEK))
        return enough, until

    def _is_held_back(self) -> bool:
        return any(
            watch.is_open and self.now - watch.opened_at <= HELD_BACK_S for watch in self._watches
        )

    def _learn(self, until: float, *, provisional: bool) -> float:
        """Hold what the slots up to then say; the event time that they reach to."""
        span = self.traffic.start, math.nextafter(until, math.inf)
        slots = self._stream.slots(*span)
        if len(slots.times) < min(LEAST_VALUES, self._drift.learn_slots):
            slots = joined([day.scored for day in self._stream.days(*span)]).between(*span)
        found, last = taught(slots, provisional=provisional)
        for watch, one in zip(self._watches, found, strict=True):
            self._hold(watch, one, last)
        self.began = min(self.began, self._noticed())
        return last

    def _noticed(self) -> float:
        """The last look before the first pick that comes when there is a baseline."""
        days = self._stream.days(self.now - DAY, self.now + 7 * DAY)
        times = np.concatenate([day.all for day in days])
        return self._looks.last(times[np.searchsorted(times, self.now - JUDGED_S)] + JUDGED_S)

    def _hold(self, watch: Watch, baseline: Baseline, effective_from: float) -> None:
        against = Against(baseline, self._tolerance, self.traffic.tenants)
        watch.hold(Normal(baseline, effective_from, self.now), against)

    def _add(self, number: int) -> None:
        """What a day says of the metrics that no alarm was open of."""
        begin = self.traffic.start + number * DAY
        slots = self._stream.slots(begin, begin + DAY)
        hours = ((slots.times - begin) // HOUR).astype(int)
        for watch in self._watches:
            if not (watch.is_open or watch.closed_at > begin):
                x = slots.scores[:, watch.metric]
                sums = [np.bincount(hours, w, 24) for w in (None, x, x**2)]
                day = [HourSums(int(n), n, x, n, x, xx) for n, x, xx in zip(*sums, strict=True)]
                watch.days.append(day)
                watch.days_end = begin + DAY

    def _refine(self) -> None:
        for watch in self._watches:
            if watch.is_refined or watch.is_open or watch.normal is None:
                continue
            found = refined(watch.normal.baseline, watch.days, watch.days_end)
            if found is not None:
                watch.is_refined = True
                self._hold(watch, found, watch.days_end)

    def delay(self, change: Change) -> Delay:
        """From now on until it is seen; nothing is changed by that."""
        since = math.nextafter(self.now, -math.inf)
        stream = Stream(self.traffic, Worse(since, change.times))
        patience = self._patience(stream, since)
        now, opened = self.now, None
        watches = [watch.copy() for watch in self._watches]
        while opened is None and now < patience:
            span = self._span(stream, patience, now)
            found = [watch.first(span) for watch in watches]
            opened = min((at for at in found if at is not None), default=None)
            now = span.end
        if opened is None:
            return Delay(None, None)
        days = range(stream.number(since), stream.number(opened) + 1)
        times = np.concatenate([stream.day(number).all for number in days])
        judged = np.searchsorted(times, [since, self._looks.seen_until(opened)], "right")
        return Delay(int(judged[1] - judged[0]), (opened - since) / HOUR)

    def _patience(self, stream: Stream, since: float) -> float:
        """When nothing is waited for any more."""
        number, left = stream.number(since), PATIENCE_JUDGED
        while number < stream.number(since) + PATIENCE_DAYS:
            times = stream.day(number).all
            times = times[times > since]
            if len(times) >= left:
                return float(times[left - 1]) + JUDGED_S
            number, left = number + 1, left - len(times)
        return since + PATIENCE_DAYS * DAY


def quietly(cell: Cell, seed: int, number: int, chosen: Settings, plan: Plan) -> Found:
    """What ``weeks.played`` tells of an installation."""
    one = Quiet(cell, seed, number, chosen, plan)
    found = Found(plan.name, cell.name, seed, number)
    while one.began == math.inf:
        one.run(one.now + DAY)
    found.learned_h = (one.began - one.traffic.start) / HOUR
    began = max(one.began, one.traffic.event_at)
    end = began + plan.weeks * WEEK
    one.run(end)
    found.weeks = plan.weeks
    found.openings = sum(event.is_open and began < event.at <= end for event in one.events)
    found.in_alarm = _open_s(one.events, began, end) / (end - began)
    moment = one.traffic.rng(2).random() * DAY
    for day in range(WAITS if plan.changes else 0):
        one.run(end + day * DAY + moment)
        if not one.is_open:
            break
    changes = [c for c in plan.changes if one.traffic.can_be(c.times) and not one.is_open]
    found.delays = {change.name: one.delay(change) for change in changes}
    return found


def _open_s(events: Sequence[Event], begin: float, end: float) -> float:
    """For how long an alarm of any metric was open."""
    number, since, total = 0, begin, 0.0
    for event in sorted(events):
        at = min(max(event.at, begin), end)
        total += (at - since) * (number > 0)
        number, since = number + (1 if event.is_open else -1), at
    return total + (end - since) * (number > 0)
