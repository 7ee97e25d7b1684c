"""Charts of *Judge and budget*: more judgements while there is evidence of drift."""

from __future__ import annotations

from typing import Final

from grafana.health_tiles import ENDED, PROCESS
from grafana.kinds import lines
from grafana.parts import A_SECOND, DOUBT, GOOD, Json, Query, Texts, fixed, named
from grafana.promql import or_unknown, or_zero, rate

_JUDGED: Final = 'outcome=~"scored|judge_failed"'


def _times() -> Json:
    texts = Texts(
        "Bursts",
        "`rag_monitor_burst`: how many times as many judgements as usual the scorers take, at "
        "most, while an exporter sees evidence of drift. 1 without a burst; no line without a "
        "scorer.",
        "short",
    )
    query = Query("max(rag_monitor_burst)", "times as many, at most")
    colour = named("times as many, at most", color=fixed(DOUBT))
    return lines(
        texts, query, fill=10, overrides=[colour], min=0, custom={"lineInterpolation": "stepAfter"}
    )


def _allowance() -> Json:
    texts = Texts(
        "Allowance of the day",
        "Seconds of bursts that exporters have granted since midnight "
        "(`rag_monitor_burst_granted_seconds`) and what is left of "
        "`rag_monitor_burst_allowance_seconds` (drift.burst.per_day). Nothing left: drift is found "
        "as without bursts.",
        "s",
    )
    granted = "max(rag_monitor_burst_granted_seconds)"
    left = f"clamp_min(max(rag_monitor_burst_allowance_seconds) - {granted}, 0)"
    queries = Query(or_unknown(granted), "granted"), Query(or_unknown(left), "left")
    colours = [named("granted", color=fixed(DOUBT)), named("left", color=fixed(GOOD))]
    off = "Bursts are switched off"
    return lines(texts, *queries, stacked=True, overrides=colours, min=0, noValue=off)


def _extra() -> Json:
    """Of each scorer's judgements, the part that a burst may account for."""
    texts = Texts(
        "Judged, and by bursts",
        "Judgements a second (`rag_monitor_interactions_total`, scored or judge_failed), and how "
        "many of them bursts account for, at most: 1 − 1 / `rag_monitor_burst` of each scorer's.",
        A_SECOND,
    )
    # As long a look back as that of the rate: else a scrape that is missed would read as no burst.
    times = "avg_over_time(rag_monitor_burst[$__rate_interval])"
    extra = f"sum({rate(ENDED, PROCESS, _JUDGED)} * on ({PROCESS}) (1 - 1 / {times}))"
    queries = Query(or_zero(rate(ENDED, "", _JUDGED)), "judged"), Query(or_zero(extra), "by bursts")
    colours = [named("judged", color=fixed(GOOD)), named("by bursts", color=fixed(DOUBT))]
    return lines(texts, *queries, overrides=colours, min=0)


BURSTS: Final = (_times, _allowance, _extra)
