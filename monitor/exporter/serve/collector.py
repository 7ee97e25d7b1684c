"""The quality families, computed at scrape time: windows drain also without traffic.

No value is exported where there is none (a NaN would poison averages and match no alert); the
sample count of a series stays, at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import chain

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from monitor.control.corrections import Corrections
from monitor.exporter.scores.aggregator import ScoreAggregator, SeriesEstimates
from monitor.exporter.serve.audit_gauges import audit_families
from monitor.exporter.serve.change_gauges import OpenAlarms, change_families
from monitor.exporter.serve.corrected import CorrectedScores
from monitor.exporter.serve.missing import LearnedShare, missing_of
from monitor.exporter.serve.objectives import ObjectiveState, Promised, objective_states
from monitor.exporter.serve.release_gauges import release_families
from monitor.exporter.serve.rolling import Prepared, Rolling
from monitor.metrics.catalogue import CATALOGUE
from monitor.records.control import CorrectionRecord
from monitor.stats.releases import Rollout

LABELS = ("metric", "window", "application", "judge")
FAMILIES = {
    "rag_score": "Rolling mean of a metric, weighted by sampling.",
    "rag_score_lower": "Lower bound of the 95 % interval of rag_score.",
    "rag_score_upper": "Upper bound of the 95 % interval of rag_score.",
    "rag_score_samples": "Effective number of scored interactions behind rag_score.",
    "rag_score_missing_ratio": "Weighted share of the picks whose judgement failed.",
}
SEGMENT_LABELS = (*LABELS, "segment")
SEGMENT_FAMILIES = {
    name.replace("rag_score", "rag_segment_score"): meaning.replace(
        "rag_score", "rag_segment_score"
    )
    for name, meaning in FAMILIES.items()
}
DRIFT_LABELS = ("metric", "application", "judge")
DRIFT_FAMILIES = {
    "rag_score_baseline": "Baseline of the metric: mean, its standard error, tolerance.",
    "rag_drift_evidence": "log10 of the evidence that the metric is worse than its baseline.",
    "rag_drift_threshold": "log10 of the evidence at which the alarm opens.",
}
ALARM, STALE = "rag_drift_alarm", "rag_drift_alarm_stale"
MISSING_FAMILY = "rag_quality_missing"
OBJECTIVE_FAMILIES = {
    "rag_objective_bound": "The worst mean that is still good enough.",
    "rag_objective_known": "1 while there is enough in the window to tell, else 0.",
    "rag_objective_breached": "1 while the better end of the interval is worse than the bound.",
}


class QualityCollector(Collector):
    """Serves scores. ``clock`` gives epoch seconds; before ``is_ready`` there are no values.

    ``promised`` gives the objectives of an application, ``alarms`` the latest record of each,
    ``learned`` how often a metric had a value while its baseline was learned, and ``corrections``
    what audits say of judges.
    """

    def __init__(
        self,
        aggregator: ScoreAggregator,
        clock: Callable[[], float],
        is_ready: Callable[[], bool],
        promised: Promised = lambda _application: (),
        alarms: OpenAlarms = dict,
        learned: LearnedShare = lambda _key: 0.0,
        corrections: Corrections | None = None,
    ) -> None:
        self._aggregator, self._clock, self._is_ready = aggregator, clock, is_ready
        self._promised, self._alarms, self._learned = promised, alarms, learned
        self._corrections = corrections or Corrections()
        self._corrected = CorrectedScores(self._corrections, LABELS)
        self._plain = Rolling(FAMILIES, LABELS)
        self._by_segment = Rolling(SEGMENT_FAMILIES, SEGMENT_LABELS)
        self._blocks: list[SeriesEstimates] = []
        self._segments: list[SeriesEstimates] = []
        self._others: list[GaugeMetricFamily] = []
        #: What the last ``steps`` have made.
        self.prepared = Prepared([], [])

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The families, so that registering needs no scrape."""
        yield from self._plain.families()
        if self._aggregator.has_segments:
            yield from self._by_segment.families()
        yield from self._corrected.families()
        yield from _drift_families().values()
        yield _missing_family()
        yield from _objective_families().values()
        yield from change_families()
        yield from audit_families()
        yield from release_families()
        yield _judge_info()
        yield _metric_info()
        yield _series(0)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All families, as objects."""
        for _ in self.steps():
            pass
        yield from self._plain.families(self._blocks)
        if self._aggregator.has_segments:
            yield from self._by_segment.families(self._segments)
        yield from self._corrected.families()
        yield from self._others

    def steps(self) -> Iterator[None]:
        """Make ``prepared`` step by step; meanwhile nothing is added to the aggregates.

        Half a replay would give half a mean: before it is over there are families without values.
        """
        self._blocks, self._segments = [], []
        drift, objectives, info = _drift_families(), _objective_families(), _judge_info()
        changes, missing, audits = change_families(), _missing_family(), audit_families()
        releases, now = release_families(), self._clock()
        if self._is_ready():
            self._aggregator.advance(now)
            yield
            _add_drift(drift, self._aggregator, now)
            changes = change_families(self._alarms(), self._aggregator.named(), now)
            audits = audit_families(self._audited(), now)
            releases = yield from self._released()
            for judge in self._aggregator.judges():
                info.add_metric([judge.label, judge.model, judge.prompts, judge.pipeline], 1)
            yield from _gathered(self._aggregator.blocks(), self._blocks)
            _add_objectives(objectives, objective_states(chain(*self._blocks), self._promised))
            estimates = chain(*self._blocks)
            for key, found in missing_of(self._aggregator, self._learned, estimates):
                missing.add_metric(list(key), float(found is not None))
            yield from _gathered(self._aggregator.segment_blocks(), self._segments)
        yield from self._corrected.steps(self._blocks, now)
        written = yield from self._plain.written(self._blocks)
        if self._aggregator.has_segments:
            written += yield from self._by_segment.written(self._segments)
        written += yield from self._corrected.written()
        others = [*drift.values(), missing, *objectives.values()]
        count = sum(each.samples for each in written) + sum(len(each.samples) for each in others)
        others += [*changes, *audits, *releases]
        self._others = [*others, info, _metric_info(), _series(count)]
        self.prepared = Prepared(self._others, written)

    def _released(self) -> Generator[None, None, list[GaugeMetricFamily]]:
        """What was rolled out, of the applications that have names of their own, one by one."""
        found: dict[str, Mapping[str, Rollout]] = {}
        for name in sorted(self._aggregator.named()):
            found[name] = self._aggregator.releases_of(name)
            yield
        return release_families(found.items())

    def _audited(self) -> Iterator[CorrectionRecord]:
        """What audits say of those that have scores."""
        found = (self._corrections.of(*pair) for pair in self._aggregator.pairs())
        return (record for record in found if record is not None)


def _gathered(blocks: Iterable[SeriesEstimates], into: list[SeriesEstimates]) -> Iterator[None]:
    for block in blocks:
        into.append(block)
        yield


def _drift_families() -> dict[str, GaugeMetricFamily]:
    families = {
        name: GaugeMetricFamily(name, meaning, labels=DRIFT_LABELS)
        for name, meaning in DRIFT_FAMILIES.items()
    }
    meaning = "1 while the quality is worse than the baseline."
    families[ALARM] = GaugeMetricFamily(ALARM, meaning, labels=(*DRIFT_LABELS, "direction"))
    meaning = "Of an open alarm: 1 while nothing has been scored for so long that it says nothing."
    families[STALE] = GaugeMetricFamily(STALE, meaning, labels=DRIFT_LABELS)
    return families


def _missing_family() -> GaugeMetricFamily:
    meaning = "1 while a metric with a baseline has no value, though its application is scored."
    return GaugeMetricFamily(MISSING_FAMILY, meaning, labels=DRIFT_LABELS)


def _add_drift(
    families: dict[str, GaugeMetricFamily], aggregator: ScoreAggregator, now: float
) -> None:
    for state in aggregator.drift.states(now) if aggregator.drift is not None else ():
        labels = list(state.key)
        families["rag_score_baseline"].add_metric(labels, state.baseline)
        families["rag_drift_threshold"].add_metric(labels, state.threshold)
        if state.evidence is not None:
            families["rag_drift_evidence"].add_metric(labels, state.evidence)
        families[ALARM].add_metric([*labels, "worse"], float(state.alarm))
        if state.alarm:
            families[STALE].add_metric(labels, float(state.is_stale))


def _objective_families() -> dict[str, GaugeMetricFamily]:
    return {
        name: GaugeMetricFamily(name, meaning, labels=LABELS)
        for name, meaning in OBJECTIVE_FAMILIES.items()
    }


def _add_objectives(
    families: dict[str, GaugeMetricFamily], states: Iterable[ObjectiveState]
) -> None:
    for key, objective, status in states:
        labels = [key.metric, objective.window, key.application, key.judge]
        families["rag_objective_bound"].add_metric(labels, objective.bound)
        families["rag_objective_known"].add_metric(labels, float(status != "unknown"))
        if status != "unknown":  # neither kept nor broken: no value would be right
            families["rag_objective_breached"].add_metric(labels, float(status == "breached"))


def _judge_info() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "rag_judge_info",
        "Judges of the scores within the horizon; offline is a lexical check.",
        labels=("judge", "model", "prompts", "pipeline"),
    )


def _metric_info() -> GaugeMetricFamily:
    meaning = "What a metric is the share or mean of, in plain words."
    family = GaugeMetricFamily("rag_metric_info", meaning, labels=("metric", "plain"))
    for metric in CATALOGUE.values():
        family.add_metric([metric.name, metric.plain], 1)
    return family


def _series(count: int) -> GaugeMetricFamily:
    # Here and not in the telemetry: it must count this very scrape.
    return GaugeMetricFamily("rag_monitor_series", "Series of the quality families.", count)
