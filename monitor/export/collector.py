"""The quality families, computed at scrape time: windows drain also without traffic.

No value is exported where there is none (a NaN would poison averages and match no alert); the
sample count of a series stays, at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from monitor.export.book import ScoreBook, SeriesEstimate

LABELS = ("metric", "window", "application", "judge")
FAMILIES = {
    "rag_score": "Rolling mean of a metric, weighted by sampling.",
    "rag_score_lower": "Lower bound of the 95 % interval of rag_score.",
    "rag_score_upper": "Upper bound of the 95 % interval of rag_score.",
    "rag_score_samples": "Effective number of scored interactions behind rag_score.",
    "rag_score_missing_ratio": "Weighted share of the picks whose judgement failed.",
}


DRIFT_LABELS = ("metric", "application", "judge")
DRIFT_FAMILIES = {
    "rag_score_baseline": "What the metric is held against: mean, its standard error, tolerance.",
    "rag_drift_evidence": "log10 of the evidence that the metric is worse than its baseline.",
    "rag_drift_threshold": "log10 of the evidence at which the alarm opens.",
}
ALARM = "rag_drift_alarm"


class QualityCollector(Collector):
    """Serves a book. ``clock`` gives epoch seconds; before ``is_ready`` there are no values."""

    def __init__(
        self,
        book: ScoreBook,
        clock: Callable[[], float],
        is_ready: Callable[[], bool],
    ) -> None:
        self._book, self._clock, self._is_ready = book, clock, is_ready

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The families, so that registering needs no scrape."""
        yield from _families().values()
        yield from _drift_families().values()
        yield _judge_info()
        yield _series(0)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All families; half a replay would give half a mean, so it gives none."""
        families, drift, info = _families(), _drift_families(), _judge_info()
        if self._is_ready():
            now = self._clock()
            self._book.advance(now)
            for found in self._book.estimates():
                _add(families, found)
            _add_drift(drift, self._book, now)
            for judge in self._book.judges():
                info.add_metric([judge.label, judge.model, judge.prompts, judge.pipeline], 1)
        all_of_them = [*families.values(), *drift.values()]
        yield from all_of_them
        yield info
        yield _series(sum(len(family.samples) for family in all_of_them))


def _families() -> dict[str, GaugeMetricFamily]:
    return {
        name: GaugeMetricFamily(name, meaning, labels=LABELS) for name, meaning in FAMILIES.items()
    }


def _drift_families() -> dict[str, GaugeMetricFamily]:
    families = {
        name: GaugeMetricFamily(name, meaning, labels=DRIFT_LABELS)
        for name, meaning in DRIFT_FAMILIES.items()
    }
    meaning = "1 while the evidence is at or above the threshold."
    families[ALARM] = GaugeMetricFamily(ALARM, meaning, labels=(*DRIFT_LABELS, "direction"))
    return families


def _add_drift(families: dict[str, GaugeMetricFamily], book: ScoreBook, now: float) -> None:
    named = book.named()
    for state in book.drift.states(now) if book.drift is not None else ():
        labels = list(state.key)
        if state.key.application not in named:
            continue  # evidence of several applications cannot be added up
        families["rag_score_baseline"].add_metric(labels, state.baseline)
        families["rag_drift_threshold"].add_metric(labels, state.threshold)
        if state.evidence is not None:
            families["rag_drift_evidence"].add_metric(labels, state.evidence)
        families[ALARM].add_metric([*labels, "worse"], float(state.alarm))


def _judge_info() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "rag_judge_info",
        "Judges of the scores within the horizon; offline is a lexical screen.",
        labels=("judge", "model", "prompts", "pipeline"),
    )


def _series(count: int) -> GaugeMetricFamily:
    # Here and not in the telemetry: it must count this very scrape.
    return GaugeMetricFamily("rag_monitor_series", "Series of the quality families.", count)


def _add(families: dict[str, GaugeMetricFamily], found: SeriesEstimate) -> None:
    key, estimate = found.key, found.estimate
    labels = [key.metric, found.window, key.application, key.judge]
    values = {
        "rag_score": estimate.value,
        "rag_score_lower": estimate.lower,
        "rag_score_upper": estimate.upper,
        "rag_score_samples": estimate.samples,
        "rag_score_missing_ratio": estimate.missing_ratio,
    }
    for name, value in values.items():
        if value is not None:
            families[name].add_metric(labels, value)
