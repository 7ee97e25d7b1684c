"""Charts of *Judge and budget*: more judgements while there is evidence of drift."""

from __future__ import annotations

from typing import Final

from grafana.health_tiles import ENDED, PROCESS
from grafana.kinds import lines
from grafana.parts import A_SECOND, DOUBT, GOOD, PLAIN, Json, Query, Texts, fixed, lit, named
from grafana.promql import or_unknown, or_zero, rate

_JUDGED: Final = 'outcome=~"scored|judge_failed"'


def bursts() -> Json:
    """Of each scorer's judgements, the part that a burst may account for."""
    texts = Texts(
        "Judged, and by bursts",
        "Judgements a second (`rag_monitor_interactions_total`, scored or judge_failed), and how "
        "many of them bursts account for, at most: 1 − 1 / `rag_monitor_burst` of each scorer's. "
        "On the right, what is left of the day's allowance (drift.burst.per_day): "
        "`rag_monitor_burst_allowance_seconds` − `rag_monitor_burst_granted_seconds`; no line "
        "where bursts are switched off.",
        A_SECOND,
    )
    # As long a look back as that of the rate: else a scrape that is missed would read as no burst.
    times = "avg_over_time(rag_monitor_burst[$__rate_interval])"
    extra = f"sum({rate(ENDED, PROCESS, _JUDGED)} * on ({PROCESS}) (1 - 1 / {times}))"
    left = "max(rag_monitor_burst_allowance_seconds) - max(rag_monitor_burst_granted_seconds)"
    return lines(
        texts,
        Query(or_zero(rate(ENDED, "", _JUDGED)), "judged"),
        Query(or_zero(extra), "by bursts"),
        Query(or_unknown(f"clamp_min({left}, 0)"), "allowance left"),
        overrides=[
            named("judged", color=fixed(GOOD)),
            lit("by bursts", DOUBT),
            named("allowance left", color=fixed(PLAIN), unit="s"),
        ],
        min=0,
    )
