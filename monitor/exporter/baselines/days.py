"""What whole days say beyond a baseline: how far they lie apart, the hours of a day, rare metrics.

A baseline is learned within a day or two, and nobody has seen a week then. From the next whole days
on there is a record of sums for each; with seven of them every metric gets hours and the spread of
days, once. A metric that had too few values for a baseline gets one from them, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from datetime import UTC, datetime

from monitor.exporter.scores.detectors import DriftDetectors, DriftKey
from monitor.exporter.scores.folding import JudgedApplication
from monitor.metrics.catalogue import CATALOGUE
from monitor.records.control import BaselineRecord, DayRecord, HourOfDay, MetricBaseline
from monitor.stats.baseline import DAY_SPREADS, STANDARD_ERRORS
from monitor.stats.days import NEEDED_DAYS, HourSums, Rhythm, hour_sums, is_better, rhythm, summed
from monitor.stats.period import DAY_S
from monitor.stats.sums import as_worse

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

    def after(self, record: BaselineRecord) -> list[DayRecord]:
        """The whole days after a baseline was learned, in their order."""
        found = self._days.get((record.application, record.judge), {}).values()
        begin = record.effective_from.timestamp()
        return sorted((day for day in found if day.start >= begin), key=lambda day: day.day)

    def due(
        self, record: BaselineRecord, now: float, was_open: WasOpen
    ) -> Generator[None, None, DayRecord | None]:
        """The record of yesterday, if it is to be written now; in steps of an hour."""
        end = now // DAY_S * DAY_S
        start = end - DAY_S
        wanted = self._wanted(record)
        if not wanted or start < record.effective_from.timestamp() or now - self._wait_s < end:
            return None
        yesterday = datetime.fromtimestamp(start, UTC).date()
        if any(day.day == yesterday for day in self.after(record)):
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

    def refined(self, record: BaselineRecord, was_open: WasOpen) -> BaselineRecord | None:
        """The baseline with what its days say of some metrics; None where it is as it was."""
        days = self.after(record)
        if not days:
            return None
        metrics = dict(record.metrics)
        for name in self._wanted(record):
            key = DriftKey(name, record.application, record.judge)
            if was_open(key, math.inf):
                continue  # its evidence would be gone
            made = self._made(name, record, days)
            if made is not None:
                metrics[name] = made
        return None if metrics == record.metrics else record.model_copy(update={"metrics": metrics})

    def _wanted(self, record: BaselineRecord) -> list[str]:
        """The watched metrics of which days can still say something: not what people decided."""
        if record.origin != "learned" or record.provisional or not record.metrics:
            return []
        watched = self._drift.settings.metrics
        known = record.metrics
        done = {name for name, found in known.items() if found.days or found.is_by_hand}
        return [name for name in watched if name not in done]

    def _made(
        self, name: str, record: BaselineRecord, days: Sequence[DayRecord]
    ) -> MetricBaseline | None:
        before, with_it = record.metrics.get(name), [day for day in days if name in day.metrics]
        if before is not None and len(with_it) < NEEDED_DAYS:
            return None  # it is asked every minute: the sums of a week are not read for that
        of_days = [_read(day.metrics[name]) for day in with_it]
        total, found = summed(hour for day in of_days for hour in day), rhythm(of_days)
        if not (found or (before is None and total.n >= self._enough)) or total.n < self._least:
            return None
        last = datetime.fromtimestamp(with_it[-1].start + DAY_S, UTC)
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
    dependence = found.dependence_after(made.dependence)
    learned_at_first = as_worse(made.mean, better)
    margin = STANDARD_ERRORS * made.se + DAY_SPREADS * found.day_spread
    mean = min(found.mean, learned_at_first + margin)
    shift = mean - learned_at_first
    return made.model_copy(
        update={
            "mean": as_worse(mean, better),
            # That of a mean of so many days, beside what single scores give.
            "se": math.sqrt(dependence * found.se**2 + found.day_spread**2 / found.days),
            "dependence": dependence,
            "segments": {
                segment: as_worse(_share(as_worse(value, better) + shift), better)
                for segment, value in made.segments.items()
            },
            "spreads": _spreads(made, found),
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
        segment: (share, math.sqrt(max(0.0, se**2 * (1.0 - 2.0 * share) + moved)))
        for segment, (share, se) in made.spreads.items()
    }


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def _read(hours: Sequence[HourOfDay]) -> _Day:
    return tuple(HourSums(*hour) for hour in hours)
