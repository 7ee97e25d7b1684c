"""From labels to what the exporter needs: the judge's errors by metric, and agreement. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from monitor.audit.human_scores import KINDS, flat, peoples_values
from monitor.audit.readings import AuditReading
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Verdicts
from monitor.records.control import CorrectionRecord
from monitor.records.correction import (
    LABELS_HOLD_S,
    JudgeErrorsFound,
    MetricCorrection,
    VerdictAgreement,
)
from monitor.stats.agreement import Agreement, Confusion, agreement
from monitor.stats.correction import (
    LEAST_STRATIFIED,
    LEAST_UNIFORM,
    Audited,
    JudgeErrors,
    has_moved,
    judge_errors,
)
from monitor.stats.sums import as_worse

#: Milliseconds of labels that a correction is made from.
LABELS_MS: Final = LABELS_HOLD_S * 1000
#: The name under which two people are compared.
REVIEWERS: Final = "reviewers"


def correction_of(readings: Sequence[AuditReading]) -> CorrectionRecord | None:
    """All that the labels of one application and judge say; None without a label that counts.

    What was chosen because it looks bad counts for nothing: it says nothing of the others.
    """
    drawn = [one for one in readings if one.probability > 0 and one.weight > 0]
    if not drawn:
        return None
    latest = max(one.labelled_ms for one in drawn)
    found = {name: _of_metric(name, drawn) for name in CATALOGUE}
    return CorrectionRecord(
        application=drawn[0].record.application,
        judge=drawn[0].record.judge.label,
        audited_until=datetime.fromtimestamp(latest / 1000, UTC),
        metrics={name: one for name, one in found.items() if one is not None},
        agreement=_agreements(drawn),
    )


def audited(metric: str, readings: Sequence[AuditReading]) -> list[Audited]:
    """The judge's and the people's value of each audit, with larger meaning worse.

    Where two people have read it, theirs is the mean.
    """
    better, found = CATALOGUE[metric].higher_is_better, []
    for one in readings:
        judged = one.record.scores.get(metric)
        values = [
            value
            for each in one.labels
            if (value := peoples_values(one.record, each.verdicts).get(metric)) is not None
        ]
        if isinstance(judged, float) and values:
            people = sum(as_worse(value, better) for value in values) / len(values)
            weight = one.weight / one.probability
            found.append(Audited(as_worse(judged, better), people, weight))
    return found


def _of_metric(metric: str, readings: Sequence[AuditReading]) -> MetricCorrection | None:
    audits = audited(metric, readings)
    if not audits:
        return None
    is_stratified = sum(one.is_stratified for one in readings) * 2 >= len(readings)
    needed = LEAST_STRATIFIED if is_stratified else LEAST_UNIFORM
    errors = judge_errors(audits, least=needed)
    return MetricCorrection(
        audits=len(audits),
        needed=needed,
        wrong=sum(one.people > 0 for one in audits),
        errors=JudgeErrorsFound(**errors._asdict()) if isinstance(errors, JudgeErrors) else None,
        missing=None if isinstance(errors, JudgeErrors) else errors.value,
        moved=has_moved(audits),
    )


def _agreements(readings: Sequence[AuditReading]) -> dict[str, VerdictAgreement]:
    found = {}
    for kind in KINDS:
        tables = [_table(one.labels[0].verdicts, one.record.verdicts, (kind,)) for one in readings]
        if any(table.n for table in tables):
            found[kind] = _agreement(agreement(tables))
    twice = [one for one in readings if len(one.labels) > 1]
    if twice:
        tables = [_table(one.labels[0].verdicts, one.labels[1].verdicts, KINDS) for one in twice]
        found[REVIEWERS] = _agreement(agreement(tables))
    return found


def _table(label: Verdicts, verdict: Verdicts, kinds: Sequence[str]) -> Confusion:
    table = Confusion()
    for kind in kinds:
        for right, said in zip(flat(label, kind), flat(verdict, kind), strict=True):
            table += Confusion.of(right, said)
    return table


def _agreement(found: Agreement) -> VerdictAgreement:
    return VerdictAgreement(
        audits=found.clusters,
        verdicts=found.confusion.n,
        kappa=found.kappa,
        precision=found.precision,
        recall=found.recall,
    )
