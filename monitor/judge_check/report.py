"""What was measured, as numbers: one report for every judge, and the judges against each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import combinations
from typing import Any

from monitor.judge_check.cases import DIMENSIONS, LabelledCase, by_cluster, cases, entries
from monitor.judge_check.extraction import ExtractionQuality, extraction
from monitor.judge_check.fit import Draw, Fit, fit
from monitor.judge_check.formats import FileRead
from monitor.judge_check.labelled import KINDS, VerdictKind
from monitor.judge_check.metric_errors import MetricError, metric_errors
from monitor.judge_check.run import CheckCost, CheckRun, MeasuredInteraction
from monitor.records import JudgeIdentity
from monitor.stats.agreement import Agreement, Confusion, agreement, pooled
from monitor.stats.clustered import Estimated, proportion
from monitor.stats.paired import Paired, compare
from monitor.stats.ranking import area


@dataclass(frozen=True, slots=True)
class Measure:
    """Agreement on some verdicts; ``auc`` where the judge has scores."""

    agreement: Agreement
    auc: Estimated


@dataclass(frozen=True, slots=True)
class Flips:
    """Verdicts that another passage order changed: of all comparisons, and of all verdicts."""

    verdicts: int
    comparisons: int
    rate: Estimated
    ever: Estimated


Groups = Mapping[str, Mapping[VerdictKind, Mapping[str, Measure]]]


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """One judge in one pipeline.

    ``metrics`` compares its verdicts on the labelled claims, ``metrics_own_claims`` the whole
    judgement as in production. ``versions`` counts the judgements of both by the label of who made
    them: a model that is asked in another manner half-way is another judge. ``fit`` is the
    threshold that the labels ask for, where that was asked.
    """

    pipeline: str
    judge: JudgeIdentity
    versions: Mapping[str, int]
    kinds: Mapping[VerdictKind, Measure]
    by: Groups
    metrics: Mapping[str, MetricError]
    metrics_own_claims: Mapping[str, MetricError]
    extraction: Mapping[str, ExtractionQuality]
    flips: Mapping[VerdictKind, Flips]
    verifying: CheckCost
    permuting: CheckCost
    judging: CheckCost
    wall_s: float
    fit: Fit | None = None

    @property
    def failed_share(self) -> float:
        """Of the verifications of labelled claims."""
        asked = self.verifying.judgements
        return sum(self.verifying.failed.values()) / asked if asked else 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two pipelines on the verdicts of one kind that both gave."""

    first: str
    second: str
    kind: VerdictKind
    paired: Paired


@dataclass(frozen=True, slots=True)
class Report:
    """Everything; ``judged_by`` are judges whose verdicts stand in the place of labels."""

    files: Sequence[FileRead]
    interactions: int
    judges: Sequence[JudgeReport]
    comparisons: Sequence[Comparison]
    judged_by: Sequence[str] = ()


def report(files: Sequence[FileRead], runs: Sequence[CheckRun], draw: Draw | None = None) -> Report:
    """The report on runs over the same labelled interactions; with ``draw`` thresholds are fit."""
    found = [_cases(run) for run in runs]
    return Report(
        files=files,
        interactions=sum(file.interactions for file in files),
        judges=[_judge(run, mine, draw) for run, mine in zip(runs, found, strict=True)],
        comparisons=[
            comparison
            for (one, mine), (other, theirs) in combinations(zip(runs, found, strict=True), 2)
            for comparison in _compared(one.pipeline, mine, other.pipeline, theirs)
        ],
        judged_by=sorted(
            {each.about.judged_by for run in runs for each in run.measured if each.about.judged_by}
        ),
    )


def _versions(run: CheckRun) -> Mapping[str, int]:
    # Another order of the passages is another version anyway.
    made = (each for m in run.measured for each in (m.verified, m.whole))
    return Counter(each.judge.label for each in made if each is not None)


def _cases(run: CheckRun) -> list[LabelledCase]:
    return [
        case
        for each in run.measured
        if each.verified is not None
        for case in cases(each.about, each.verified.verdicts, each.seen, each.scores)
    ]


def _judge(run: CheckRun, found: list[LabelledCase], draw: Draw | None) -> JudgeReport:
    verified = [(m.about, m.verified) for m in run.measured if m.verified is not None]
    whole = [(m.about, m.whole) for m in run.measured if m.whole is not None]
    return JudgeReport(
        pipeline=run.pipeline,
        judge=run.judge,
        versions=_versions(run),
        kinds={kind: _measure(mine) for kind, mine in _by_kind(found).items()},
        by=_groups(found),
        metrics=metric_errors(verified),
        metrics_own_claims=metric_errors(whole),
        extraction=extraction(whole),
        flips=_flips(run.measured),
        verifying=run.verifying,
        permuting=run.permuting,
        judging=run.judging,
        wall_s=run.wall_s,
        fit=None if draw is None else fit(found, draw),
    )


def _by_kind(found: Sequence[LabelledCase]) -> dict[VerdictKind, list[LabelledCase]]:
    kinds = {kind: [case for case in found if case.pair.kind == kind] for kind in KINDS}
    return {kind: mine for kind, mine in kinds.items() if mine}


def _measure(found: Sequence[LabelledCase]) -> Measure:
    clusters = by_cluster(found).values()
    tables = [pooled(Confusion.of(c.label, c.verdict) for c in cluster) for cluster in clusters]
    scored = [[(c.label, c.score) for c in cluster if c.score is not None] for cluster in clusters]
    return Measure(agreement(tables), area(scored))


def _groups(found: Sequence[LabelledCase]) -> Groups:
    groups: dict[str, dict[VerdictKind, dict[str, Measure]]] = {}
    for name, bucket_of in DIMENSIONS.items():
        for kind, mine in _by_kind(found).items():
            buckets: dict[str, list[LabelledCase]] = {}
            for case in mine:
                bucket = bucket_of(case)
                if bucket is not None:
                    buckets.setdefault(bucket, []).append(case)
            if buckets:
                ordered = sorted(buckets, key=_rank)
                measures = {bucket: _measure(buckets[bucket]) for bucket in ordered}
                groups.setdefault(name, {})[kind] = measures
    return groups


def _rank(bucket: str) -> tuple[int, str]:
    """Numbers by their size, words by the alphabet."""
    first = bucket.rstrip("+").split("–")[0]
    return (int(first), "") if first.isdecimal() else (0, bucket)


def _flips(measured: Sequence[MeasuredInteraction]) -> dict[VerdictKind, Flips]:
    """By kind; interactions whose passages have no other order do not count."""
    changed: dict[VerdictKind, dict[str, list[list[bool]]]] = {}
    for each in measured:
        if each.verified is None or not each.others:
            continue
        base = dict(entries(each.verified.verdicts))
        others = [dict(entries(other.verdicts)) for other in each.others]
        for pair, verdict in base.items():
            flags = [other[pair] != verdict for other in others]
            changed.setdefault(pair.kind, {}).setdefault(each.about.cluster, []).append(flags)
    return {kind: _flipped(changed[kind]) for kind in KINDS if kind in changed}


def _flipped(clusters: Mapping[str, list[list[bool]]]) -> Flips:
    lists = list(clusters.values())
    each = [[flag for flags in cluster for flag in flags] for cluster in lists]
    ever = [[any(flags) for flags in cluster] for cluster in lists]
    return Flips(
        verdicts=sum(map(len, ever)),
        comparisons=sum(map(len, each)),
        rate=proportion(list(map(sum, each)), list(map(len, each))),
        ever=proportion(list(map(sum, ever)), list(map(len, ever))),
    )


def _compared(
    first: str, mine: Sequence[LabelledCase], second: str, theirs: Sequence[LabelledCase]
) -> list[Comparison]:
    other = {case.key: case for case in theirs}
    found = []
    for kind, cases_of_kind in _by_kind(mine).items():
        clusters = [
            [(case.right, other[case.key].right) for case in cluster if case.key in other]
            for cluster in by_cluster(cases_of_kind).values()
        ]
        found.append(Comparison(first, second, kind, compare(clusters)))
    return found


def plain(found: Any) -> Any:
    """A report as what JSON can hold; numbers stay as exact as they are."""
    if isinstance(found, JudgeIdentity):
        return found.model_dump()
    if isinstance(found, CheckCost):
        return {
            **found.usage.model_dump(),
            "seconds": found.seconds,
            "judgements": found.judgements,
            "failed": dict(found.failed),
        }
    if is_dataclass(found):
        return {field.name: plain(getattr(found, field.name)) for field in fields(found)}
    if isinstance(found, tuple) and hasattr(found, "_asdict"):
        return {name: plain(value) for name, value in found._asdict().items()}
    if isinstance(found, Mapping):
        return {str(name): plain(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [plain(value) for value in found]
    return found
