"""Settings → aggregators of scores with detectors, the learner, and how much they export."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from monitor.config import FixedBaseline, FixedMean, Settings, seconds
from monitor.config import ObjectiveSettings as ObjectiveSettings
from monitor.control.bursts import BurstAllowance
from monitor.exporter.baselines.baselines import Baselines
from monitor.exporter.baselines.learning import Learner, LearningSettings
from monitor.exporter.scores.aggregator import OTHER, ScoreAggregator, SegmentLabels
from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings, Normal
from monitor.exporter.scores.folding import MOST_JUDGES
from monitor.exporter.scores.series_count import SeriesCount, series_count
from monitor.exporter.serve.objectives import Objective, Promised, promised_by
from monitor.metrics.catalogue import CATALOGUE
from monitor.stats.baseline import Baseline, Tolerance
from monitor.stats.sums import as_worse

#: Applications and judges that are remembered with what is fixed for them.
MOST_REMEMBERED = 4_096
_ANY = re.compile(".*", re.DOTALL)


class Aggregators(NamedTuple):
    """Everything that the gauges follow from: scores with detectors, and their baselines."""

    scores: ScoreAggregator
    drift: DriftDetectors
    baselines: Baselines


def aggregators(settings: Settings) -> Aggregators:
    """Empty ones, as the settings say."""
    drift = DriftDetectors(_drift(settings), fixed_baselines(settings.drift.baselines))
    export = settings.export
    scores = ScoreAggregator(
        {window: seconds(window) for window in export.windows},
        settings.drift.first_period_s,
        export.top_k,
        drift,
        metrics=export.metrics,
        segments=_segment_labels(settings),
        always=settings.named_applications,
        # While a judge is exchanged there are two.
        judges=max(MOST_JUDGES, 2 * _judges(settings)),
        auto_period=settings.drift.period_s is None,
        cluster_by=export.cluster,
    )
    drift_settings = settings.drift
    learning_settings = LearningSettings(
        drift_settings.learn_slots,
        seconds(drift_settings.learn_wait),
        drift_settings.metrics,
        drift_settings.learn_for_s,
    )
    return Aggregators(scores, drift, Baselines(drift, Learner(learning_settings)))


def burst_allowance(settings: Settings) -> BurstAllowance | None:
    """How many more judgements may be asked for; None where it is switched off."""
    burst, zone = settings.drift.burst, ZoneInfo(settings.budget.timezone)
    return BurstAllowance(burst.times, burst.per_day_s, zone) if burst.per_day_s else None


def fixed_baselines(entries: tuple[FixedBaseline, ...]) -> Callable[[str, str], Normal | None]:
    """What the configuration fixes for an application and judge (``name@version``)."""
    compiled = [(re.compile(entry.name_regex), entry.judge, _normal(entry)) for entry in entries]

    @lru_cache(MOST_REMEMBERED)
    def fixed(application: str, judge: str) -> Normal | None:
        named = (None, judge, judge.rpartition("@")[0])
        return next(
            (
                normal
                for pattern, wanted, normal in compiled
                if wanted in named and pattern.fullmatch(application)
            ),
            None,
        )

    return fixed


def segment_names(settings: Settings) -> Callable[[str], str | None]:
    """The attributes that an application's segments are values of; None where it has none.

    Several are ``tenant, model``. Rules may give one application others: ``tenant or model``.
    """
    entries = [
        (re.compile(entry.name_regex), bool(entry.when), whole.segment)
        for entry, whole in zip(settings.applications, settings.effective, strict=True)
    ]

    @lru_cache(MOST_REMEMBERED)
    def name(application: str) -> str | None:
        found = dict[str, None]()
        for pattern, is_for_some, segment in [*entries, (_ANY, False, settings.base.segment)]:
            if pattern.fullmatch(application):
                found |= {", ".join(segment): None} if segment else {}
                if not is_for_some:
                    break
        return " or ".join(found) or None

    return name


def most_series(settings: Settings) -> tuple[SeriesCount, int, int]:
    """The most series of the quality families, and for how many applications and judges."""
    export = settings.export
    named = max(export.top_k, len(settings.named_applications))
    applications, judges = named + 1, _judges(settings)
    labels = _segment_labels(settings)
    segments = 0 if labels is None else 1 + labels.most
    if labels is not None and labels.fixed is not None:
        segments = 1 + len(labels.fixed - {OTHER})
    found = series_count(
        len(export.metrics or CATALOGUE),
        len(export.windows),
        applications,
        segments,
        judges,
        len(settings.drift.metrics),
        _most_objectives(settings),
    )
    return found, applications, judges


def promises(settings: Settings) -> Promised:
    """What applications have promised."""
    windows = {seconds(window): window for window in reversed(settings.export.windows)}

    def named(found: ObjectiveSettings) -> Objective:
        """Its window may be spelled in another unit than that of the gauges."""
        window = windows[seconds(found.window)]
        return Objective(found.metric, window, found.bound, found.minimum_samples)

    own = [
        (re.compile(entry.name_regex), [named(each) for each in whole.objective])
        for entry, whole in zip(settings.applications, settings.effective, strict=True)
        if not entry.when  # it takes only a part of an application, and promises nothing
    ]
    shared = [(re.compile(each.name_regex), [named(each)]) for each in settings.objectives]
    return promised_by(own, shared)


def _most_objectives(settings: Settings) -> int:
    """Metrics and windows that an application can have promised something about."""
    shared = {each.about for each in settings.objectives}
    own = [{each.about for each in whole.objective} for whole in settings.effective]
    return max(len(shared | each) for each in (set(), *own))


def _drift(settings: Settings) -> DriftSettings:
    drift = settings.drift
    return DriftSettings(
        metrics=drift.metrics,
        false_alarms_per_week=drift.false_alarms_per_week,
        judged_per_week=drift.judged_per_week,
        tolerance=Tolerance(*drift.tolerated),
        period_s=settings.drift.first_period_s,
        settle_s=seconds(drift.settle),
    )


def _segment_labels(settings: Settings) -> SegmentLabels | None:
    """None where no record has a segment, or nobody wants to see them."""
    attributes = [settings.base.segment, *(entry.segment for entry in settings.effective)]
    wanted = settings.export.segments
    if wanted == () or not any(attributes):
        return None
    return SegmentLabels(None if wanted is None else frozenset(wanted))


def _judges(settings: Settings) -> int:
    """Judges that differ in what makes a label."""
    wholes = (settings.base, *settings.effective)
    return len({(w.judge.label_name, w.judge.kind, w.judge.model) for w in wholes})


def _normal(entry: FixedBaseline) -> Normal:
    return Normal({name: _baseline(name, found) for name, found in entry.metrics.items()})


def _baseline(metric: str, found: FixedMean) -> Baseline:
    better = CATALOGUE[metric].higher_is_better
    segments = {name: as_worse(mean, better) for name, mean in found.segments.items()}
    return Baseline(as_worse(found.mean, better), 0.0, segments)
