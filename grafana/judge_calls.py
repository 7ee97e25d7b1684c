"""Charts of *Judge and budget*: calls, money and limits."""

from __future__ import annotations

from typing import Final

from grafana.judge_tiles import CALLS, NONE, SECONDS
from grafana.kinds import lines
from grafana.parts import (
    A_SECOND,
    DOUBT,
    FAINT,
    GOOD,
    WORSE,
    Json,
    Query,
    Texts,
    fixed,
    matching,
    named,
    zero_is_good,
)
from grafana.promql import or_unknown, or_zero, quantile, rate


def calls() -> Json:
    """Calls by result."""
    texts = Texts(
        "Calls by result",
        "`rag_monitor_judge_calls_total` a second, by task and result; those of the recheck "
        "(`rag_monitor_judge_recheck_calls_total`) and those made again "
        "(`rag_monitor_judge_retries_total`) as lines. Whatever is not ok has its error as its "
        "name, which says whose fault it is.",
        A_SECOND,
    )
    by = "task, result"
    own = Query(or_zero(rate(CALLS, by), "result", "no calls"), "{{task}} {{result}}")
    again = or_zero(rate("rag_monitor_judge_recheck_calls_total", "result"), "result")
    retried = or_zero(rate("rag_monitor_judge_retries_total", "reason"), "reason")
    not_ok = matching(r"/^\w+ (?!ok$|hit$)\w+$/", color=fixed(DOUBT))
    line = matching("/^(recheck|again): /", custom__fillOpacity=0, custom__stacking=_BY_ITSELF)
    queries = own, Query(again, "recheck: {{result}}"), Query(retried, "again: {{reason}}")
    return lines(texts, *queries, stacked=True, min=0, overrides=[not_ok, line])


_BY_ITSELF: Final = {"group": "B", "mode": "none"}


def latency() -> Json:
    """Latency of a call."""
    texts = Texts(
        "Latency of a call",
        "`rag_monitor_judge_call_seconds`: median, 95th and 99th percentile. A gap between them "
        "that grows is a provider that queues.",
        "s",
    )
    return _percentiles(texts, SECONDS, worse=30, absent=NONE)


_PERCENTILES: Final = ((0.5, "median", GOOD), (0.95, "95 %", "light-blue"), (0.99, "99 %", FAINT))


def _percentiles(texts: Texts, histogram: str, worse: float, absent: str) -> Json:
    queries = [Query(or_unknown(quantile(q, histogram)), name) for q, name, _ in _PERCENTILES]
    colours = [named(name, color=fixed(colour)) for _, name, colour in _PERCENTILES]
    steps = zero_is_good(worse=worse)
    return lines(texts, *queries, overrides=colours, steps=steps, min=0, noValue=absent)


def _tokens() -> Json:
    texts = Texts(
        "Tokens",
        "`rag_monitor_judge_tokens_total` a second by kind, and `rag_monitor_judge_recheck_tokens_"
        "total` of the recheck, `rag_monitor_judge_canary_tokens_total` of canaries. Reasoning is "
        "not among completion.",
        A_SECOND,
    )
    own = or_zero(rate("rag_monitor_judge_tokens_total", "kind"), "kind", "no calls")
    again, known = (
        or_zero(rate(f"rag_monitor_judge_{part}_tokens_total", ""))
        for part in ("recheck", "canary")
    )
    queries = Query(own, "{{kind}}"), Query(again, "recheck"), Query(known, "canaries")
    return lines(texts, *queries, legend="last", min=0)


def _budget() -> Json:
    texts = Texts(
        "Budget of the day",
        "US dollars since midnight (`rag_monitor_budget_usd_spent`, all scorers together) and what "
        "a day may cost (`rag_monitor_budget_usd_per_day`, red). Where they meet, interactions end "
        "as over_budget. Only with a budget.",
        "currencyUSD",
    )
    spent = or_unknown("max(rag_monitor_budget_usd_spent)")
    most = or_unknown("max(rag_monitor_budget_usd_per_day)")
    red = named("a day", color=fixed(WORSE), custom__lineStyle={"dash": [10, 10], "fill": "dash"})
    queries = Query(spent, "spent"), Query(most, "a day")
    colours = [named("spent", color=fixed(GOOD)), red]
    return lines(texts, *queries, overrides=colours, min=0, noValue="No budget is set")


def _limits() -> Json:
    texts = Texts(
        "Limits used",
        "`rag_monitor_limit_used_ratio`: share of the requests and tokens a minute that a model's "
        "limits allow. At 100 % judging waits; that is what limits are for. In the minute after "
        "a scorer's first call it falls from there: another one may have asked before.",
        "percentunit",
    )
    used = "max by (model, limit) (rag_monitor_limit_used_ratio)"
    query = Query(or_unknown(used, "limit", "no limits"), "{{model}} {{limit}}")
    steps = zero_is_good(0.8, 1)
    none = "No limits are set"
    return lines(texts, query, steps=steps, limit=True, legend="last", min=0, noValue=none)


MONEY: Final = (_budget, _limits, _tokens)
