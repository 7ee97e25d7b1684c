"""From the slots of a detector to the record of its alarm: what changed, since when, where.

A function of the slots, the baseline and the clock: two exporters write the same bytes.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from monitor.exporter.alarms.worst import cut, moment, worst
from monitor.exporter.scores.detector import Counted
from monitor.exporter.scores.detectors import DetectorHistory, DriftState
from monitor.metrics.catalogue import CATALOGUE
from monitor.records.alarm import (
    MOST_RELEASES,
    MOST_SEGMENTS,
    NAME_CHARACTERS,
    AlarmRecord,
    JudgeFailures,
    MeanChange,
    OutstandingSegment,
    ReleaseNearby,
    SegmentChange,
    SettledMean,
    answered,
)
from monitor.stats.attribution import Shift, Split, split, standing_out
from monitor.stats.baseline import Baseline
from monitor.stats.changed_mean import changed_mean
from monitor.stats.estimate import Estimate, estimate, long_spread, trials, turned, widened
from monitor.stats.failures import fails_more
from monitor.stats.onset import onset, recovery
from monitor.stats.releases import Rollout
from monitor.stats.sums import ZERO, Sums, as_worse

OTHER = "other"
#: Of the margin above the usual mean, so much is no change: some of what is tolerated is there.
TOLERATED = 0.5
#: With fewer scored slots before the change, the baseline stands in for them.
ENOUGH_BEFORE = 30
#: A release counts as near from so long before the start of a change on, in seconds, to so long
#: after it: the start is estimated.
RELEASE_BEFORE_S = 3_600.0
RELEASE_AFTER_S = 300.0

#: Event times (both included) of slots that are no example of what is normal.
TimeSpan = tuple[float, float]
_By = dict[str, Sums]
#: What was rolled out, by attribute.
Rollouts = Mapping[str, Rollout]
NO_ROLLOUTS: Rollouts = MappingProxyType({})


class _Sides(NamedTuple):
    """The sums by segment before the change and since, and whether before is enough to go by."""

    before: _By
    since: _By
    enough: bool


class Story(NamedTuple):
    """The slots of a detector before the change and since; and all that it may begin with."""

    before: list[Counted]
    since: list[Counted]
    possible: list[Counted]


def story(
    history: DetectorHistory, threshold: float, worse_then: TimeSpan | None = None
) -> Story | None:
    """Cut a history at the estimated start; None without evidence.

    ``threshold`` is A. Slots of ``worse_then``, an earlier alarm, are left out of those before, and
    so are slots right before the start that may belong to the change.
    """
    counted = history.counted
    first = next((i for i, one in enumerate(counted) if one.event_time >= history.start), None)
    if first is None:
        return None
    deviations = (one.deviation for one in counted[first:])
    found = onset(deviations, threshold, history.baseline.dependence)
    earliest, since, possible = (0, 0, 0) if found is None else found
    begin, end = worse_then or (1.0, 0.0)
    sure = counted[: first + earliest]
    before = [one for one in sure if not begin <= one.event_time <= end]
    return Story(before, counted[first + since :], counted[first + possible :])


def explained(
    state: DriftState,
    excerpt: Story,
    history: DetectorHistory,
    now: float,
    segment_by: str | None,
    rollouts: Rollouts = NO_ROLLOUTS,
) -> AlarmRecord:
    """The record of an alarm that opens at ``now`` (epoch seconds); its claims are added later.

    ``segment_by`` is the name of the attribute that the segments are values of; ``rollouts`` are
    those of the application.
    """
    better = CATALOGUE[state.key.metric].higher_is_better
    sides = _sides(excerpt)
    parts = _split(sides, history.baseline)
    repeated = history.baseline.dependence
    segments = _segments(parts, sides, better, repeated) if parts and segment_by else ()
    since = moment(excerpt.since[0].event_time)
    return answered(
        AlarmRecord(
            state="open",
            **state.key._asdict(),
            higher_is_better=bool(better),
            since=since,
            opened_at=moment(now),
            baseline=state.baseline,
            change=_change(state, excerpt, parts, sides.enough, history.baseline),
            evidence=state.evidence,
            threshold=state.threshold,
            evidence_until=moment(excerpt.since[-1].event_time),
            judge_failures=_failures(excerpt),
            segment_by=segment_by,
            segments=segments,
            stands_out=_stands_out(parts, better, repeated) if parts and segment_by else None,
            releases=_releases(rollouts, since),
            worst=worst(excerpt.since, better),
        )
    )


def _releases(rollouts: Rollouts, since: datetime) -> tuple[ReleaseNearby, ...]:
    """Of each attribute the latest changes that are near to the start: a begin, and an end."""
    found = []
    for attribute, rolled in rollouts.items():
        near = [
            one
            for one in rolled.changes
            if -RELEASE_AFTER_S <= since.timestamp() - one.at <= RELEASE_BEFORE_S
        ]
        latest = {one.change == "began": one for one in near}
        for before, value, at, change in latest.values():
            named = {"attribute": attribute, "before": before, "value": value, "change": change}
            found.append(ReleaseNearby.model_validate({**named, "at": moment(at)}))
    found.sort(key=lambda one: one.at, reverse=True)
    return tuple(found[:MOST_RELEASES])


def _names(excerpt: Story) -> Callable[[str], str]:
    """The most frequent segments keep their names, ties by name; the rest is ``other``."""
    counts = Counter(one.slot.segment for part in excerpt[:2] for one in part)
    ranked = sorted(counts, key=lambda name: (-counts[name], name))[:MOST_SEGMENTS]
    kept = {name: cut(name, NAME_CHARACTERS) for name in ranked}
    return lambda name: kept.get(name, OTHER)


def _sides(excerpt: Story) -> _Sides:
    named = _names(excerpt)
    before, since = (_by_segment(part, named) for part in (excerpt.before, excerpt.since))
    return _Sides(before, since, sum(sums.scored for sums in before.values()) >= ENOUGH_BEFORE)


def _split(sides: _Sides, baseline: Baseline) -> Split | None:
    if sides.enough:
        return split(sides.before, sides.since, None)
    usual = {cut(name, NAME_CHARACTERS): mean for name, mean in baseline.segments.items()}
    return split({}, sides.since, lambda name: usual.get(name, baseline.mean))


def _by_segment(slots: Iterable[Counted], named: Callable[[str], str]) -> _By:
    found: _By = {}
    for one in slots:
        name = named(one.slot.segment)
        found[name] = found.get(name, ZERO).plus(one.slot.segment_terms(one.value))
    return found


def _change(
    state: DriftState,
    excerpt: Story,
    parts: Split | None,
    enough: bool,
    baseline: Baseline,
) -> MeanChange:
    better = CATALOGUE[state.key.metric].higher_is_better
    before, since = (_sums(part, state.key.metric) for part in (excerpt.before, excerpt.since))
    found = estimate(since, before.plus(since), better, baseline.dependence)
    margin = as_worse(state.baseline, better) - baseline.mean
    compared = Compared(baseline.mean, margin, better, 10.0**state.threshold)
    worth = 0.0
    if since.scored:
        long = long_spread(before.plus(since))
        worth = trials(since, long, baseline.dependence) / since.scored
    now = at_the_alarm(found, excerpt, compared, worth)
    usual = estimate(before, before.plus(since), better).value if enough else None
    if usual is None:
        usual = as_worse(parts.before, better) if parts else state.baseline
    sign = -1.0 if better else 1.0
    # Traffic that is not told apart has no mix that could have changed.
    mix = parts.mix if parts is not None and _is_distinguishable(parts) else None
    return MeanChange(
        before=usual,
        value=now.value,
        lower=now.lower,
        upper=now.upper,
        n=now.samples,
        # + 0.0: no change is 0.0 in either direction, and never −0.0.
        mix=None if mix is None else sign * mix + 0.0,
        within=sign * parts.within + 0.0 if parts is not None else 0.0,
        explained_by_mix=None if parts is None or mix is None else parts.explained_by_mix,
    )


class Compared(NamedTuple):
    """What the slots are held against: the usual mean, and the margin above it; larger is worse.

    ``threshold`` is A, for the evidence that they are.
    """

    usual: float
    margin: float
    higher_is_better: bool | None
    threshold: float


def at_the_alarm(
    found: Estimate, excerpt: Story, compared: Compared, trials_per_score: float
) -> Estimate:
    """The estimate since the start of a change, for the moment of the alarm: less exaggerated.

    An alarm comes the sooner, the worse the first slots happen to be. So what the scores say of
    any start counts, and not only the estimated one (``monitor.stats.changed_mean``). Scores are
    compared by how far they are from what is usual for their segment and hour: a change of the
    traffic is no news, and stays in the mean.
    """
    possible, since = (_as_usual(part, compared) for part in (excerpt.possible, excerpt.since))
    if found.value is None or not since:
        return found
    usual = compared.usual + TOLERATED * compared.margin
    seen = math.fsum(since) / len(since)
    if seen <= usual:
        return found
    better = compared.higher_is_better
    mix = as_worse(found.value, better) - seen
    told = changed_mean(possible, usual, trials_per_score, compared.threshold)
    value, *ends = (min(1.0, max(0.0, one + mix)) for one in told)
    lower, upper = turned(widened((ends[0], ends[1]), found.missing_ratio or 0.0), better)
    return replace(found, value=as_worse(value, better), lower=lower, upper=upper)


def _as_usual(slots: Iterable[Counted], compared: Compared) -> list[float]:
    """The scores as if the mean were usually the same for all of them."""
    return [
        compared.usual + one.deviation.by + compared.margin * one.deviation.by_slope
        for one in slots
        if one.deviation.starts
    ]


def settled(record: AlarmRecord, history: DetectorHistory) -> SettledMean | None:
    """What the mean is since the alarm, from slots after it only; None with too few of them.

    Those do not know that they are looked at because the ones before were bad.
    """
    until = record.evidence_until
    if until is None:
        return None
    after = [one for one in history.counted if one.event_time > until.timestamp()]
    found = _mean_of(after, record, history)
    return found if found is not None and found.n >= enough_later(record) else None


def recovered(record: AlarmRecord, history: DetectorHistory) -> SettledMean | None:
    """Where the mean is when an alarm closes: that of the slots since its recovery began."""
    of_it = [one for one in history.counted if one.event_time >= record.since.timestamp()]
    threshold, dependence = 10.0**record.threshold, history.baseline.dependence
    ill = recovery((one.deviation for one in of_it), threshold, dependence)
    return _mean_of(of_it[ill:], record, history)


def _mean_of(
    slots: Sequence[Counted], record: AlarmRecord, history: DetectorHistory
) -> SettledMean | None:
    horizon, dependence = _sums(history.counted, record.metric), history.baseline.dependence
    sums = _sums(slots, record.metric)
    found = estimate(sums, horizon, record.higher_is_better, dependence)
    if found.value is None:
        return None
    assert found.lower is not None
    assert found.upper is not None
    return SettledMean(value=found.value, lower=found.lower, upper=found.upper, n=found.samples)


def enough_later(record: AlarmRecord) -> float:
    """Slots after an alarm with which it settles: as many again, and 30 at least."""
    return max(ENOUGH_BEFORE, record.change.n)


def _is_distinguishable(parts: Split) -> bool:
    return any(shift.segment for shift in parts.segments)


def _sums(slots: Iterable[Counted], metric: str) -> Sums:
    return functools.reduce(Sums.plus, (one.slot.terms(metric, one.value) for one in slots), ZERO)


def _segments(
    parts: Split, sides: _Sides, better: bool | None, dependence: float
) -> tuple[SegmentChange, ...]:
    found = []
    for shift in parts.segments:
        since = sides.since.get(shift.segment, ZERO)
        horizon = sides.before.get(shift.segment, ZERO).plus(since)
        found.append(_segment(shift, estimate(since, horizon, better, dependence), better))
    return tuple(found)


def _stands_out(parts: Split, better: bool | None, dependence: float) -> OutstandingSegment | None:
    found = standing_out(parts.segments, dependence)
    if found is None:
        return None
    means = (found.before, found.now, found.others_before, found.others_now)
    # Expectations of directed picks may lead beyond what a mean can be.
    before, value, others_before, others_value = (
        as_worse(min(1.0, max(0.0, mean)), better) for mean in means
    )
    return OutstandingSegment(
        segment=found.segment,
        before=before,
        value=value,
        others_before=others_before,
        others_value=others_value,
    )


def _segment(shift: Shift, found: Estimate, better: bool | None) -> SegmentChange:
    return SegmentChange(
        segment=shift.segment,
        share_before=shift.share_before,
        share=shift.share,
        before=as_worse(shift.before, better),
        value=found.value,
        lower=found.lower,
        upper=found.upper,
        n=found.samples,
        within=0.0 - shift.within if better else shift.within,
    )


def _failures(excerpt: Story) -> JudgeFailures:
    (failed_before, before), (failed, since) = (
        (sum(one.slot.failed for one in part), len(part)) for part in excerpt[:2]
    )
    return JudgeFailures(
        before=failed_before / before if before else None,
        rate=failed / since,
        picks=since,
        verdict=fails_more(failed_before, before, failed, since),
    )


def span_of(record: AlarmRecord | None) -> TimeSpan | None:
    """The event times during which an earlier alarm found the slots worse than normal."""
    if record is None or record.state == "open" or record.evidence_until is None:
        return None
    return record.since.timestamp(), record.evidence_until.timestamp()
