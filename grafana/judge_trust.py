"""Charts of *Judge and budget*: failures, and whether the judge can be trusted."""

from __future__ import annotations

from typing import Final

from grafana.judge_tiles import CALLS, FAILED
from grafana.kinds import lines, table
from grafana.parts import (
    A_MINUTE,
    A_SECOND,
    GOOD,
    NEUTRAL,
    WORSE,
    Json,
    Query,
    Texts,
    arranged,
    fixed,
    matching,
    same,
)
from grafana.promql import or_unknown, or_zero, per_minute, rate


def failures() -> Json:
    """Judgements that were lost."""
    texts = Texts(
        "Judgements lost, by reason",
        "Interactions a minute that ended as judge_failed or over_budget "
        "(`rag_monitor_interactions_total`). The reasons: docs/outcomes.md.",
        A_MINUTE,
    )
    chosen = 'outcome=~"judge_failed|over_budget"'
    lost = per_minute("rag_monitor_interactions_total", "outcome, reason", chosen)
    query = Query(or_zero(lost, "reason"), "{{outcome}} {{reason}}")
    return lines(texts, query, stacked=True, min=0)


def errors() -> Json:
    """Calls that failed."""
    texts = Texts(
        "Calls failed, by error",
        "`rag_monitor_judge_calls_total` and `rag_monitor_judge_recheck_calls_total` whose result "
        "is not ok, a minute. The name of the error says whose fault it is.",
        A_MINUTE,
    )
    own = or_zero(per_minute(CALLS, "result", FAILED), "result")
    again = or_zero(per_minute("rag_monitor_judge_recheck_calls_total", "result", FAILED), "result")
    queries = Query(own, "{{result}}"), Query(again, "recheck {{result}}")
    return lines(texts, *queries, min=0)


def retries() -> Json:
    """Calls made again."""
    texts = Texts(
        "Retries, by reason",
        "Calls made again (`rag_monitor_judge_retries_total`), a minute. Each costs like a call.",
        A_MINUTE,
    )
    again = or_zero(per_minute("rag_monitor_judge_retries_total", "reason"), "reason")
    return lines(texts, Query(again, "{{reason}}"), stacked=True, min=0)


def agreement() -> Json:
    """Agreement with itself, with its interval."""
    texts = Texts(
        "Agreement with itself",
        "Share of equal verdicts in the latest rechecks (`rag_monitor_judge_agreement`) "
        "with its 95 % interval (`_lower`, `_upper`; thin), by what claims were checked against. "
        "`_interactions` says how many it was.",
        "percentunit",
    )
    return _bounded(texts, "rag_monitor_judge_agreement", "not asked twice", 0.9, 0.8)


def canaries() -> Json:
    """Right verdicts on canaries, with their interval."""
    texts = Texts(
        "Right on canaries",
        "Share of right verdicts on interactions with known answers "
        "(`rag_monitor_judge_canary_accuracy`) with its 95 % interval (`_lower`, `_upper`; thin), "
        "by what claims were checked against. A judge that guesses is at 50 %, and "
        "`rag_monitor_judge_not_judging` is then 1.",
        "percentunit",
    )
    return _bounded(texts, "rag_monitor_judge_canary_accuracy", "no canary yet", 0.9, 0.4)


def yes_shares() -> Json:
    """How verdicts on the traffic are spread."""
    texts = Texts(
        "Share of y",
        "Share of y among the latest 1,000 verdicts on traffic (`rag_monitor_judge_yes_ratio`), by "
        "what claims were checked against; together: of + among claims that might have one. The "
        "same for all, 0 or 1, is no judgement.",
        "percentunit",
    )
    query = or_unknown("avg by (kind) (rag_monitor_judge_yes_ratio)", "kind", "no verdict yet")
    return lines(texts, Query(query, "{{kind}}"), min=0, max=1, noValue="No verdicts yet")


def _bounded(texts: Texts, name: str, absent: str, good: float, low: float) -> Json:
    """A share by kind with its bounds; green from ``good`` on, shown from ``low`` on at least."""
    queries = [
        Query(or_unknown(f"min by (kind) ({name}{end})", "kind", absent), legend)
        for end, legend in (
            ("", "{{kind}}"),
            ("_lower", "{{kind}} low"),
            ("_upper", "{{kind}} high"),
        )
    ]
    thin = matching(
        "/ (low|high)$/",
        custom__lineWidth=1,
        custom__lineStyle=_DOTS,
        custom__hideFrom={"legend": True, "tooltip": False, "viz": False},
    )
    return lines(
        texts,
        *queries,
        overrides=[thin],
        steps=((None, WORSE), (good, GOOD)),
        max=1,
        custom={"axisSoftMin": low},
        noValue="None yet",
    )


_DOTS: Final = {"dash": [2, 4], "fill": "dash"}


def checks() -> Json:
    """The self-check."""
    texts = Texts(
        "Claims not found in their own text",
        "A minute: `rag_monitor_judge_self_check_misses_total`, "
        "`rag_monitor_judge_recheck_misses_total`. The judge does not recognise what it extracted "
        "itself: a sign of a confused model.",
        A_MINUTE,
    )
    own = per_minute("rag_monitor_judge_self_check_misses_total", "")
    again = per_minute("rag_monitor_judge_recheck_misses_total", "")
    return lines(texts, Query(own, "first judgement"), Query(again, "recheck"), min=0)


def cache() -> Json:
    """Lookups of the cache."""
    texts = Texts(
        "Cache",
        "Lookups a second by what and result (`rag_monitor_judge_cache_lookups_total`), and errors "
        "of the cache (`rag_monitor_judge_cache_errors_total`), which cost calls but no scores.",
        A_SECOND,
    )
    looked = or_zero(
        rate("rag_monitor_judge_cache_lookups_total", "what, result"), "result", "no lookups"
    )
    errors = or_zero(rate("rag_monitor_judge_cache_errors_total", "reason"), "reason")
    return lines(
        texts,
        Query(looked, "{{what}} {{result}}"),
        Query(errors, "error {{reason}}"),
        overrides=[matching("/^error/", color=fixed(WORSE))],
        min=0,
    )


def judges() -> Json:
    """The judges that there are."""
    texts = Texts(
        "Judges of the scores within the horizon",
        "`rag_judge_info`: one row a judge, with its model, prompts and pipeline. Two rows: scores "
        "of both are shown, and never mixed. offline is a lexical check, and no model.",
    )
    query = "max by (judge, model, prompts, pipeline) (rag_judge_info)"
    return table(
        texts,
        Query(query, instant=True, table=True),
        transformations=[
            arranged(same("judge", "model", "prompts", "pipeline"), left_out=["Value"])
        ],
        steps=NEUTRAL,
    )
