"""*Judge and budget*: does the judge answer, can it be trusted, and what does it cost?"""

from __future__ import annotations

from typing import Final

from grafana.frame import Band, Section, dashboard, judge_changes
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
    lines,
    matching,
    named,
    same,
    table,
    tile,
    zero_is_good,
)
from grafana.promql import or_unknown, or_zero, per_minute, quantile, rate

CALLS: Final = "rag_monitor_judge_calls_total"
SECONDS: Final = "rag_monitor_judge_call_seconds"
FAILED: Final = 'result!="ok"'


def judge() -> Json:
    """The dashboard."""
    return dashboard(
        "rag-judge",
        "RAG / Judge and budget",
        "Does the judge answer, can its verdicts be trusted, and what do they cost?",
        [
            Section("", [Band(5, _tiles())]),
            Section("Calls", [Band(8, [(8, _calls()), (8, _latency()), (8, _whole())])]),
            Section("Money and limits", [Band(8, [(6, panel()) for panel in _MONEY])]),
            Section("Failures", [Band(8, [(8, _failures()), (8, _errors()), (8, _retries())])]),
            Section("Trust", [Band(8, [(8, _agreement()), (8, _checks()), (8, _cache())])]),
            Section("Judges", [Band(5, [(24, _judges())])]),
        ],
        annotations=[judge_changes()],
    )


def _share(part: str, whole: str) -> str:
    """Absent, and not NaN, while there is nothing to share."""
    return f"({part}) / ({whole}) >= 0"


def _tiles() -> list[tuple[int, Json]]:
    failing = _share(rate(CALLS, "", FAILED), rate(CALLS, ""))
    failed = _share(
        rate("rag_monitor_interactions_total", "", 'outcome="judge_failed"'),
        rate("rag_monitor_interactions_total", "", 'outcome=~"scored|judge_failed"'),
    )
    looked = rate("rag_monitor_judge_cache_lookups_total", "", 'result!="miss"')
    hit = _share(looked, rate("rag_monitor_judge_cache_lookups_total", ""))
    agreement = or_unknown("min(rag_monitor_judge_agreement)")
    words = {number: (word, colour) for number, _, word, colour in STATES}
    shares = zero_is_good(0.01, 0.05)
    trusted = ((None, WORSE), (0.8, DOUBT), (0.9, GOOD))
    slow = Query(or_zero(quantile(0.95, SECONDS)))
    spend = Query(f"3600 * {_usd()}")
    return [
        (3, tile(_STATE, Query(_state()), trend=False, steps=NEUTRAL, words=words)),
        (3, tile(_RATE, Query(or_zero(rate(CALLS, ""))), trend=False)),
        (3, tile(_FAILING, Query(or_zero(failing)), trend=False, steps=shares)),
        (3, tile(_LOST, Query(or_zero(failed)), trend=False, steps=shares)),
        (3, tile(_SLOW, slow, trend=False, steps=zero_is_good(10, 30))),
        (3, tile(_SPEND, spend, trend=False, steps=NEUTRAL, color=fixed(GOOD))),
        (3, tile(_TRUST, Query(agreement), trend=False, steps=trusted, absent="Unknown")),
        (3, tile(_SAVED, Query(or_zero(hit)), trend=False, steps=NEUTRAL, color=fixed(GOOD))),
    ]


def _usd() -> str:
    own, again = (rate(f"rag_monitor_judge_{part}_total", "") for part in ("usd", "recheck_usd"))
    return f"({own} + {again})"


#: Number, state, word and colour; the highest of all models shows.
STATES: Final = (
    (0.0, "judging", "Judging", GOOD),
    (1.0, "waiting", "Waiting", DOUBT),
    (2.0, "circuit_open", "Paused", WORSE),
    (3.0, "stopped", "Stopped", WORSE),
)


def _state() -> str:
    name = "rag_monitor_judge_state"
    each = [f'{number:g} * ({name}{{state="{state}"}} == 1)' for number, state, _, _ in STATES]
    return or_zero(f"max({' or '.join(each)})")


_STATE: Final = Texts(
    "Judge",
    "The worst `rag_monitor_judge_state` of all models: waiting for limits or as its provider "
    "asks, paused because it does not answer (circuit_open), or stopped because it refuses. "
    "Judging with the offline judge.",
)
_RATE: Final = Texts(
    "Calls",
    "Calls to the judge model a second (`rag_monitor_judge_calls_total`). 0 with the offline "
    "judge, which needs none.",
    A_SECOND,
    1,
)
_FAILING: Final = Texts(
    "Failing",
    "Share of the calls whose result is not ok (`rag_monitor_judge_calls_total`). Many are asked "
    "again; what is lost for good stands beside it.",
    "percentunit",
    1,
)
_LOST: Final = Texts(
    "Lost",
    "Share of the judged interactions that ended as judge_failed "
    "(`rag_monitor_interactions_total`). Above 5 % the intervals of all scores are widened.",
    "percentunit",
    1,
)
_SLOW: Final = Texts(
    "Slow calls",
    "The 95th percentile of `rag_monitor_judge_call_seconds`: one call of twenty takes longer. 0 "
    "while there are no calls.",
    "s",
    1,
)
_SPEND: Final = Texts(
    "$ an hour",
    "US dollars an hour at the present pace (`rag_monitor_judge_usd_total` and "
    "`rag_monitor_judge_recheck_usd_total`). 0 for a model without a known price.",
    "currencyUSD",
    2,
)
_TRUST: Final = Texts(
    "Agreement",
    "The lowest `rag_monitor_judge_agreement` of all kinds: share of equal verdicts when the judge "
    "is asked again, one passage a call. Below 0.9 do not trust small differences.",
    "percentunit",
    1,
)
_SAVED: Final = Texts(
    "Cache hits",
    "Share of the lookups that needed no call (`rag_monitor_judge_cache_lookups_total`, hit or "
    "shared).",
    "percentunit",
    0,
)


def _calls() -> Json:
    texts = Texts(
        "Calls by result",
        "`rag_monitor_judge_calls_total` a second, by task and result. Whatever is not ok has its "
        "error as its name.",
        A_SECOND,
    )
    by = "task, result"
    query = Query(or_zero(rate(CALLS, by), "result", "no calls"), "{{task}} {{result}}")
    return lines(texts, query, stacked=True, min=0)


def _latency() -> Json:
    texts = Texts(
        "Latency of a call",
        "`rag_monitor_judge_call_seconds`: median, 95th and 99th percentile. A gap between them "
        "that grows is a provider that queues.",
        "s",
    )
    queries = [
        Query(or_zero(quantile(q, SECONDS)), name)
        for q, name in ((0.5, "median"), (0.95, "95 %"), (0.99, "99 %"))
    ]
    return lines(texts, *queries, overrides=_PERCENTILES, steps=zero_is_good(worse=30), min=0)


_PERCENTILES: Final = (
    named("median", color=fixed(GOOD)),
    named("95 %", color=fixed(DOUBT)),
    named("99 %", color=fixed(WORSE)),
)


def _whole() -> Json:
    texts = Texts(
        "Time to a judgement",
        "`rag_monitor_judgement_seconds`, from admission by the limits to the judgement, all calls "
        "of an interaction together: median, 95th and 99th percentile.",
        "s",
    )
    queries = [
        Query(or_zero(quantile(q, "rag_monitor_judgement_seconds")), name)
        for q, name in ((0.5, "median"), (0.95, "95 %"), (0.99, "99 %"))
    ]
    return lines(texts, *queries, overrides=_PERCENTILES, steps=zero_is_good(worse=60), min=0)


def _tokens() -> Json:
    texts = Texts(
        "Tokens",
        "`rag_monitor_judge_tokens_total` a second by kind, and `rag_monitor_judge_recheck_tokens_"
        "total` of the live self-check. Reasoning is not among completion.",
        "short",
    )
    own = or_zero(rate("rag_monitor_judge_tokens_total", "kind"), "kind", "no calls")
    again = or_zero(rate("rag_monitor_judge_recheck_tokens_total", ""))
    return lines(texts, Query(own, "{{kind}}"), Query(again, "self-check"), min=0)


def _money() -> Json:
    texts = Texts(
        "Money",
        "US dollars an hour: `rag_monitor_judge_usd_total` for the scores, "
        "`rag_monitor_judge_recheck_usd_total` for the live self-check.",
        "currencyUSD",
    )
    own, again = (rate(f"rag_monitor_judge_{part}_total", "") for part in ("usd", "recheck_usd"))
    queries = Query(f"3600 * {own}", "scores"), Query(f"3600 * {again}", "self-check")
    return lines(texts, *queries, stacked=True, min=0)


def _budget() -> Json:
    texts = Texts(
        "Budget of the day",
        "US dollars since midnight (`rag_monitor_budget_usd_spent`, all scorers together) and what "
        "a day may cost (`rag_monitor_budget_usd_per_day`, red). Where they meet, interactions end "
        "as over_budget. Only with a budget.",
        "currencyUSD",
    )
    spent = or_zero("max(rag_monitor_budget_usd_spent)")
    most = or_unknown("max(rag_monitor_budget_usd_per_day)")
    red = named("a day", color=fixed(WORSE), custom__lineStyle={"dash": [10, 10], "fill": "dash"})
    queries = Query(spent, "spent"), Query(most, "a day")
    return lines(texts, *queries, overrides=[named("spent", color=fixed(GOOD)), red], min=0)


def _limits() -> Json:
    texts = Texts(
        "Limits used",
        "`rag_monitor_limit_used_ratio`: share of the requests and tokens a minute that a model's "
        "limits allow. At 100 % judging waits; that is what limits are for.",
        "percentunit",
    )
    used = "max by (model, limit) (rag_monitor_limit_used_ratio)"
    query = Query(or_zero(used, "limit", "no limits"), "{{model}} {{limit}}")
    return lines(texts, query, steps=zero_is_good(0.8, 1), limit=True, min=0)


_MONEY: Final = (_tokens, _money, _budget, _limits)


def _failures() -> Json:
    texts = Texts(
        "Judgements lost, by reason",
        "Interactions a minute that ended as judge_failed or over_budget "
        "(`rag_monitor_interactions_total`). The reasons: README, Why was this interaction not "
        "scored?",
        A_MINUTE,
    )
    chosen = 'outcome=~"judge_failed|over_budget"'
    lost = per_minute("rag_monitor_interactions_total", "outcome, reason", chosen)
    query = Query(or_zero(lost, "reason"), "{{outcome}} {{reason}}")
    return lines(texts, query, stacked=True, min=0)


def _errors() -> Json:
    texts = Texts(
        "Calls failed, by error",
        "`rag_monitor_judge_calls_total` and `rag_monitor_judge_recheck_calls_total` whose result "
        "is not ok, a minute. The name of the error says whose fault it is.",
        A_MINUTE,
    )
    own = or_zero(per_minute(CALLS, "result", FAILED), "result")
    again = or_zero(per_minute("rag_monitor_judge_recheck_calls_total", "result", FAILED), "result")
    queries = Query(own, "{{result}}"), Query(again, "self-check {{result}}")
    return lines(texts, *queries, min=0)


def _retries() -> Json:
    texts = Texts(
        "Retries, by reason",
        "Calls made again (`rag_monitor_judge_retries_total`), a minute. Each costs like a call.",
        A_MINUTE,
    )
    again = or_zero(per_minute("rag_monitor_judge_retries_total", "reason"), "reason")
    return lines(texts, Query(again, "{{reason}}"), stacked=True, min=0)


def _agreement() -> Json:
    name = "rag_monitor_judge_agreement"
    texts = Texts(
        "Agreement with itself",
        "Share of equal verdicts in the latest second judgements (`rag_monitor_judge_agreement`) "
        "with its 95 % interval (`_lower`, `_upper`; thin), by what claims were checked against. "
        "`_interactions` says how many it was.",
        "percentunit",
    )
    queries = [
        Query(or_unknown(f"min by (kind) ({name}{end})", "kind", "not asked twice"), legend)
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
        steps=((None, WORSE), (0.9, GOOD)),
        max=1,
        custom={"axisSoftMin": 0.8},
        noValue="No second judgements yet",
    )


_DOTS: Final = {"dash": [2, 4], "fill": "dash"}


def _checks() -> Json:
    texts = Texts(
        "Claims not found in their own text",
        "A minute: `rag_monitor_judge_self_check_misses_total`, "
        "`rag_monitor_judge_recheck_misses_total`. The judge does not recognise what it extracted "
        "itself: a sign of a confused model.",
        A_MINUTE,
    )
    own = per_minute("rag_monitor_judge_self_check_misses_total", "")
    again = per_minute("rag_monitor_judge_recheck_misses_total", "")
    return lines(texts, Query(own, "first judgement"), Query(again, "second judgement"), min=0)


def _cache() -> Json:
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


def _judges() -> Json:
    texts = Texts(
        "Judges of the scores within the horizon",
        "`rag_judge_info`: one row a judge, with its model, prompts and pipeline. Two rows: scores "
        "of both are shown, and never mixed. offline is a lexical screen, and no model.",
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
