"""Charts of *Judge and budget*: failures, and whether the judge can be trusted."""

from __future__ import annotations

from typing import Final

from grafana.kinds import lines, table
from grafana.parts import (
    A_MINUTE,
    A_SECOND,
    DOUBT,
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
    red = matching("/^judge_failed/", color=fixed(WORSE))
    orange = matching("/^over_budget/", color=fixed(DOUBT))
    return lines(texts, query, stacked=True, overrides=[red, orange], min=0)


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


def _bounded(texts: Texts, name: str, absent: str, good: float, low: float) -> Json:
    """A share by kind with its bounds; blue from ``good`` on, shown from ``low`` on at least."""
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
        legend="last",  # with its value each line can be told from the others
        steps=((None, WORSE), (good, GOOD)),
        max=1,
        custom={"axisSoftMin": low},
        noValue="None yet",
    )


_DOTS: Final = {"dash": [2, 4], "fill": "dash"}


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
        overrides=[matching("/^error (?!none$)/", color=fixed(WORSE))],
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
