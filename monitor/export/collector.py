"""The quality families, computed at scrape time: windows drain also without traffic.

No value is exported where there is none (a NaN would poison averages and match no alert); the
sample count of a series stays, at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from monitor.export.book import Block, ScoreBook, SeriesEstimate
from monitor.export.changes import Alarms, change_families
from monitor.export.objectives import ObjectiveState, Promised, standings

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
    "rag_score_baseline": "What the metric is held against: mean, its standard error, tolerance.",
    "rag_drift_evidence": "log10 of the evidence that the metric is worse than its baseline.",
    "rag_drift_threshold": "log10 of the evidence at which the alarm opens.",
}
ALARM = "rag_drift_alarm"
OBJECTIVE_FAMILIES = {
    "rag_objective_bound": "The worst mean that is still good enough.",
    "rag_objective_known": "1 while there is enough in the window to tell, else 0.",
    "rag_objective_breached": "1 while the better end of the interval is worse than the bound.",
}


class QualityCollector(Collector):
    """Serves a book. ``clock`` gives epoch seconds; before ``is_ready`` there are no values.

    ``promised`` gives the objectives of an application, ``alarms`` the latest record of each.
    """

    def __init__(
        self,
        book: ScoreBook,
        clock: Callable[[], float],
        is_ready: Callable[[], bool],
        promised: Promised = lambda _application: (),
        alarms: Alarms = dict,
    ) -> None:
        self._book, self._clock, self._is_ready = book, clock, is_ready
        self._promised, self._alarms = promised, alarms
        self._plain = _Rolling(FAMILIES, LABELS)
        self._by_segment = _Rolling(SEGMENT_FAMILIES, SEGMENT_LABELS)

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The families, so that registering needs no scrape."""
        yield from self._plain.families([])
        if self._book.has_segments:
            yield from self._by_segment.families([])
        yield from _drift_families().values()
        yield from _objective_families().values()
        yield from change_families()
        yield _judge_info()
        yield _series(0)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All families; half a replay would give half a mean, so it gives none."""
        drift, objectives, info = _drift_families(), _objective_families(), _judge_info()
        changes = change_families()
        blocks: Sequence[Block] = ()
        segments: Iterable[Block] = ()
        if self._is_ready():
            now = self._clock()
            self._book.advance(now)
            blocks, segments = list(self._book.blocks()), self._book.segment_blocks()
            _add_drift(drift, self._book, now)
            _add_objectives(objectives, standings(chain(*blocks), self._promised))
            for judge in self._book.judges():
                info.add_metric([judge.label, judge.model, judge.prompts, judge.pipeline], 1)
            changes = change_families(self._alarms(), self._book.named())
        all_of_them = self._plain.families(blocks)
        if self._book.has_segments:
            all_of_them += self._by_segment.families(segments)
        all_of_them += [*drift.values(), *objectives.values()]
        yield from all_of_them
        yield from changes
        yield info
        yield _series(sum(len(family.samples) for family in all_of_them))


#: The samples of one block, family by family.
_Rows = tuple[list[Sample], ...]


class _Rolling:
    """The five families of estimates; the samples of a block are made once."""

    def __init__(self, families: Mapping[str, str], labels: Sequence[str]) -> None:
        self._families, self._labels = families, labels
        self._made: dict[int, tuple[Block, _Rows]] = {}

    def families(self, blocks: Iterable[Block]) -> list[GaugeMetricFamily]:
        """The families with the samples of all blocks."""
        made: dict[int, tuple[Block, _Rows]] = {}
        for block in blocks:
            # Held together with the block: its id is not given to another one meanwhile.
            made[id(block)] = self._made.get(id(block)) or (block, self._rows(block))
        self._made = made
        found = []
        for i, (name, meaning) in enumerate(self._families.items()):
            family = GaugeMetricFamily(name, meaning, labels=self._labels)
            for _, rows in made.values():
                family.samples.extend(rows[i])
            found.append(family)
        return found

    def _rows(self, block: Block) -> _Rows:
        rows: _Rows = tuple([] for _ in self._families)
        for found in block:
            labels = dict(zip(self._labels, _label_values(found), strict=True))
            estimate = found.estimate
            values = (
                estimate.value,
                estimate.lower,
                estimate.upper,
                estimate.samples,
                estimate.missing_ratio,
            )
            for name, row, value in zip(self._families, rows, values, strict=True):
                if value is not None:
                    row.append(Sample(name, labels, value))
        return rows


def _label_values(found: SeriesEstimate) -> Iterator[str]:
    metric, *others = found.key
    return iter((metric, found.window, *others))


def _drift_families() -> dict[str, GaugeMetricFamily]:
    families = {
        name: GaugeMetricFamily(name, meaning, labels=DRIFT_LABELS)
        for name, meaning in DRIFT_FAMILIES.items()
    }
    meaning = "1 while the evidence is at or above the threshold."
    families[ALARM] = GaugeMetricFamily(ALARM, meaning, labels=(*DRIFT_LABELS, "direction"))
    return families


def _add_drift(families: dict[str, GaugeMetricFamily], book: ScoreBook, now: float) -> None:
    for state in book.drift.states(now) if book.drift is not None else ():
        labels = list(state.key)
        families["rag_score_baseline"].add_metric(labels, state.baseline)
        families["rag_drift_threshold"].add_metric(labels, state.threshold)
        if state.evidence is not None:
            families["rag_drift_evidence"].add_metric(labels, state.evidence)
        families[ALARM].add_metric([*labels, "worse"], float(state.alarm))


def _objective_families() -> dict[str, GaugeMetricFamily]:
    return {
        name: GaugeMetricFamily(name, meaning, labels=LABELS)
        for name, meaning in OBJECTIVE_FAMILIES.items()
    }


def _add_objectives(
    families: dict[str, GaugeMetricFamily], states: Iterable[ObjectiveState]
) -> None:
    for key, objective, standing in states:
        labels = [key.metric, objective.window, key.application, key.judge]
        families["rag_objective_bound"].add_metric(labels, objective.bound)
        families["rag_objective_known"].add_metric(labels, float(standing != "unknown"))
        if standing != "unknown":  # neither kept nor broken: no value would be right
            families["rag_objective_breached"].add_metric(labels, float(standing == "breached"))


def _judge_info() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "rag_judge_info",
        "Judges of the scores within the horizon; offline is a lexical screen.",
        labels=("judge", "model", "prompts", "pipeline"),
    )


def _series(count: int) -> GaugeMetricFamily:
    # Here and not in the telemetry: it must count this very scrape.
    return GaugeMetricFamily("rag_monitor_series", "Series of the quality families.", count)
