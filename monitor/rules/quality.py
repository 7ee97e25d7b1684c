"""Alerts about the watched application: worse than normal, or than what was promised."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from monitor.config import seconds
from monitor.rules.model import Alert, Recording, RuleGroup, Severity
from monitor.rules.plan import DRIFT, QUALITY, AlertPlan
from monitor.rules.promql import asked, duration, length_s

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
    "rag_drift_alarm_stale": _DRIFT,
    "rag_drift_applications_together": _DRIFT,
    "rag_drift_change_info": _DRIFT,
    "rag_drift_change_since_timestamp_seconds": _DRIFT,
    "rag_drift_ended_timestamp_seconds": _DRIFT,
    "rag_monitor_baseline_missing": _DRIFT,
    "rag_monitor_baseline_learned_in_alarm": _DRIFT,
    "rag_metric_info": "metric",
}
#: What an alarm is, and what is told of it, holds on while no exporter is seen.
HELD: Final = (
    "rag_drift_alarm",
    "rag_drift_alarm_stale",
    "rag_drift_applications_together",
    "rag_drift_change_info",
)
#: For so long: then nobody knows any more, which is told by itself before.
_HELD_FOR: Final = "1h"
#: For so long at most an alarm that has ended goes on, and says where the mean is now or why it has
#: ended: some evaluations. From then on it keeps firing with what it said last.
_TOLD_S: Final = 120
#: Between the ends of alerts: two evaluations.
_MARGIN_S: Final = 120
#: Objectives of longer windows wake nobody: they are about a day or a week.
_LONGEST_PAGE_S: Final = 6 * 3_600
_DAY_S: Final = 24 * 3_600
#: With fewer samples a short window does not say that all is well again.
_FEW: Final = 10
_ABOUT: Final = ("metric", "application", "judge")


def recorded(metric: str) -> str:
    """The name under which a gauge of the exporters is recorded."""
    return f"{RECORDED[metric]}:{metric}:max"


def held(metric: str) -> str:
    """The name under which it is recorded as it was last seen."""
    return f"{RECORDED[metric]}:{metric}:last"


def quality(plan: AlertPlan) -> RuleGroup:
    """Recorded gauges, and the alerts on them."""
    recordings = [Recording(recorded(metric), plan.one_of_replicas(metric)) for metric in RECORDED]
    recordings += [Recording(held(metric), _as_last_seen(plan, metric)) for metric in HELD]
    recordings += [Recording(name, expr) for name, expr in _objectives(plan).items()]
    alerts = [
        _drift(plan),
        _stale(plan),
        _drift_many(plan),
        *_below_objective(plan),
        _missing(plan),
        _unwatched(plan),
        _learned_in_alarm(plan),
    ]
    return RuleGroup("rag-quality", [*recordings, *alerts])


def _as_last_seen(plan: AlertPlan, metric: str) -> str:
    """As it is, or was before the exporters were gone, or had to replay.

    An incident is not over because nobody looks: its page would end, and call once more afterwards.
    """
    now = recorded(metric)
    seen = f"max by ({plan.by}) (rag_monitor_series) > 0"
    return f"{now} or (last_over_time({now}[{_HELD_FOR}]) unless on ({plan.by}) ({seen}))"


def _keys(plan: AlertPlan) -> tuple[str, ...]:
    return (*plan.alerts.by, *_ABOUT)


def plain_metric() -> str:
    """The metric of an alert in plain words; its name where no exporter tells any."""
    plain, otherwise = "{{ . | label `plain` }}", "{{ $labels.metric }}"
    return asked(recorded("rag_metric_info"), ("metric",), plain, otherwise)


def _series_keys(plan: AlertPlan, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Those that an alert has from its series: one that all alerts are given is no label there."""
    return tuple(key for key in keys if key not in plan.alerts.labels)


def _in_words(plan: AlertPlan, label: str, otherwise: str) -> str:
    """A sentence about the alarm.

    It is a label of its own series: as one of the alert it would make another alert whenever it
    changes.
    """
    info = held("rag_drift_change_info")
    return asked(info, _keys(plan), f"{{{{ . | label `{label}` }}}}", otherwise)


def _drift(plan: AlertPlan) -> Alert:
    """Of an alarm that has just ended the message says so: it is the last one."""
    by = ", ".join(_series_keys(plan, _keys(plan)))
    # Of one that was too short to be told, nobody need hear the end.
    told = 'alertname="RagQualityDrift",alertstate="firing",severity="page"'
    # The detector may be gone with the alarm: its metric is watched no more.
    ended = f'label_replace({_just_ended(plan)}, "direction", "worse", "", "")'
    return plan.alert(
        "RagQualityDrift",
        "page",
        DRIFT,
        expr=f"({_fed(plan)})\nor\n({ended}\n  and on ({by}) ALERTS{{{told}}})",
        summary=_in_words(
            plan, "headline", f"{{{{ $labels.application }}}}: {plain_metric()} worse than normal"
        ),
        description=_in_words(
            plan,
            "details",
            "What changed is not known (yet), see rag.alarms.v1 and the log of the exporter",
        )
        + "; judge {{ $labels.judge }}.",
        about=("application", "judge"),
        alarm_url=_alarm_page(plan),
    )


def _fed(plan: AlertPlan) -> str:
    """Alarms that are open, and of which something is still heard."""
    by = ", ".join(_keys(plan))
    alarm, stale = held("rag_drift_alarm"), held("rag_drift_alarm_stale")
    return f"{alarm} == 1 unless on ({by}) {stale} == 1"


def _just_ended(plan: AlertPlan) -> str:
    """Alarms whose end is new, by Prometheus' clock alone: the exporter's may be another.

    None where a page is to end at once.
    """
    ended = recorded("rag_drift_ended_timestamp_seconds")
    told_s = min(_TOLD_S, length_s(plan.alerts.keep_firing["RagQualityDrift"]))
    before = f"{ended} == {ended} offset {duration(told_s)}" if told_s else ended
    return f"({ended} unless {before})"


def _stale(plan: AlertPlan) -> Alert:
    """Nobody can do anything about it at night, and it ends by itself."""
    by = ", ".join(_keys(plan))
    alarm, stale = held("rag_drift_alarm"), held("rag_drift_alarm_stale")
    return plan.alert(
        "RagQualityDrift",
        "ticket",
        DRIFT,
        expr=f"{alarm} == 1 and on ({by}) {stale} == 1",
        labels={"cause": "stale"},
        summary=f"{{{{ $labels.application }}}}: {plain_metric()} was worse when scores ended",
        description="The alarm is open (rag_drift_alarm is {{ $value }}), and this judge has "
        "scored nothing for long: it was replaced, traffic has ended, or the application is gone. "
        "A judge that takes its place learns what is there as normal, which is a ticket of its "
        "own. "
        f"It ends a day later. Last: {_in_words(plan, 'headline', 'unknown')}; judge "
        "{{ $labels.judge }}.",
        about=("application", "judge"),
        alarm_url=_alarm_page(plan),
    )


def _alarm_page(plan: AlertPlan) -> str | None:
    """Where the alarm is explained; names may hold whatever an address may not."""
    if plan.alerts.pages_url is None:
        return None
    parts = [
        f"{{{{ $labels.{label} | urlquery | reReplaceAll `\\+` `%20` }}}}"
        for label in ("metric", "application", "judge")
    ]
    return "/".join((plan.alerts.pages_url, "alarms", *parts))


def _drift_many(plan: AlertPlan) -> Alert:
    """One page for each incident; what nobody can act on any more ends it, as it does the others.

    Alertmanager groups by ``incident``: a second storm calls again.
    """
    keys = ", ".join(_keys(plan))
    by = (*plan.alerts.by, "application")
    together = held("rag_drift_applications_together")
    line = _line_of_application(plan, "{{ $labels.application }} is worse than normal")
    ended = recorded("rag_drift_ended_timestamp_seconds")
    is_over = f"{ended}{{SELECTOR}} unless on ({', '.join(by)}) ({_fed(plan)})"
    together_with = (
        "{{ $value | printf `%.0f` }} applications became worse together, "
        "{{ $labels.application }} among them"
    )
    # As long as the single ones go on: without it each of them would call at the end.
    single_s = length_s(plan.alerts.keep_firing["RagQualityDrift"]) + _MARGIN_S
    own_s = length_s(plan.alerts.keep_firing["RagQualityDriftMany"])
    return plan.alert(
        "RagQualityDriftMany",
        "page",
        DRIFT,
        keep_firing=duration(max(own_s, single_s)),
        expr=f"max by ({', '.join((*by, 'incident'))}) (\n"
        f"  {together} and on ({keys}) (({_fed(plan)}) or {_just_ended(plan)})\n"
        f") >= {plan.alerts.together}",
        summary=asked(is_over, by, line, together_with),
        description=f"{line}. What they have in common comes first: the model, the judge, the "
        "index, the provider.",
        about=("application",),
    )


def _line_of_application(plan: AlertPlan, otherwise: str) -> str:
    """The first line of one of its alarms, of an open one where there is any."""
    keys = ", ".join(_keys(plan))
    info, alarm = held("rag_drift_change_info"), held("rag_drift_alarm")
    is_open = f"max by ({keys}) ({alarm} or 0 * {info})"
    open_first = f"topk(1, {info}{{SELECTOR}} + on ({keys}) group_left () {is_open})"
    by = (*plan.alerts.by, "application")
    return asked(open_first, by, "{{ . | label `headline` }}", otherwise)


def _below_objective(plan: AlertPlan) -> list[Alert]:
    """Pages for the windows of some hours, tickets for longer ones.

    A breach is over when the next shorter window says so, and not when the long one has forgotten
    it: see ``_pair``.
    """
    pages = [w for w in plan.windows if seconds(w) <= _LONGEST_PAGE_S]
    tickets = [w for w in plan.windows if seconds(w) > _LONGEST_PAGE_S]
    found = [_breached(plan, "page", pages, {})] if pages else []
    if tickets:
        found.append(_breached(plan, "ticket", tickets, {"cause": "long_window"}))
    return found


#: Means of windows over which an objective is broken, and means of the shorter windows beside them.
_BROKEN: Final = f"{_WINDOW}:rag_objective_breached:pair"
_SHORTER: Final = f"{_WINDOW}:rag_score:shorter"


def _objectives(plan: AlertPlan) -> dict[str, str]:
    """What the alerts go by, and what is told when a breach is over."""
    shorter = {window: plan.shorter(window) or window for window in plan.windows}
    means = (
        f'label_replace(label_replace({recorded("rag_score")}{{window="{short}"}}, '
        f'"over", "{short}", "", ""), "window", "{window}", "", "")'
        for window, short in shorter.items()
    )
    pairs = (_pair(plan, window) for window in plan.windows)
    return {_BROKEN: "\nor\n".join(pairs), _SHORTER: "\nor\n".join(means)}


def _breached(
    plan: AlertPlan, severity: Severity, windows: Iterable[str], labels: dict[str, str]
) -> Alert:
    """Of a breach that is over the message says where the mean is now: it is the last one."""
    keys = (*_keys(plan), "window")
    share = "{{ . | value | humanizePercentage }}"
    bound, lower, upper = (
        asked(recorded(metric), keys, share, "unknown")
        for metric in ("rag_objective_bound", "rag_score_lower", "rag_score_upper")
    )
    here = f'{{window=~"{"|".join(windows)}"}}'
    told_s = min(_TOLD_S, length_s(plan.alerts.keep_firing["RagQualityBelowObjective"]))
    lately = f"[{duration(told_s or 1)}]"
    alert = f'alertname="RagQualityBelowObjective",severity="{severity}"'
    told = f'ALERTS{{{alert},alertstate="firing"}}'
    is_over = f"max_over_time({_BROKEN}{{SELECTOR}}{lately}) unless {_BROKEN}"
    now = asked(
        _SHORTER,
        keys,
        f"{share} over {{{{ . | label `over` }}}}, no longer worse than {bound}",
        "is not scored any more",
    )
    since, told_by = f"time() - ALERTS_FOR_STATE{{{alert},SELECTOR}}", _series_keys(plan, keys)
    after = asked(since, told_by, " after {{ . | value | humanizeDuration }}")
    worse = "{{ $value | humanizePercentage }} over {{ $labels.window }}, the objective is"
    begins = (
        f"95 % interval {lower} to {upper}: even the better end is worse than the objective, and "
        "the latest scores are, too"
    )
    ends = "The shorter window is well again, or has none, or the longer one is not surely worse"
    return plan.alert(
        "RagQualityBelowObjective",
        severity,
        QUALITY,
        expr=f"{_BROKEN}{here}\nor\n(max_over_time({_BROKEN}{here}{lately})\n"
        f"  and on ({', '.join(told_by)}) {told})",
        labels=labels,
        summary=f"{{{{ $labels.application }}}}: {plain_metric()} "
        + asked(is_over, keys, f"{now}{after}", f"{worse} {bound}"),
        description=asked(is_over, keys, ends, begins) + "; judge {{ $labels.judge }}.",
        about=("application", "judge", "window"),
    )


def _pair(plan: AlertPlan, window: str) -> str:
    """Breached over the window, unless the shorter one beside it is well again, or has no score.

    The SRE workbook's pairs of windows. It is well on the other side of the bound than the long
    one. With few samples it does not say so, and traffic that comes in batches has none now and
    then: it has ended when there is none for half of the long window.
    """
    by, here = ", ".join(_keys(plan)), f'{{window="{window}"}}'
    breached = f"({recorded('rag_objective_breached')}{here} == 1)"
    found = f"{recorded('rag_score')}{here} and on ({by}) {breached}"
    short = plan.shorter(window)
    if short is None:
        return f"({found})"
    score, bound = recorded("rag_score"), recorded("rag_objective_bound")
    beyond = f"({score}{here} - on ({by}) {bound}{here})"
    near = f'{{window="{short}"}}'
    well = f"{beyond} * on ({by}) ({score}{near} - on ({by}) {bound}{here}) <= 0"
    samples = f"{recorded('rag_score_samples')}{near}"
    long_ago = duration(seconds(window) // 2)
    return (
        f"({found}\n  unless on ({by}) (max_over_time({samples}[{long_ago}]) == 0)\n"
        f"  unless on ({by}) (({samples} >= {_FEW}) and on ({by}) ({well})))"
    )


def _had_some(plan: AlertPlan, days: int) -> str:
    """Values on any of the last days: by the longest window of at most a day, one after another.

    A range of days would have Prometheus read every sample of it, at each evaluation. With short
    windows alone there is no other way.
    """
    samples = recorded("rag_score_samples")
    window = max((w for w in plan.windows if seconds(w) <= _DAY_S), key=seconds, default=plan.hour)
    each = seconds(window)
    if each < _DAY_S // 4:
        return f'(max_over_time({samples}{{window="{plan.hour}"}}[{days}d:{plan.hour}]) > 0)'
    agos = range(0, days * _DAY_S, each)
    then = (f" offset {duration(ago)}" if ago else "" for ago in agos)
    return "(" + " or ".join(f'{samples}{{window="{window}"}}{ago} > 0' for ago in then) + ")"


def _missing(plan: AlertPlan) -> Alert:
    """What is not defined cannot become worse: an index that is empty moves no faithfulness.

    What had no value at this time of the day on two days, or a week ago, and some in between, has
    none now either: references that are written in office hours. Where there was none in between
    it is the break itself that is so old.
    """
    by, hour = ", ".join(_keys(plan)), f'{{window="{plan.hour}"}}'

    def had(ago: str) -> str:
        return f"{recorded('rag_score_samples')}{hour} offset {ago}"

    return plan.alert(
        "RagQualityMissing",
        "page",
        QUALITY,
        expr=f"{recorded('rag_quality_missing')} == 1\n"
        f"unless on ({by}) ({had('1d')} == 0 and on ({by}) {had('2d')} == 0\n"
        f"  and on ({by}) {_had_some(plan, 2)})\n"
        f"unless on ({by}) ({had('1w')} == 0 and on ({by}) {_had_some(plan, 7)})",
        summary=f"{{{{ $labels.application }}}}: {plain_metric()} has no value any more",
        description="{{ $labels.metric }} of {{ $labels.application }} has a baseline, and no "
        "interaction of the last hour or more gave it a value (rag_quality_missing is "
        "{{ $value }}), though the application is scored: nothing can be told of it, and it "
        "opens no alarm; judge {{ $labels.judge }}.",
        about=("application", "judge"),
    )


def _unwatched(plan: AlertPlan) -> Alert:
    missing = recorded("rag_monitor_baseline_missing")
    by, long = ", ".join(_keys(plan)), plan.alerts.unwatched
    return plan.alert(
        "RagQualityUnwatched",
        "ticket",
        DRIFT,
        # What had one in between is learned anew, which is no news.
        expr=f"{missing} == 1 and on ({by}) (max_over_time({missing}[1h] offset {long}) == 1)\n"
        f"and on ({by}) (min_over_time({missing}[{long}:1h]) == 1)",
        summary=f"{{{{ $labels.application }}}}: {plain_metric()} is not watched",
        description=f"{{{{ $labels.metric }}}} of {{{{ $labels.application }}}} has had no "
        f"baseline for {long} (rag_monitor_baseline_missing is {{{{ $value }}}}): no alarm can "
        "open on it. It has too few values to learn from: set one, or watch another metric; "
        "judge {{ $labels.judge }}.",
        about=("application", "judge"),
    )


def _learned_in_alarm(plan: AlertPlan) -> Alert:
    """By its own scores nobody can tell, so it is said until somebody decides."""
    return plan.alert(
        "RagQualityUnwatched",
        "ticket",
        DRIFT,
        expr=f"{recorded('rag_monitor_baseline_learned_in_alarm')} == 1",
        labels={"cause": "learned_in_alarm"},
        summary=f"{{{{ $labels.application }}}}: {plain_metric()}: what was bad may count as "
        "normal",
        description="The baseline of {{ $labels.metric }} of {{ $labels.application }} was "
        "learned while an alarm on it was open "
        "(rag_monitor_baseline_learned_in_alarm is {{ $value }}): what is as bad as then opens no "
        "alarm. Freeze, set or reset it (rag-monitor baseline); judge {{ $labels.judge }}.",
        about=("application", "judge"),
    )
