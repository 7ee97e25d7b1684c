"""What is counted: interactions by outcome, and what there is to read. Recorded for the alerts.

Counters live as long as a process, so each is looked at by itself (a restart is no negative
growth), and only then are they added up.
"""

from __future__ import annotations

from typing import Final

from monitor.rules.model import Recording
from monitor.rules.plan import AlertPlan
from monitor.rules.promql import grown

#: Outcomes of interactions that a score was to come of.
PICKED: Final = "scored|unscorable|judge_failed|dead_lettered"
#: Outcomes of those of them that a judge, or its absence of an answer, decided.
JUDGED: Final = "scored|unscorable|judge_failed"

END: Final = "topic_partition:rag_monitor_input_end_offset:max"
LAG: Final = "topic_partition:rag_monitor_group_lag_records:max"
LATE: Final = "topic:rag_monitor_group_lag_records:late"
OUTCOMES: Final = "outcome_reason:rag_monitor_interactions:increase"
RECENT: Final = "outcome_reason:rag_monitor_interactions:increase_recent"
CONSUMED: Final = "deployment:rag_monitor_interactions_consumed:increase"
EXPECTED: Final = "deployment:rag_monitor_scores_expected:increase"
SENT: Final = "topic:rag_monitor_input_records:increase"
PICKS: Final = "application_outcome_reason:rag_monitor_picks:increase"
RECENT_PICKS: Final = "application_outcome_reason:rag_monitor_picks:increase_recent"
DEAD: Final = "stage_cause:rag_monitor_dead_letters:increase"
MISSING: Final = "application_judge:rag_score_missing_ratio:max"
SAMPLES: Final = "application_judge:rag_score_samples:max"
#: Whether a model guesses, while that is known.
GUESSES: Final = "model:rag_monitor_judge_not_judging:known"
GUESSES_KIND: Final = "kind_model:rag_monitor_judge_guesses_kind:known"
LONG: Final = "_long"
#: Reasons of what never was an interaction that a judge could have been asked about.
UNREAD: Final = "tombstone|no_root|trace_too_large"


def counts(plan: AlertPlan) -> list[Recording]:
    """In an order in which each finds what it is made of."""
    windows = {"": plan.alerts.window, LONG: plan.alerts.long_window}
    found = [
        Recording(END, plan.one_of_replicas("rag_monitor_input_end_offset")),
        Recording(LAG, plan.one_of_replicas("rag_monitor_group_lag_records")),
        _late(plan),
        Recording(GUESSES, _known(plan, "rag_monitor_judge_not_judging")),
        Recording(GUESSES_KIND, _known(plan, "rag_monitor_judge_guesses_kind", "kind")),
    ]
    for end, window in windows.items():
        found += _by_window(plan, end, window)
    return [*found, _recent(plan), _recent_picks(plan), *_by_application(plan)]


def unknown(plan: AlertPlan, *beside: str) -> str:
    """Models of which nobody knows since a start, beside series with more labels than the model."""
    alike = f"ignoring ({', '.join(beside)}) " if beside else ""
    replicas = ", ".join(plan.alerts.replicas)
    return f"{alike}min without ({replicas}) (rag_monitor_judge_unknown) == 1"


def _known(plan: AlertPlan, gauge: str, *beside: str) -> str:
    return f"{plan.one_of_replicas(gauge)} unless {unknown(plan, *beside)}"


def _by_window(plan: AlertPlan, end: str, window: str) -> list[Recording]:
    outcomes = grown("rag_monitor_interactions_total", window, "outcome", "reason")
    picks = grown("rag_monitor_picks_total", window, "application", "outcome", "reason")
    consumed = grown("rag_monitor_interactions_consumed_total", window)
    dead_letters = grown("rag_monitor_dead_letters_total", window, "stage", "cause")
    return [
        Recording(SENT + end, _sent(plan, window)),
        Recording(OUTCOMES + end, plan.summed(outcomes, "outcome", "reason")),
        Recording(PICKS + end, plan.summed(picks, "application", "outcome", "reason")),
        Recording(CONSUMED + end, plan.summed(consumed)),
        Recording(EXPECTED + end, _expected(plan, end)),
        Recording(DEAD + end, plan.summed(dead_letters, "stage", "cause")),
    ]


def _sent(plan: AlertPlan, window: str) -> str:
    """Records that came onto the topic; one that was made anew begins at 0 and counts none."""
    return plan.summed(f"\n  clamp_min({END} - {END} offset {window}, 0)\n", "topic")


def _late(plan: AlertPlan) -> Recording:
    """Records without an end that were on the topic that long ago.

    From the group's committed offsets, so it needs no scorer that is alive: the group stands at
    end - lag, and what the end was then and lies behind that is late. A topic that was made anew
    has no such past.
    """
    return Recording(
        LATE,
        plan.summed(
            f"\n  clamp_min(({END} offset {plan.lag} <= {END}) - ({END} - {LAG}), 0)\n", "topic"
        ),
    )


def _expected(plan: AlertPlan, end: str) -> str:
    """Scores that the traffic of the window should have given, at least.

    Read or sent, whatever is more (scorers may be away, or catch up), at the smallest rate that is
    configured, without what nobody expects a score of: that is known of what the hash has taken, at
    whatever rate. And at least what was picked, or is under way. In blocks one stands for others,
    which are taken off. A part that is not known is left out, like what was sent as spans: how many
    traces these are shows only who reads them.
    """
    excused = plan.summed(
        f'{OUTCOMES}{end}{{outcome=~"over_budget|handed_over"}} '
        f'or {OUTCOMES}{end}{{reason=~"filtered|paused|duplicate|{UNREAD}"}}'
    )
    picked = f'{{outcome=~"{PICKED}",reason!~"{UNREAD}"}}'
    parts = {"consumed": _at_rate(plan, f"{CONSUMED}{end}", excused, end)}
    if plan.has_records:
        others = f'{{topic!~"{"|".join(plan.span_topics)}"}}' if plan.span_topics else ""
        parts["sent"] = _at_rate(plan, plan.summed(f"{SENT}{end}{others}"), excused, end)
    parts["picked"] = plan.summed(f"{OUTCOMES}{end}{picked}")
    if not plan.block_s:  # else most of them only wait to be one of many
        parts["in_flight"] = plan.summed("rag_monitor_interactions_in_flight")
    labelled = "\n  or ".join(
        f'label_replace(\n    {part},\n    "part", "{name}", "", "")'
        for name, part in parts.items()
    )
    return f"max by ({plan.by}) (\n  {labelled}\n)"


def _at_rate(plan: AlertPlan, traffic: str, excused: str, end: str) -> str:
    at_rate = f"{plan.least_rate:g} * {traffic}"
    taken = f"clamp_min(({at_rate} - {excused}) or {at_rate}, 0)"
    if not plan.block_s:
        return taken
    others = plan.summed(f'{OUTCOMES}{end}{{reason=~"slot|lag"}}')
    return f"(({taken} - {others}) or {taken})"


def _recent(plan: AlertPlan) -> Recording:
    """By outcome, over the short window; where it holds too few for a share, over the long one."""
    judged = plan.summed(f'{OUTCOMES}{{outcome=~"{JUDGED}"}}')
    return Recording(RECENT, _enough_or_long(plan, OUTCOMES, judged, plan.by))


def _recent_picks(plan: AlertPlan) -> Recording:
    """The same for each application, of which some have far fewer than others."""
    picked, by = plan.summed(PICKS, "application"), ", ".join((*plan.alerts.by, "application"))
    return Recording(RECENT_PICKS, _enough_or_long(plan, PICKS, picked, by))


def _enough_or_long(plan: AlertPlan, counted: str, judged: str, by: str) -> str:
    enough = f"(\n  {judged} >= {plan.alerts.least}\n)"
    return f"({counted} and on ({by}) {enough})\nor\n({counted}{LONG} unless on ({by}) {enough})"


def _by_application(plan: AlertPlan) -> list[Recording]:
    """How judging fares for one application and judge, whatever the metric."""
    hour = f'{{window="{plan.hour}"}}'
    return [
        Recording(name, plan.one_of_replicas(f"{name.split(':')[1]}{hour}", "metric", "window"))
        for name in (MISSING, SAMPLES)
    ]
