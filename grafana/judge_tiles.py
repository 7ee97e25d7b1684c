"""The first row of *Judge and budget*."""

from __future__ import annotations

from typing import Final

from grafana.kinds import tile
from grafana.parts import (
    A_SECOND,
    DOUBT,
    GOOD,
    NEUTRAL,
    WORSE,
    Json,
    Query,
    Texts,
    fixed,
    zero_is_good,
)
from grafana.promql import or_unknown, or_zero, quantile, rate

CALLS: Final = "rag_monitor_judge_calls_total"
SECONDS: Final = "rag_monitor_judge_call_seconds"
FAILED: Final = 'result!="ok"'
#: A share of nothing, and how long nothing took, are no numbers.
NONE: Final = "No calls"


def _share(part: str, whole: str) -> str:
    """0 where the part has never happened; absent, and not NaN, while there is no whole."""
    return f"({part} or 0 * {whole}) / ({whole}) >= 0"


def tiles() -> list[tuple[int, Json]]:
    """Widths and panels."""
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
    slow = Query(or_unknown(quantile(0.95, SECONDS)))
    state = Query(_state())
    saved = Query(or_unknown(hit))
    spend = Query(f"3600 * {_usd()}")
    return [
        (3, tile(_STATE, state, trend=False, steps=NEUTRAL, words=words, absent="No scorer")),
        (3, tile(_RATE, Query(or_zero(rate(CALLS, ""))), trend=False)),
        (3, tile(_FAILING, Query(or_unknown(failing)), trend=False, steps=shares, absent=NONE)),
        (3, tile(_LOST, Query(or_unknown(failed)), trend=False, steps=shares, absent="No scores")),
        (3, tile(_SLOW, slow, trend=False, steps=zero_is_good(10, 30), absent=NONE)),
        (3, tile(_SPEND, spend, trend=False, steps=NEUTRAL, color=fixed(GOOD))),
        (3, tile(_TRUST, Query(agreement), trend=False, steps=trusted, absent="Unknown")),
        (3, tile(_SAVED, saved, trend=False, steps=NEUTRAL, color=fixed(GOOD), absent=NONE)),
    ]


def _usd() -> str:
    parts = (rate(f"rag_monitor_judge_{part}_total", "") for part in SPENT)
    return f"({' + '.join(parts)})"


#: What money goes to: the traffic, rechecks, canaries.
SPENT: Final = ("usd", "recheck_usd", "canary_usd")
#: Number, state, word and colour; the highest of all models shows.
STATES: Final = (
    (0.0, "judging", "Judging", GOOD),
    (1.0, "waiting", "Waiting", DOUBT),
    (2.0, "circuit_open", "No answer", WORSE),
    (3.0, "stopped", "Stopped", WORSE),
    (4.0, "guessing", "Guesses", WORSE),
)


def _state() -> str:
    """The offline judge shows no state; where nobody judges, there is none.

    Who guesses answers all the same: canaries say it.
    """
    name = "rag_monitor_judge_state"
    each = [f'{number:g} * ({name}{{state="{state}"}} == 1)' for number, state, _, _ in STATES[:-1]]
    each.append(f"{STATES[-1][0]:g} * (rag_monitor_judge_not_judging == 1)")
    offline = "0 * (count(rag_monitor_interactions_in_flight) > 0)"
    return or_unknown(f"max({' or '.join(each)}) or {offline}")


_STATE: Final = Texts(
    "Judge",
    "The worst `rag_monitor_judge_state` of all models: waiting for limits or as its provider "
    "asks, no answer from it (circuit_open: judging pauses), or stopped because it refuses. "
    "Guesses: it answers, but canaries say that it does not judge "
    "(`rag_monitor_judge_not_judging`). Judging with the offline judge; *No scorer* where "
    "none is seen (`rag_monitor_interactions_in_flight`).",
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
    "The 95th percentile of `rag_monitor_judge_call_seconds`: one call of twenty takes "
    "longer. None with the offline judge.",
    "s",
    1,
)
_SPEND: Final = Texts(
    "$ an hour",
    "US dollars an hour at the present pace (`rag_monitor_judge_usd_total`, "
    "`rag_monitor_judge_recheck_usd_total` and `rag_monitor_judge_canary_usd_total`). 0 for a "
    "model without a known price.",
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
