"""The first row of *Judge and budget*."""

from __future__ import annotations

from typing import Final

from grafana.kinds import tile
from grafana.parts import (
    DOUBT,
    GOOD,
    NEUTRAL,
    WORSE,
    Json,
    Texts,
    zero_is_good,
)
from grafana.promql import NOW, or_unknown, rate

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
    failing = _share(_now(CALLS, FAILED), _now(CALLS))
    failed = _share(
        _now("rag_monitor_interactions_total", 'outcome="judge_failed"'),
        _now("rag_monitor_interactions_total", 'outcome=~"scored|judge_failed"'),
    )
    agreement = or_unknown("min(rag_monitor_judge_agreement)")
    words = {number: (word, colour) for number, _, word, colour in STATES}
    shares = zero_is_good(0.01, 0.05)
    trusted = ((None, WORSE), (0.8, DOUBT), (0.9, GOOD))
    return [
        (5, tile(_STATE, _state(), steps=NEUTRAL, words=words, absent="No scorer")),
        (5, tile(_LOST, or_unknown(failed), steps=shares, absent="No scores")),
        (5, tile(_FAILING, or_unknown(failing), steps=shares, absent=NONE)),
        (5, tile(_SPEND, f"3600 * {_usd()}", steps=NEUTRAL)),
        (4, tile(_TRUST, agreement, steps=trusted, absent="Unknown")),
    ]


def _now(name: str, *matchers: str) -> str:
    return rate(name, "", *matchers, over=NOW)


def _usd() -> str:
    parts = (_now(f"rag_monitor_judge_{part}_total") for part in SPENT)
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
_FAILING: Final = Texts(
    "Calls that fail",
    "Share of the calls in the last 5 minutes whose result is not ok "
    "(`rag_monitor_judge_calls_total`). Many are asked again; what is lost for good stands beside "
    "it. No calls with the offline judge, which needs none.",
    "percentunit",
    1,
)
_LOST: Final = Texts(
    "Judgements lost",
    "Share of the interactions judged in the last 5 minutes that ended as judge_failed "
    "(`rag_monitor_interactions_total`). Above 5 % the intervals of all scores are widened.",
    "percentunit",
    1,
)
_SPEND: Final = Texts(
    "$ an hour",
    "US dollars an hour at the pace of the last 5 minutes (`rag_monitor_judge_usd_total`, "
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
