"""Alerts about the monitor itself: its processes, its place on the topic, and what it reads."""

from __future__ import annotations

from typing import Final

from monitor.config import seconds
from monitor.rules.counts import (
    CONSUMED,
    DEAD,
    EXPECTED,
    LATE,
    LONG,
    OUTCOMES,
    PICKS,
    SAMPLES,
    SENT,
)
from monitor.rules.model import Alert
from monitor.rules.plan import HEALTH, AlertPlan
from monitor.rules.promql import SCORER, asked, grown

_WHOLE: Final = "{{ $value | printf `%.0f` }}"
#: What an exporter shows from its start on.
EXPORTER: Final = "rag_monitor_series"
#: For so long a monitor is missed that has gone while others stayed.
_GONE_FOR: Final = "6h"
#: The share of the expected scores below which there are next to none.
_HARDLY: Final = 0.01


def processes(plan: AlertPlan) -> list[Alert]:
    """Whether anything runs, and is ready."""
    return [
        _unreachable(plan),
        _no_target(plan),
        _role_missing(plan),
        _not_ready(plan),
        _some(plan),
        _newer_schema(plan),
        _clock(plan),
    ]


def reading(plan: AlertPlan) -> list[Alert]:
    """Whether what is on the topics is read, and gives scores."""
    return [
        _blind(plan),
        _thinned(plan),
        _paused(plan),
        _no_traffic(plan),
        _gone(plan),
        _lagging(plan),
        _lagging_unwatched(plan),
        _dead_letters(plan),
        _reading_held(plan),
        _records_lost(plan),
        _watchdog(plan),
    ]


def _up(plan: AlertPlan) -> str:
    return f'up{{job=~"{_escaped(plan.alerts.job)}"}}'


def _escaped(regex: str) -> str:
    return regex.replace("\\", "\\\\").replace('"', '\\"')


def _unreachable(plan: AlertPlan) -> Alert:
    return plan.alert(
        "RagMonitorDown",
        "page",
        HEALTH,
        expr=f"{plan.one_of_replicas(_up(plan))} == 0",
        labels={"cause": "unreachable"},
        summary="No process of the job {{ $labels.job }} answers",
        description="Prometheus reaches none of the targets of {{ $labels.job }} (up is "
        "{{ $value }}).",
    )


def _no_target(plan: AlertPlan) -> Alert:
    """Where others of the same Prometheus stay, what went is seen by what was there before."""
    there = f"count by ({plan.by}) ({_up(plan)})"
    before = f"count by ({plan.by}) (max_over_time({_up(plan)}[{_GONE_FOR}]))"
    one = f"{before} unless on ({plan.by}) {there}"
    return plan.alert(
        "RagMonitorDown",
        "page",
        HEALTH,
        expr=f"({one})\nor\n(absent({_up(plan)}) unless on () ({one}))",
        labels={"cause": "no_target"},
        summary="The monitor is gone",
        description=f"Prometheus has no target with a job like {plan.alerts.job} any more: nothing "
        f"is deployed, or nothing is scraped. What was there within {_GONE_FOR} is missed.",
    )


def _role_missing(plan: AlertPlan) -> Alert:
    """Scorers that are scaled to zero while nothing comes in are missed by their lag only."""
    answering, by = f"max by ({plan.by}) ({_up(plan)}) == 1", f"unless on ({plan.by})"

    def without(role: str, *shown: str) -> str:
        missed = " ".join(f"{by} {metric}" for metric in shown)
        return f'label_replace(({answering}) {missed}, "role", "{role}", "", "")'

    return plan.alert(
        "RagMonitorDown",
        "page",
        HEALTH,
        expr=f"{without('export', EXPORTER)}\nor\n"
        f"{without('score', SCORER, 'rag_monitor_group_lag_records')}",
        labels={"cause": "role_missing"},
        summary="No process with the role {{ $labels.role }}",
        description="Other processes of the monitor answer, but none of them has the role "
        "{{ $labels.role }} (rag-monitor {{ $labels.role }}, or run).",
    )


def _not_ready(plan: AlertPlan) -> Alert:
    return plan.alert(
        "RagMonitorDown",
        "page",
        HEALTH,
        expr=f"{plan.one_of_replicas('rag_monitor_ready')} == 0",
        pending=plan.alerts.not_ready,
        labels={"cause": "not_ready"},
        summary="No process of the job {{ $labels.job }} is ready",
        description="All processes of {{ $labels.job }} have been waiting for "
        f"{plan.alerts.not_ready} (rag_monitor_ready is {{{{ $value }}}}); /readyz names it.",
    )


def _some(plan: AlertPlan) -> Alert:
    return plan.alert(
        "RagMonitorDown",
        "ticket",
        HEALTH,
        expr=f"(count without ({', '.join(plan.alerts.replicas)}) ({_up(plan)} == 0))\n"
        f"and ({plan.one_of_replicas(_up(plan))} == 1)",
        labels={"cause": "some_unreachable"},
        summary="Processes of the job {{ $labels.job }} do not answer",
        description=f"{_WHOLE} of the targets of {{{{ $labels.job }}}} do not answer; others do.",
    )


def _newer_schema(plan: AlertPlan) -> Alert:
    """By what a process has counted since its start: most of it in a replay, before any scrape."""
    counters = {
        "rag_monitor_score_records_total": "scores",
        "rag_monitor_control_records_total": "control",
        "rag_monitor_calibration_records_total": "control",
        "rag_monitor_alarm_records_total": "alarms",
    }
    return plan.alert(
        "RagMonitorDown",
        "ticket",
        HEALTH,
        expr="\nor\n".join(_newer(plan, *each) for each in counters.items()),
        labels={"cause": "newer_schema"},
        summary="Records of a newer version are left out ({{ $labels.topic }})",
        description=f"{_WHOLE} records on the topic kafka.topics.{{{{ $labels.topic }}}} have a "
        "schema that is newer than the processes that read it: gauges, baselines or alarms are "
        "computed without them.",
    )


def _newer(plan: AlertPlan, counter: str, topic: str) -> str:
    """What is as it was a day ago is known."""
    named = f'{counter}{{result="newer_schema"}}'
    now, before = (f"max by ({plan.by}) ({named}{then})" for then in ("", " offset 1d"))
    fresh = f"{now} >= {plan.alerts.newer_schema} unless {before} >= {now}"
    return f'label_replace({fresh}, "topic", "{topic}", "", "")'


def _clock(plan: AlertPlan) -> Alert:
    return plan.alert(
        "RagMonitorDown",
        "page",
        HEALTH,
        expr=f"abs(rag_monitor_clock_offset_seconds) > {seconds(plan.alerts.clock)}",
        labels={"cause": "clock"},
        summary="The clock of {{ $labels.instance }} is wrong",
        description="The clock of {{ $labels.instance }} and the brokers' differ by "
        "{{ $value | humanizeDuration }}: its windows, budgets and pauses are off by as much, and "
        "an hour ahead no broker takes its records.",
    )


def _blind(plan: AlertPlan) -> Alert:
    least = plan.alerts.least
    by = plan.by

    def unseen(end: str) -> str:
        scored = plan.summed(f'{OUTCOMES}{end}{{outcome="scored"}}') + " > 0"
        return f"(({EXPECTED}{end} >= {least}) unless on ({by}) ({scored}))"

    return plan.alert(
        "RagMonitorBlind",
        "page",
        HEALTH,
        expr=f"(\n{unseen('')}\nor\n{unseen(LONG)}\n)\nunless on ({by}) {plan.out_of_budget}",
        pending=plan.blind_pending,
        summary="There is traffic, but no scores",
        description=f"At least {_WHOLE} scores were to be expected of the traffic of the last "
        f"{plan.alerts.window} (or {plan.alerts.long_window}), and there is none: the quality "
        "gauges do not cover it.",
    )


def _thinned(plan: AlertPlan) -> Alert:
    """Some scores are not none, and yet hardly anything is looked at."""
    share = plan.one_of_replicas("rag_monitor_sampling_share")
    scored = plan.summed(f'{OUTCOMES}{LONG}{{outcome="scored"}}')
    few = f"({scored} > 0) / ({EXPECTED}{LONG} >= {plan.alerts.least})"
    return plan.alert(
        "RagMonitorBlind",
        "ticket",
        HEALTH,
        expr=f"max by ({plan.by}) ({share}) < {plan.alerts.sampled:g}\nor\n{few} < {_HARDLY:g}",
        pending="1h",
        labels={"cause": "thinned"},
        summary="Hardly anything is judged",
        description="{{ $value | humanizePercentage }} of what should be judged is (reading that "
        "is behind takes less, and so does a judge that fails): gauges have wide intervals, and "
        "alarms come late.",
    )


def _paused(plan: AlertPlan) -> Alert:
    """Nobody expects scores of what is paused, so nothing else would ever tell of it."""
    by = ", ".join((*plan.alerts.by, "application"))
    since = f"min by ({by}) (rag_monitor_paused_since_timestamp_seconds)"
    return plan.alert(
        "RagMonitorBlind",
        "ticket",
        HEALTH,
        expr=f"time() - {since} > {seconds(plan.alerts.paused)}",
        labels={"cause": "paused"},
        summary="Judging is paused for more than "
        f"{plan.alerts.paused} ({{{{ $labels.application }}}})",
        description="It has been paused by hand for {{ $value | humanizeDuration }}: the quality "
        "gauges do not cover it, and no alarm opens. rag-monitor resume ends it.",
    )


def _no_traffic(plan: AlertPlan) -> Alert:
    return plan.alert(
        "RagMonitorNoTraffic",
        "info",
        HEALTH,
        expr=f"{SENT} == 0",
        summary="Nothing comes in on {{ $labels.topic }}",
        description=f"{_WHOLE} records have come onto {{{{ $labels.topic }}}} within "
        f"{plan.alerts.window}: there is nothing to judge.",
    )


def _gone(plan: AlertPlan) -> Alert:
    """Scored at this time a week ago, and within six days, and not picked once for an hour.

    What is younger than a week is held against yesterday, but not at a weekend: nobody knows yet
    whether it works then. Where nothing comes in at all, that is told by itself. So is what keeps
    all applications from being picked: no money, or scorers that read nothing. Where scorers count
    some as ``other``, any of these may be the one.
    """
    by = ", ".join((*plan.alerts.by, "application"))
    least, paused = plan.alerts.least, "rag_monitor_paused_since_timestamp_seconds"
    unnamed = plan.summed(f'{PICKS}{{application="other"}}')
    left_out = plan.summed(f'{OUTCOMES}{{outcome="over_budget"}}')

    def samples(ago: str) -> str:
        return f"max by ({by}) ({SAMPLES} offset {ago})"

    # In steps of an hour: as many values as a day of minutes would have.
    lately = f"max by ({by}) (max_over_time({SAMPLES}[6d:1h]))"
    return plan.alert(
        "RagQualityMissing",
        "ticket",
        HEALTH,
        expr=f"(\n  {samples('1w')} >= {least} and on ({by}) {lately} >= {least}\n"
        f"  or\n  (({samples('1d')} >= {least}) and on () (day_of_week() > 0 < 6))\n"
        f"  unless on ({by}) {samples('1w')}\n)\n"
        f"unless on ({by}) ({plan.summed(PICKS, 'application')} > 0)\n"
        f'unless on ({by}) {paused}\nunless on ({plan.by}) {paused}{{application="*"}}\n'
        f"unless on ({plan.by}) ({unnamed} > 0)\n"
        f"unless on ({plan.by}) ({left_out} > 0)\nunless on ({plan.by}) {plan.out_of_budget}\n"
        f"and on ({plan.by}) ({CONSUMED} > 0)",
        pending="1h",
        labels={"cause": "gone"},
        summary="{{ $labels.application }}: nothing of it comes any more",
        description="At this time a week ago (of a new one yesterday) {{ $value | printf `%.0f` }} "
        "interactions of {{ $labels.application }} were scored within an hour; now none was picked "
        "for an hour, though others come: it is no longer logged, has another name, or is not "
        "sampled.",
        about=("application",),
    )


def _lagging(plan: AlertPlan) -> Alert:
    """Where lateness was chosen, what is being made up for is none, either."""
    falling = f"\nunless {LATE} < {LATE} offset {plan.lag}" if plan.completeness else ""
    return plan.alert(
        "RagMonitorLagging",
        "page",
        HEALTH,
        expr=f"{LATE} > 0\nunless on ({plan.by}) {plan.out_of_budget}{falling}",
        labels={"seen_by": "exporter"},
        summary="The scorers are behind on {{ $labels.topic }}",
        description=f"{_WHOLE} records of {{{{ $labels.topic }}}} have waited for more than "
        f"{plan.lag} and are not done: gauges and alarms are that late.",
    )


def _lagging_unwatched(plan: AlertPlan) -> Alert:
    """What scorers say of themselves, where the exporter may not look at their group."""
    replicas = ", ".join((*plan.alerts.replicas, "partition"))
    seconds = f"max without ({replicas}) (rag_monitor_consumer_lag_seconds)"
    return plan.alert(
        "RagMonitorLagging",
        "page",
        HEALTH,
        expr=f"({seconds} > {plan.lag_s})\n"
        f"unless on ({', '.join((*plan.alerts.by, 'topic'))}) rag_monitor_group_lag_records\n"
        f"unless on ({plan.by}) {plan.out_of_budget}",
        labels={"seen_by": "scorer"},
        summary="The scorers are behind on {{ $labels.topic }}",
        description="The oldest record of {{ $labels.topic }} that is not done has waited for "
        "{{ $value | humanizeDuration }}.",
    )


def _dead_letters(plan: AlertPlan) -> Alert:
    """Several at once, or a share of all: a bad record now and then is nobody's work."""
    most = asked(
        f"topk(1, {DEAD}{LONG}{{SELECTOR}})",
        plan.alerts.by,
        "{{ . | label `stage` }}/{{ . | label `cause` }}",
        "see the log",
    )
    least = plan.alerts.dead_letters
    return plan.alert(
        "RagMonitorDeadLetters",
        "ticket",
        HEALTH,
        expr=f"{plan.summed(DEAD)} >= {least}\nor\n{plan.summed(DEAD + LONG)} >= {least}\n"
        f"and {plan.summed(DEAD + LONG)} / {CONSUMED}{LONG} >= {plan.alerts.dead_letter_ratio:g}",
        labels={"cause": "rejected"},
        summary="Interactions become dead letters",
        description=f"{_WHOLE} records could not be read or scored within {plan.alerts.window} "
        f"(or {plan.alerts.long_window}); most often: {most}.",
    )


def _reading_held(plan: AlertPlan) -> Alert:
    def held(metric: str, by: str) -> str:
        return f'(label_replace({plan.summed(metric)}, "held_by", "{by}", "", "") > 0)'

    waiting = held("rag_monitor_dead_letters_waiting", "topic")
    circuit = held("rag_monitor_dead_letter_circuit_open", "circuit")
    return plan.alert(
        "RagMonitorDeadLetters",
        "page",
        HEALTH,
        expr=f"{waiting}\nor\n{circuit}",
        pending=plan.alerts.held,
        keep_firing="0s",
        labels={"cause": "held"},
        summary="Reading is held up by dead letters ({{ $labels.held_by }})",
        description=f"{_WHOLE} {{{{ if eq $labels.held_by `topic` }}}}dead letters find no place "
        "on their topic, and their partitions are held{{ else }}scorers have stopped reading, "
        "since nearly every record becomes a dead letter{{ end }}.",
    )


def _records_lost(plan: AlertPlan) -> Alert:
    """By then the lag has gone: it looks like recovery."""
    lost = grown("rag_monitor_offsets_lost_total", plan.alerts.window, "topic")
    return plan.alert(
        "RagMonitorRecordsLost",
        "ticket",
        HEALTH,
        expr=f"{plan.summed(lost, 'topic')} > 0",
        summary="Records of {{ $labels.topic }} were deleted before they were read",
        description=f"{_WHOLE} offsets of {{{{ $labels.topic }}}} went with its retention within "
        f"{plan.alerts.window} before a process had read them; they are lost.",
    )


def _watchdog(plan: AlertPlan) -> Alert:
    return plan.alert(
        "RagMonitorWatchdog",
        "none",
        HEALTH,
        expr="vector(1)",
        summary="The way of the alerts is open",
        description="Always firing (value {{ $value }}). Send it to a dead man's switch that "
        "reports when it stops coming.",
    )
