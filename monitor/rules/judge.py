"""Alerts about the judge: it fails, stops, guesses, has no money, or finds nothing to score."""

from __future__ import annotations

from typing import Final

from monitor.config import seconds
from monitor.rules.counts import (
    GUESSES,
    GUESSES_KIND,
    JUDGED,
    MISSING,
    OUTCOMES,
    RECENT,
    RECENT_PICKS,
    SAMPLES,
    unknown,
)
from monitor.rules.model import Alert
from monitor.rules.plan import HEALTH, JUDGE, AlertPlan
from monitor.rules.promql import SCORER, asked
from monitor.rules.quality import plain_metric

_PERCENT: Final = "{{ $value | humanizePercentage }}"
#: Audited interactions below which κ is not told.
_AUDITED: Final = 50
#: The metrics in which verdicts of a kind have a part, of the kinds that canaries ask about. Rules
#: know no formulas: a test holds this to them.
RESTS_ON: Final = {
    "passage": (
        *("faithfulness", "faithfulness_by_passage", "hallucination", "self_knowledge"),
        *("noise_sensitivity_relevant", "noise_sensitivity_irrelevant"),
        *("context_recall", "context_precision", "context_utilization"),
    ),
    "reference": (
        *("incorrect_claims", "claim_precision", "claim_f1", "hallucination", "self_knowledge"),
        *("noise_sensitivity_relevant", "noise_sensitivity_irrelevant"),
    ),
    "response": ("claim_recall", "claim_f1", "context_utilization"),
}


def judge(plan: AlertPlan) -> list[Alert]:
    """Whether interactions that are picked get their scores, and why not."""
    return [
        _failing(plan),
        _failing_for_some(plan),
        _stopped(plan),
        _doubtful(plan),
        _guesses_one_kind(plan),
        _constant(plan),
        _disagrees(plan),
        _people_disagree(plan),
        _errs_otherwise(plan),
        _over_budget(plan),
        _forecast(plan),
        _out_of_budget(plan),
        _limits_not_shared(plan),
        _unscorable(plan),
    ]


def _share(plan: AlertPlan, outcome: str, above: float) -> str:
    """The share of an outcome, where there is enough to take one. Tombstones say nothing."""
    of_it = plan.summed(f'{RECENT}{{outcome="{outcome}",reason!="tombstone"}}')
    of_all = plan.summed(f'{RECENT}{{outcome=~"{JUDGED}",reason!="tombstone"}}')
    return f"({of_it} / {of_all} > {above:g})\nand on ({plan.by}) ({of_all} >= {plan.alerts.least})"


def _reason(plan: AlertPlan, outcome: str) -> str:
    """The most frequent reason of an outcome."""
    series = f'topk(1, {RECENT}{{outcome="{outcome}",reason!="tombstone",SELECTOR}})'
    return asked(series, plan.alerts.by, "{{ . | label `reason` }}", "see the log")


def _failing(plan: AlertPlan) -> Alert:
    return plan.alert(
        "RagMonitorJudgeFailing",
        "ticket",
        JUDGE,
        expr=_share(plan, "judge_failed", plan.alerts.failing_ratio),
        labels={"cause": "all"},
        summary="Judgements fail",
        description=f"{_PERCENT} of the judgements fail (more than "
        f"{plan.alerts.failing_ratio:.0%}), most often: {_reason(plan, 'judge_failed')}. The "
        "gauges are about the others only.",
    )


def _failing_for_some(plan: AlertPlan) -> Alert:
    """One application or judge, which does not weigh enough among all.

    The gauges say shares and what was scored, not what was picked: that is what was scored by the
    share of it. Where all has failed it is not known, and two windows of that must follow another.
    """
    return plan.alert(
        "RagMonitorJudgeFailing",
        "ticket",
        JUDGE,
        expr=f"(\n  ({MISSING} > {plan.alerts.missing_ratio:g} "
        f"and {SAMPLES} / (1 - {MISSING}) >= {plan.alerts.least})\n"
        f"  or ({MISSING} == 1 and {MISSING} offset {plan.hour} == 1)\n)\n"
        f"unless on ({plan.by}) (\n"
        f"{_share(plan, 'judge_failed', plan.alerts.failing_ratio)}\n)",
        labels={"cause": "some"},
        summary="Judgements of {{ $labels.application }} fail",
        description=f"{_PERCENT} of the judgements of {{{{ $labels.application }}}} by "
        f"{{{{ $labels.judge }}}} have failed within {plan.hour}. Its gauges are about the others "
        "only.",
        about=("application", "judge"),
    )


def _stopped(plan: AlertPlan) -> Alert:
    state = 'rag_monitor_judge_state{state=~"stopped|circuit_open"}'
    return plan.alert(
        "RagMonitorJudgeStopped",
        "page",
        JUDGE,
        expr=f"{plan.one_of_replicas(state)} == 1",
        summary="The judge {{ $labels.model }} has stopped ({{ $labels.state }})",
        description="The judge {{ $labels.model }} is not asked any more (state "
        "{{ $labels.state }}, value {{ $value }}): {{ if eq $labels.state `stopped` }}it refuses, "
        "and only a person can change that (key, bill, model){{ else }}it has failed time and "
        "again, and is only tried now and then{{ end }}.",
    )


def _guesses(plan: AlertPlan, gauge: str, known: str, *beside: str) -> str:
    """What a gauge of guessing says; and while nobody knows, what was ``known`` last.

    Nobody knows from a restart on until canaries have said it anew (that holds for a day at most),
    and while no scorer runs (for an hour). A model that is configured no more is not told of,
    whatever judges in its place: it need not be one that has canaries. ``beside``: the labels of
    the gauge beside the model.
    """
    any_scorer = plan.one_of_replicas(SCORER)
    return (
        f"(\n  {plan.one_of_replicas(gauge)} == 1\n"
        f"  or (last_over_time({known}[1d]) == 1 and {unknown(plan, *beside)})\n"
        f"  or (last_over_time({known}[1h]) == 1 "
        f"unless ignoring ({', '.join((*beside, 'model'))}) {any_scorer})\n)"
    )


def _guesses_at_all(plan: AlertPlan) -> str:
    return _guesses(plan, "rag_monitor_judge_not_judging", GUESSES)


def _doubtful(plan: AlertPlan) -> Alert:
    return plan.alert(
        "RagMonitorJudgeDoubtful",
        "page",
        JUDGE,
        expr=_guesses_at_all(plan),
        labels={"cause": "canaries"},
        summary="The judge {{ $labels.model }} answers, but does not judge",
        description="The judge {{ $labels.model }} answers interactions with known verdicts no "
        "better than a guesser (rag_monitor_judge_not_judging is {{ $value }}, or was before a "
        "restart): its verdicts on the traffic are worth nothing. It is asked about canaries only: "
        "unless another of judge.fallback_models judges, or judge.not_judging is score, nothing is "
        "scored. Of several judges with this model that holds for one: /readyz of the scorer "
        "says which.",
    )


def _guesses_one_kind(plan: AlertPlan) -> Alert:
    """Right about passages, and guessing about the reference: on the whole that is no guesser.

    Of a model that guesses on the whole it is told already.
    """
    kinds = _guesses(plan, "rag_monitor_judge_guesses_kind", GUESSES_KIND, "kind")
    rests = "".join(
        f"{{{{ {'if' if not number else 'else if'} eq $labels.kind `{kind}` }}}}"
        + ", ".join(metrics)
        for number, (kind, metrics) in enumerate(RESTS_ON.items())
    )
    return plan.alert(
        "RagMonitorJudgeDoubtful",
        "ticket",
        JUDGE,
        expr=f"{kinds}\nunless ignoring (kind) {_guesses_at_all(plan)}",
        labels={"cause": "canaries_of_a_kind"},
        summary="The judge {{ $labels.model }} guesses about the {{ $labels.kind }}",
        description="Whether the {{ $labels.kind }} supports a claim, the judge "
        "{{ $labels.model }} answers no better than a guesser on interactions with known verdicts "
        "(rag_monitor_judge_guesses_kind is {{ $value }}, or was before a restart). Worth nothing: "
        f"{rests}{{{{ end }}}}. Other metrics may be sound. Try judge.pipeline pairs, or a "
        "stronger model.",
    )


def _constant(plan: AlertPlan) -> Alert:
    """Canaries say more, where there are any: what they have found is not told twice."""
    constant = plan.one_of_replicas("rag_monitor_judge_verdicts_constant")
    guesses = plan.one_of_replicas("rag_monitor_judge_not_judging")
    return plan.alert(
        "RagMonitorJudgeDoubtful",
        "ticket",
        JUDGE,
        expr=f"{constant} == 1\nunless ignoring (kind) {guesses} == 1",
        labels={"cause": "constant"},
        summary="The judge {{ $labels.model }} says the same to everything",
        description="The latest 1,000 verdicts of the judge {{ $labels.model }} on "
        "{{ if eq $labels.kind `together` }}whether passages support a claim together"
        "{{ else }}claims against the {{ $labels.kind }}{{ end }} are all the same "
        "(rag_monitor_judge_verdicts_constant is {{ $value }}): either the traffic is like that, "
        "or they are no judgement.",
    )


def _disagrees(plan: AlertPlan) -> Alert:
    """Each scorer rechecks its own share, and one whose interval is surely low is enough."""
    agreement = "rag_monitor_judge_agreement"
    low = f"{agreement}_upper < {plan.alerts.agreement:g}"
    enough = f"{agreement}_interactions >= {plan.alerts.rechecks}"
    return plan.alert(
        "RagMonitorJudgeDoubtful",
        "ticket",
        JUDGE,
        expr=plan.one_of_replicas(f"{low} and {enough}"),
        labels={"cause": "agreement"},
        summary="The judge {{ $labels.judge }} contradicts itself",
        description=f"At most {_PERCENT} of the verdicts of {{{{ $labels.judge }}}} on claims "
        "against the {{ $labels.kind }} come out alike when they are asked for one by one "
        f"(upper bound; below {plan.alerts.agreement:.0%} is doubtful): what it says of the "
        "traffic is worth as little.",
        about=("judge",),
    )


def _people_disagree(plan: AlertPlan) -> Alert:
    """Two people who disagree say nothing against the judge."""
    upper = 'rag_monitor_audit_agreement_upper{measure="kappa",verdict!="reviewers"}'
    low = f"{upper} < {plan.alerts.audit_kappa:g}"
    enough = f"rag_monitor_audit_interactions >= {_AUDITED}"
    return plan.alert(
        "RagMonitorJudgeDoubtful",
        "ticket",
        JUDGE,
        expr=plan.one_of_replicas(f"{low} and ignoring (measure) {enough}", "measure"),
        labels={"cause": "audits"},
        summary="People disagree with the judge of {{ $labels.application }}",
        description="Audits of {{ $labels.application }}: on {{ $labels.verdict }} Cohen's kappa "
        "of {{ $labels.judge }} and people is at most {{ $value | printf `%.2f` }} (upper bound; "
        f"below {plan.alerts.audit_kappa:g} is doubtful). Its scores are as doubtful.",
        about=("application", "judge"),
    )


def _errs_otherwise(plan: AlertPlan) -> Alert:
    """The provider changed what is behind the name, or the traffic is of another kind."""
    moved = plan.one_of_replicas("rag_monitor_audit_judge_moved")
    return plan.alert(
        "RagMonitorJudgeDoubtful",
        "ticket",
        JUDGE,
        expr=f"{moved} == 1",
        labels={"cause": "audits_moved"},
        summary="The judge of {{ $labels.application }} errs otherwise than before",
        description=f"{plain_metric()} of {{{{ $labels.application }}}}: the latest 50 audits show "
        "other errors of {{ $labels.judge }} than those before (rag_monitor_audit_judge_moved is "
        "{{ $value }}). rag_score_corrected goes by all of them, and fits neither time.",
        about=("application", "judge"),
    )


def _until_midnight(plan: AlertPlan) -> str:
    """Seconds until the day of the budget ends, in its own time zone."""
    return f"({plan.one_of_replicas('rag_monitor_budget_day_end_timestamp_seconds')} - time())"


def _forecast(plan: AlertPlan) -> Alert:
    """Ahead of the end: then something can be done about it.

    A day that goes on as yesterday did may slow down by itself: what was spent by this time, then
    and now, says what today will come to.
    """
    left = plan.one_of_replicas("rag_monitor_budget_usd_left")
    spent = plan.one_of_replicas("rag_monitor_budget_usd_spent")
    # Not a rate: a sum of floats may go down in its last digit, which is no restart.
    pace = plan.one_of_replicas("deriv(rag_monitor_budget_usd_spent[1h])")
    yesterday = plan.one_of_replicas("max_over_time(rag_monitor_budget_usd_spent[1d])")
    by_then = plan.one_of_replicas("rag_monitor_budget_usd_spent offset 1d")
    per_day = plan.one_of_replicas("rag_monitor_budget_usd_per_day")
    left_s = f"({left} > 0) / ({pace} > 0)"
    return plan.alert(
        "RagMonitorBudgetExhausted",
        "ticket",
        JUDGE,
        expr=f"{left_s} < {_until_midnight(plan)} - {seconds(plan.alerts.forecast)}\n"
        f"unless ({spent} * {yesterday} / ({by_then} > 0) <= {per_day})",
        pending="15m",
        labels={"cause": "forecast"},
        summary="At this pace the budget of the judge is spent before the day is over",
        description="At the pace of the last hour the day's money is spent in "
        "{{ $value | humanizeDuration }}; from then on nothing is judged until midnight "
        "(budget.timezone); a smaller sampling.rate makes it last.",
    )


def _over_budget(plan: AlertPlan) -> Alert:
    over = f'{OUTCOMES}{{outcome="over_budget"}}'
    reason = asked(
        f'topk(1, {OUTCOMES}{{outcome="over_budget",SELECTOR}})',
        plan.alerts.by,
        "{{ . | label `reason` }}",
        "see the log",
    )
    return plan.alert(
        "RagMonitorBudgetExhausted",
        "ticket",
        JUDGE,
        expr=f"{plan.summed(over)} > 0\n"
        f"unless on ({plan.by}) ({_until_midnight(plan)} <= {seconds(plan.alerts.forecast)})",
        labels={"cause": "left_out"},
        summary="The budget of the judge is spent",
        description="{{ $value | printf `%.0f` }} picked interactions were not judged within "
        f"{plan.alerts.window}, being over the budget ({reason}).",
    )


def _out_of_budget(plan: AlertPlan) -> Alert:
    """The same where all is judged, however late: nothing ends as over the budget there."""
    return plan.alert(
        "RagMonitorBudgetExhausted",
        "ticket",
        JUDGE,
        expr=plan.out_of_budget[1:-1],
        labels={"cause": "waits"},
        summary="The budget of the judge is spent, and reading pauses",
        description="{{ $value | printf `%.0f` }} interactions wait for tomorrow's money, and all "
        "that comes after them: gauges and alarms are that late.",
    )


def _limits_not_shared(plan: AlertPlan) -> Alert:
    """Where no Redis is configured for the limits nobody shows whether they are shared."""
    return plan.alert(
        "RagMonitorDown",
        "ticket",
        JUDGE,
        expr=f"count without ({', '.join(plan.alerts.replicas)}) (rag_monitor_limits_shared == 0)",
        labels={"cause": "limits_not_shared"},
        summary="The Redis of the limits of {{ $labels.model }} does not answer",
        description="{{ $value | printf `%.0f` }} scorers do not reach limits.redis, and each "
        "keeps to its part of the limits of {{ $labels.model }}: none is exceeded, and the "
        "rest of a replica with less traffic is not used.",
    )


def _unscorable(plan: AlertPlan) -> Alert:
    """Of one application: among all, a small one would not weigh enough."""
    of_it = plan.summed(f'{RECENT_PICKS}{{outcome="unscorable"}}', "application")
    of_all = plan.summed(RECENT_PICKS, "application")
    reason = asked(
        f'topk(1, {RECENT_PICKS}{{outcome="unscorable",SELECTOR}})',
        (*plan.alerts.by, "application"),
        "{{ . | label `reason` }}",
        "see the log",
    )
    return plan.alert(
        "RagMonitorUnscorable",
        "ticket",
        HEALTH,  # the judge is fine: why there is no value stands there
        expr=f"({of_it} / {of_all} > {plan.alerts.unscorable_ratio:g})\n"
        f"and ({of_all} >= {plan.alerts.least})",
        summary="Most interactions of {{ $labels.application }} give nothing to score",
        description=f"{_PERCENT} of the picked interactions of {{{{ $labels.application }}}} are "
        f"unscorable (more than {plan.alerts.unscorable_ratio:.0%}), most often: {reason}.",
    )
