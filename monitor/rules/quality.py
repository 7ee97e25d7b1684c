"""Alerts about the watched application: worse than normal, or than what was promised."""

from __future__ import annotations

from typing import Final

from monitor.rules.model import Alert, Recording, RuleGroup
from monitor.rules.plan import DRIFT, QUALITY, AlertPlan
from monitor.rules.promql import asked

_DRIFT: Final = "application_judge_metric"
_WINDOW: Final = "application_judge_metric_window"
RECORDED: Final = {
    "rag_score": _WINDOW,
    "rag_score_lower": _WINDOW,
    "rag_score_upper": _WINDOW,
    "rag_score_samples": _WINDOW,
    "rag_score_missing_ratio": _WINDOW,
    "rag_objective_bound": _WINDOW,
    "rag_objective_breached": _WINDOW,
    "rag_score_baseline": _DRIFT,
    "rag_drift_evidence": _DRIFT,
    "rag_drift_threshold": _DRIFT,
    "rag_drift_alarm": _DRIFT,
    "rag_quality_missing": _DRIFT,
    "rag_drift_change_info": _DRIFT,
    "rag_drift_change_since_timestamp_seconds": _DRIFT,
}
_ABOUT: Final = ("metric", "application", "judge")


def recorded(metric: str) -> str:
    """The name under which a gauge of the exporters is recorded."""
    return f"{RECORDED[metric]}:{metric}:max"


def quality(plan: AlertPlan) -> RuleGroup:
    """Recorded gauges, and the alerts on them."""
    recordings = [Recording(recorded(metric), plan.one_of_replicas(metric)) for metric in RECORDED]
    return RuleGroup(
        "rag-quality", [*recordings, _drift(plan), _below_objective(plan), _missing(plan)]
    )


def _drift(plan: AlertPlan) -> Alert:
    keys = (*plan.alerts.by, *_ABOUT)
    evidence = asked(
        recorded("rag_drift_evidence"), keys, "{{ . | value | printf `%.1f` }}", "unknown"
    )
    threshold = asked(
        recorded("rag_drift_threshold"), keys, "{{ . | value | printf `%.1f` }}", "unknown"
    )
    # The sentence is a label of its own series: as one of the alert it would make another alert
    # whenever it changes.
    sentence = asked(
        recorded("rag_drift_change_info"),
        keys,
        "{{ . | label `answer` }}",
        "{{ $labels.metric }} of {{ $labels.application }} is worse than its baseline; what "
        "changed is not known (yet), see rag.alarms.v1 and the log of the exporter",
    )
    return plan.alert(
        "RagQualityDrift",
        "page",
        DRIFT,
        expr=f"{recorded('rag_drift_alarm')} == 1",
        summary="{{ $labels.metric }} of {{ $labels.application }} is worse than normal",
        description=f"{sentence}. Evidence 10^{evidence}, threshold 10^{threshold}; judge "
        "{{ $labels.judge }}.",
        about=("application", "judge"),
    )


def _below_objective(plan: AlertPlan) -> Alert:
    keys = (*plan.alerts.by, *_ABOUT, "window")
    bound, lower, upper = (
        asked(recorded(metric), keys, "{{ . | value | printf `%.3g` }}", "unknown")
        for metric in ("rag_objective_bound", "rag_score_lower", "rag_score_upper")
    )
    return plan.alert(
        "RagQualityBelowObjective",
        "page",
        QUALITY,
        expr=f"{recorded('rag_score')}\nand ({recorded('rag_objective_breached')} == 1)",
        summary="{{ $labels.metric }} of {{ $labels.application }} breaks its objective",
        description="{{ $labels.metric }} of {{ $labels.application }} is "
        "{{ $value | printf `%.3g` }} over {{ $labels.window }} (95 % interval "
        f"{lower} to {upper}): even the better end is worse than the objective, {bound}; judge "
        "{{ $labels.judge }}.",
        about=("application", "judge", "window"),
    )


def _missing(plan: AlertPlan) -> Alert:
    """What is not defined cannot become worse: an index that is empty moves no faithfulness."""
    return plan.alert(
        "RagQualityMissing",
        "page",
        QUALITY,
        expr=f"{recorded('rag_quality_missing')} == 1",
        summary="{{ $labels.metric }} of {{ $labels.application }} has no value any more",
        description="{{ $labels.metric }} of {{ $labels.application }} has a baseline, and no "
        "interaction of the last hour or more gave it a value (rag_quality_missing is "
        "{{ $value }}), though the application is scored: nothing can be told of it, and it "
        "opens no alarm; judge {{ $labels.judge }}.",
        about=("application", "judge"),
    )
