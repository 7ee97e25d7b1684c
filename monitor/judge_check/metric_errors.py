"""What a judge's errors do to the metrics: on its verdicts against on the labels. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from monitor.judge_check.labelled import KINDS, Labelled, LabelledVerdicts
from monitor.metrics.catalogue import CATALOGUE, score_all
from monitor.records import Judgement, Unscored, Verdicts
from monitor.stats.clustered import Estimated, mean


class _Unlabelled(Exception):
    """A metric asked for a verdict that nobody labelled."""


class _KnownVerdicts:
    """Verdicts from labels: whoever reads a matrix that is not fully labelled is told so.

    So no table has to say which metric needs which matrix. What is no verdict on a claim (which
    passages are relevant) is that of the judgement.
    """

    def __init__(self, labels: LabelledVerdicts, judged: Verdicts) -> None:
        self._labels, self._judged = labels, judged

    def __getattr__(self, name: str) -> Any:
        if name not in KINDS:
            return getattr(self._judged, name)
        if not self._labels.whole(name):
            raise _Unlabelled(name)
        return getattr(self._labels, name)


def on_labels(about: Labelled, judged: Judgement) -> dict[str, float | Unscored]:
    """The metrics that the labels of an interaction suffice for.

    Everything but claims and verdicts is taken from a judgement on the same interaction. What is
    not made of verdicts on claims has no labels.
    """
    verdicts = _KnownVerdicts(about.verdicts, judged.verdicts)
    known = judged.model_copy(update={"claims": about.claims, "verdicts": verdicts})
    found = {}
    for metric in (m for m in CATALOGUE.values() if m.source == "verdicts"):
        with suppress(_Unlabelled):
            found[metric.name] = metric.function(known)
    return found


@dataclass(frozen=True, slots=True)
class MetricError:
    """One metric over the interactions where labels and judge both give it a value.

    ``bias`` is the mean of (judge − labels), ``error`` that of its absolute value. ``one_sided``
    counts interactions where only one of the two gave a value.
    """

    interactions: int
    one_sided: int
    by_labels: float
    by_judge: float
    bias: Estimated
    error: Estimated


def metric_errors(
    judged: Iterable[tuple[Labelled, Judgement]],
) -> dict[str, MetricError]:
    """By metric, in the order of the catalogue; metrics without a common value are left out."""
    values: dict[str, dict[str, list[tuple[float, float]]]] = {name: {} for name in CATALOGUE}
    one_sided = dict.fromkeys(CATALOGUE, 0)
    for about, judgement in judged:
        right, scores = on_labels(about, judgement), score_all(judgement)
        for name, value in right.items():
            pair = value, scores[name]
            if isinstance(pair[0], float) and isinstance(pair[1], float):
                values[name].setdefault(about.cluster, []).append((pair[0], pair[1]))
            elif isinstance(pair[0], float) or isinstance(pair[1], float):
                one_sided[name] += 1
    return {name: _error(found, one_sided[name]) for name, found in values.items() if found}


def _error(clusters: Mapping[str, list[tuple[float, float]]], one_sided: int) -> MetricError:
    pairs = [pair for cluster in clusters.values() for pair in cluster]
    differences = [[judge - label for label, judge in c] for c in clusters.values()]
    return MetricError(
        interactions=len(pairs),
        one_sided=one_sided,
        by_labels=sum(label for label, _ in pairs) / len(pairs),
        by_judge=sum(judge for _, judge in pairs) / len(pairs),
        bias=mean(differences),
        error=mean([[abs(d) for d in cluster] for cluster in differences]),
    )
