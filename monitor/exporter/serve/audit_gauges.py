"""How far audits are, and what they say of the judge: own health of the numbers.

An application and judge show while they have scores and names of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from monitor.metrics.catalogue import CATALOGUE
from monitor.records.control import CorrectionRecord, MetricCorrection, VerdictAgreement

AUDITS: Final = "rag_monitor_audits"
NEEDED: Final = "rag_monitor_audits_needed"
MISSING: Final = "rag_monitor_correction_missing"
MOVED: Final = "rag_monitor_audit_judge_moved"
AGREEMENT: Final = "rag_monitor_audit_agreement"
AGREEMENT_LOWER: Final = "rag_monitor_audit_agreement_lower"
AGREEMENT_UPPER: Final = "rag_monitor_audit_agreement_upper"
VERDICTS: Final = "rag_monitor_audit_verdicts"
INTERACTIONS: Final = "rag_monitor_audit_interactions"
_METRIC: Final = ("metric", "application", "judge")
_VERDICT: Final = ("application", "judge", "verdict")
AUDIT_FAMILIES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    AUDITS: ("Audited interactions that say something of a metric.", _METRIC),
    NEEDED: ("Audited interactions that a correction of the metric takes.", _METRIC),
    MISSING: ("1 where audits do not correct a metric yet, by the reason.", (*_METRIC, "reason")),
    MOVED: ("1 where the latest audits show other errors of the judge than those before.", _METRIC),
    AGREEMENT: (
        "Agreement of the judge with people by kind of verdict; under reviewers, of two people.",
        (*_VERDICT, "measure"),
    ),
    AGREEMENT_LOWER: ("Lower bound of its 95 % interval.", (*_VERDICT, "measure")),
    AGREEMENT_UPPER: ("Upper bound of its 95 % interval.", (*_VERDICT, "measure")),
    VERDICTS: ("Verdicts that it rests on.", _VERDICT),
    INTERACTIONS: ("Audited interactions that it rests on.", _VERDICT),
}
_ByName = Mapping[str, GaugeMetricFamily]


def audit_families(
    records: Iterable[CorrectionRecord] = (), now: float = 0.0
) -> list[GaugeMetricFamily]:
    """The families, with what these records say ``now`` (epoch seconds), in their order.

    Of one whose labels have all grown old only that.
    """
    families = {
        name: GaugeMetricFamily(name, meaning, labels=labels)
        for name, (meaning, labels) in AUDIT_FAMILIES.items()
    }
    for record in records:
        pair = [record.application, record.judge]
        is_active = record.is_active_at(now)
        for metric, found in sorted(record.metrics.items()):
            if metric in CATALOGUE:  # whoever may write a record may name anything
                shown = found if is_active else _without_labels(found)
                _add_metric(families, [metric, *pair], shown)
        if not is_active:
            continue
        for verdict, agreement in sorted(record.agreement.items()):
            _add_agreement(families, [*pair, verdict], agreement)
    return list(families.values())


def _without_labels(found: MetricCorrection) -> MetricCorrection:
    """What is left once every label is too old to say anything of the judge."""
    return MetricCorrection(audits=0, needed=found.needed, wrong=0, missing="too_few_audits")


def _add_metric(families: _ByName, labels: list[str], found: MetricCorrection) -> None:
    families[AUDITS].add_metric(labels, found.audits)
    families[NEEDED].add_metric(labels, found.needed)
    if found.missing is not None:
        families[MISSING].add_metric([*labels, found.missing], 1)
    if found.moved is not None:
        families[MOVED].add_metric(labels, float(found.moved))


def _add_agreement(families: _ByName, labels: list[str], found: VerdictAgreement) -> None:
    measures = {"kappa": found.kappa, "precision": found.precision, "recall": found.recall}
    for measure, interval in measures.items():
        names = (AGREEMENT, AGREEMENT_LOWER, AGREEMENT_UPPER)
        for name, number in zip(names, interval, strict=True):
            if number is not None:
                families[name].add_metric([*labels, measure], number)
    families[VERDICTS].add_metric(labels, found.verdicts)
    families[INTERACTIONS].add_metric(labels, found.audits)
