"""What whole days say beyond a baseline: how far they lie apart, the hours of a day, rare metrics.

A baseline is learned within a day or two, and nobody has seen a week then. From the next whole days
on there is a record of sums for each; with seven of them every metric gets hours and the spread of
days, once. A metric that had too few values for a baseline gets one from them, too. What people
froze gets the hours and the spread, and keeps its level: that they have decided. From less than a
day it knows no other hours, until whole days say how far they lie apart: the first one where much
is judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from datetime import UTC, datetime
from typing import Final

from monitor.exporter.scores.detectors import DriftDetectors, DriftKey
from monitor.exporter.scores.folding import JudgedApplication
from monitor.metrics.catalogue import CATALOGUE
from monitor.records.control import (
    LARGEST,
    BaselineRecord,
    DayRecord,
    HourOfDay,
    MetricBaseline,
)
from monitor.stats.baseline import DAY_SPREADS, STANDARD_ERRORS
from monitor.stats.days import (
    HOUR_S,
    NEEDED_DAYS,
    HourSums,
    Rhythm,
    added_between,
    hour_spread,
    hour_sums,
    is_better,
    rhythm,
    summed,
    tell_hours,
    usual_hours,
)
from monitor.stats.period import DAY_S
from monitor.stats.sums import as_worse

#: What was frozen from a longer time is taken for that of so many seconds.
_LONGEST_S: Final = 28 * DAY_S
#: Whether an alarm of a detector was open after an event time (epoch seconds).
WasOpen = Callable[[DriftKey, float], bool]
#: The hours of one day.
_Day = tuple[HourSums, ...]


def never_open(_key: DriftKey, _since: float) -> bool:
    """Without alarms."""
    return False


class Days:
    """Day records in, what follows from them out.

    ``least`` values are needed for a baseline, or ``enough`` where there are not yet seven days.
    """

    def __init__(self, drift: DriftDetectors, least: int, enough: int, wait_s: float) -> None:
        self._drift, self._least, self._enough = drift, least, enough
        self._wait_s = wait_s
        self._days: dict[JudgedApplication, dict[str, DayRecord]] = {}
        self._pairs: dict[str, JudgedApplication] = {}

    def hold(self, record: DayRecord) -> None:
        """A day is known from now on."""
        pair = record.application, record.judge
        self._days.setdefault(pair, {})[record.key] = record
        self._pairs[record.key] = pair

    def forget(self, key: str) -> None:
        """It was removed."""
        pair = self._pairs.pop(key, None)
        if pair is not None:
            del self._days[pair][key]

    def after(self, record: BaselineRecord, now: float) -> list[DayRecord]:
        """The whole days from when a baseline was learned until ``now``, in their order."""
        found = self._days.get((record.application, record.judge), {}).values()
        begin, last = record.effective_from.timestamp(), now - DAY_S
        days = [day for day in found if begin <= day.start <= last]
        return sorted(days, key=lambda day: day.day)

    def known_of(self, record: BaselineRecord, name: str, now: float) -> list[DayRecord]:
        """Those of them that say something of a metric: after it was frozen, if it was."""
        begin, days = _begin(record, name), self.after(record, now)
        return [day for day in days if name in day.metrics and day.start >= begin]

    def due(
        self, record: BaselineRecord, now: float, was_open: WasOpen
    ) -> Generator[None, None, DayRecord | None]:
        """The record of yesterday, if it is to be written now; in steps of an hour."""
        end = now // DAY_S * DAY_S
        start = end - DAY_S
        wanted = [name for name in self._wanted(record) if start >= _begin(record, name)]
        if not wanted or now - self._wait_s < end:
            return None
        yesterday = datetime.fromtimestamp(start, UTC).date()
        if any(day.day == yesterday for day in self.after(record, now)):
            return None
        metrics: dict[str, tuple[HourOfDay, ...]] = {}
        for name in wanted:
            key = DriftKey(name, record.application, record.judge)
            if was_open(key, start):
                continue  # what was worse on that day is not usual
            hours = []
            for slots in self._drift.hours(key, start, end):
                hours.append(hour_sums((slot.u, x) for slot, x in slots if x is not None))
                yield
            if any(hour.n for hour in hours):
                metrics[name] = tuple(tuple(hour) for hour in hours)  # type: ignore[misc]
        if not metrics:
            return None
        return DayRecord(
            application=record.application, judge=record.judge, day=yesterday, metrics=metrics
        )

    def refined(
        self, record: BaselineRecord, now: float, was_open: WasOpen
    ) -> BaselineRecord | None:
        """The baseline with what its days say of some metrics; None where it is as it was."""
        if not self.after(record, now):
            return None
        metrics = dict(record.metrics)
        for name in self._wanted(record):
            key = DriftKey(name, record.application, record.judge)
            if was_open(key, math.inf):
                continue  # its evidence would be gone
            made = self._made(name, record, now)
            if made is not None:
                metrics[name] = made
        return None if metrics == record.metrics else record.model_copy(update={"metrics": metrics})

    def _wanted(self, record: BaselineRecord) -> list[str]:
        """The watched metrics of which days can still say something: not what people decided."""
        if not record.metrics:
            return []
        metrics = record.metrics
        done = {name for name, found in metrics.items() if found.days or found.is_by_hand}
        if record.origin != "learned" or record.provisional:
            done |= {*self._drift.settings.metrics}
        # Earlier versions did not say when it was that they froze.
        open_ = {name for name, one in metrics.items() if _frozen_between(one) and not one.days}
        return [name for name in self._drift.settings.metrics if name in open_ or name not in done]

    def _made(self, name: str, record: BaselineRecord, now: float) -> MetricBaseline | None:
        before, with_it = record.metrics.get(name), self.known_of(record, name, now)
        needed = 1 if before is not None and before.provisional else NEEDED_DAYS
        if before is not None and len(with_it) < needed:
            return None  # it is asked every minute: the sums of a week are not read for that
        of_days = [_read(day.metrics[name]) for day in with_it]
        total, found = summed(hour for day in of_days for hour in day), rhythm(of_days)
        if total.n < self._least:
            return None
        last = datetime.fromtimestamp(with_it[-1].start + DAY_S, UTC)
        if before is not None and before.is_by_hand:
            return _of_frozen(name, before, of_days, last)
        if not (found or (before is None and total.n >= self._enough)):
            return None
        made = first(name, total, last) if before is None else before
        if found is None:
            return made
        is_surely_better = before is not None and is_better(
            total, as_worse(made.mean, CATALOGUE[name].higher_is_better), made.se
        )
        return with_rhythm(name, made, found, last).model_copy(
            update={
                "first_mean": made.mean if is_surely_better else None,
                "learned_in_alarm_of": None if is_surely_better else made.learned_in_alarm_of,
            }
        )


def _begin(record: BaselineRecord, name: str) -> float:
    """The event time after which days say something of a metric, in epoch seconds."""
    found = record.metrics.get(name)
    frozen_until = None if found is None else found.frozen_until
    return max(frozen_until or record.effective_from, record.effective_from).timestamp()


def is_of_days(found: MetricBaseline) -> bool:
    """Whether all of a baseline is from days: it has no halves, having been learned at no time."""
    has_its_time = found.effective_from is not None and found.origin != "frozen"
    return has_its_time and found.halves_z is None


def first(name: str, total: HourSums, last: datetime) -> MetricBaseline:
    """The baseline of a metric that had too few values for one."""
    error = math.sqrt(total.noise(total.mean) + 1.0 / total.u**2)
    mean = as_worse(total.mean, CATALOGUE[name].higher_is_better)
    return MetricBaseline(mean=mean, se=error, values=total.n, effective_from=last)


def with_rhythm(name: str, made: MetricBaseline, found: Rhythm, last: datetime) -> MetricBaseline:
    """A baseline with hours and the spread of days, and the mean of these days.

    A mean that is worse than the first one is taken as far as that one's error goes: a baseline
    must not learn what it is there to find.
    """
    better = CATALOGUE[name].higher_is_better
    learned_at_first = as_worse(made.mean, better)
    margin = STANDARD_ERRORS * made.se + DAY_SPREADS * found.day_spread
    mean = min(found.mean, learned_at_first + margin)
    # That of a mean of so many days, beside what single scores give.
    dependence = found.dependence_after(made.dependence)
    error = math.sqrt(dependence * found.se**2 + found.day_spread**2 / found.days)
    moved = _shifted(made, mean - learned_at_first, better)
    return _with_hours(moved, found, error, last, better).model_copy(
        update={"spreads": _spreads(made, found)}
    )


def _of_frozen(
    name: str, made: MetricBaseline, of_days: Sequence[_Day], last: datetime
) -> MetricBaseline | None:
    """By a week of days; by fewer, once they tell how far hours lie apart; None before."""
    by_hour, found = [summed(hour) for hour in zip(*of_days, strict=True)], rhythm(of_days)
    if found is not None:
        return frozen_with_rhythm(name, made, found, by_hour, last)
    if not tell_hours(by_hour, made.dependence):
        return None
    return frozen_with_hours(made, by_hour, last)


def frozen_with_hours(
    made: MetricBaseline, by_hour: Sequence[HourSums], last: datetime
) -> MetricBaseline:
    """What people froze, once days tell how far hours lie apart, and which of them were frozen.

    τ_h is that of the days, less what the hours that were frozen add to its mean, and at least 0:
    their mean stays the level until a week tells more.
    """
    added = _added(made, usual_hours(by_hour), by_hour)
    apart = max(0.0, hour_spread(by_hour, made.dependence) - added)
    update = {"hour_spread": apart, "provisional": False, "effective_from": last}
    return made.model_copy(update=update)


def _added(made: MetricBaseline, hours: Sequence[float], by_hour: Sequence[HourSums]) -> float:
    """What ``hours`` add to the mean of those that were frozen."""
    begin, end = _frozen_between(made) or (0.0, 0.0)
    return added_between(hours, [hour.u for hour in by_hour], begin, end)


def _frozen_between(made: MetricBaseline) -> tuple[float, float] | None:
    """Event times, epoch seconds; None where nobody says in which hours it was frozen."""
    if made.frozen_from is None or made.frozen_until is None:
        return None
    end = made.frozen_until.timestamp()
    # A record may say anything: of more than weeks each hour is there as often as the others.
    return max(made.frozen_from.timestamp(), end - _LONGEST_S), end


def frozen_with_rhythm(
    name: str, made: MetricBaseline, found: Rhythm, by_hour: Sequence[HourSums], last: datetime
) -> MetricBaseline:
    """What people froze, with hours and the spread of days: its level stays.

    The mean is the one with which the hours that were frozen have the mean that was. So its error
    is that one's, and that of these hours, and τ: the day may have been a good one. SE² = SE₁²·V/V₁
    + V·SE(m)²·24 h/w + τ²·24 h/w', with w the time that it was frozen from, an hour to a day, and
    w' the same, at least a day.
    """
    better = CATALOGUE[name].higher_is_better
    begin, end = _frozen_between(made) or (0.0, 0.0)
    dependence = found.dependence_after(made.dependence)
    of_hours = DAY_S / min(DAY_S, max(HOUR_S, end - begin))
    error = math.sqrt(
        made.se**2 * dependence / made.dependence
        + dependence * found.se**2 * of_hours
        + found.day_spread**2 * DAY_S / max(DAY_S, end - begin)
    )
    moved = _shifted(made, -_added(made, found.hours, by_hour), better)
    return _with_hours(moved, found, error, last, better).model_copy(update={"provisional": False})


def _shifted(made: MetricBaseline, shift: float, better: bool | None) -> MetricBaseline:
    """With the mean, and those of the segments, so much worse."""

    def moved(value: float) -> float:
        return as_worse(_share(as_worse(value, better) + shift), better)

    segments = {segment: moved(value) for segment, value in made.segments.items()}
    return made.model_copy(update={"mean": moved(made.mean), "segments": segments})


def _with_hours(
    made: MetricBaseline, found: Rhythm, error: float, last: datetime, better: bool | None
) -> MetricBaseline:
    # What no record may hold would be written at each look, and read by nobody.
    return made.model_copy(
        update={
            "se": min(LARGEST, error),
            "dependence": found.dependence_after(made.dependence),
            "day_spread": found.day_spread,
            "hour_spread": 0.0,
            "hours": tuple(0.0 - hour for hour in found.hours) if better else found.hours,
            "days": found.days,
            "effective_from": last,
        }
    )


def _spreads(made: MetricBaseline, found: Rhythm) -> dict[str, tuple[float, float]]:
    """The errors of segments whose means have moved with that of all, from m to m̂.

    Their error is that of m̂ and of m_s − m: SE_s²·(1 − 2p_s) + SE(m)² + SE(m̂)², with p_s the
    segment's share of m. So a segment that all the traffic lies in has that of m̂.
    """
    moved = made.se**2 / made.dependence + found.se**2
    return {
        segment: (share, min(LARGEST, math.sqrt(max(0.0, se**2 * (1.0 - 2.0 * share) + moved))))
        for segment, (share, se) in made.spreads.items()
    }


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def _read(hours: Sequence[HourOfDay]) -> _Day:
    return tuple(HourSums(*hour) for hour in hours)
