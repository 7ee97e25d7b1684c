"""The first row of *Drift and incidents*."""

from __future__ import annotations

from typing import Final

from grafana.kinds import tile
from grafana.parts import (
    A_SECOND,
    DOUBT,
    GOOD,
    NEUTRAL,
    PLAIN,
    TO_ALARM,
    WORSE,
    Json,
    Query,
    Texts,
    zero_is_good,
)
from grafana.promql import WHO, WINDOW, nearness, once, or_unknown, or_zero, rate


def tiles() -> list[tuple[int, Json]]:
    """Widths and panels."""
    nearest = Query(or_unknown(f"max({nearness(WHO)})"), "of the threshold")
    since = f"time() - min({once('rag_drift_change_since_timestamp_seconds', WHO)})"
    breached = or_zero(f"sum({once('rag_objective_breached', WHO)})")
    failed = or_unknown(f"max({once('rag_score_missing_ratio', WHO, WINDOW)})")
    judged = Query(rate("rag_monitor_interactions_total", "", 'outcome="scored"'), "scored")
    pairs = once("rag_monitor_baseline_learning", WHO)
    missing = once("rag_monitor_baseline_missing", WHO)
    soon = f"0 * (sum({once('rag_drift_alarm', WHO)}) > 0) - 1"
    worse_for = Query(or_zero(f"{since} or {soon}"))
    no_alarm = {0.0: ("No alarm", PLAIN), -1.0: ("Just now", WORSE)}
    return [
        (3, tile(_OPEN, Query(f"sum({once('rag_drift_alarm', WHO)})", "open"), steps=ONE)),
        (3, tile(_NEAREST, nearest, named_value=True, steps=TO_ALARM, absent="None yet", min=0)),
        (3, tile(_SINCE, worse_for, trend=False, words=no_alarm, steps=NEUTRAL)),
        (3, tile(_BREACHED, Query(breached), steps=ONE)),
        (3, tile(_FAILED, Query(failed), steps=zero_is_good(0.01, 0.05))),
        (3, tile(_JUDGED, judged, trend=False, steps=((None, DOUBT), (1e-9, GOOD)))),
        (3, tile(_LEARNING, Query(or_zero(f"sum({pairs})")), trend=False, steps=_DOUBTS)),
        (3, tile(_WITHOUT, Query(or_zero(f"sum({missing})")), trend=False, steps=_DOUBTS)),
    ]


ONE: Final = zero_is_good(worse=1)
_DOUBTS: Final = zero_is_good(1)
_OPEN: Final = Texts(
    "Alarms open",
    "How many `rag_drift_alarm` are 1: metrics that are worse than their baselines, and not by "
    "chance.",
    "short",
    0,
)
_NEAREST: Final = Texts(
    "Evidence",
    "`rag_drift_evidence` / `rag_drift_threshold`, the highest of all: at 100 % an alarm opens.",
    "percentunit",
    0,
)
_SINCE: Final = Texts(
    "Worse for",
    "Time since the estimated start of the oldest change that is open "
    "(`rag_drift_change_since_timestamp_seconds`). Look for what was rolled out then.",
    "dtdurations",
    0,
)
_BREACHED: Final = Texts(
    "Objectives",
    "How many `rag_objective_breached` are 1: even the better end of the interval is worse than "
    "what was promised.",
    "short",
    0,
)
_FAILED: Final = Texts(
    "Failed",
    "The highest `rag_score_missing_ratio` over the chosen window. Above 5 %, look at the judge "
    "before you look at the application.",
    "percentunit",
    1,
)
_JUDGED: Final = Texts(
    "Scored",
    "Interactions scored a second (`rag_monitor_interactions_total`, outcome scored), of all "
    "applications: what evidence is made of.",
    A_SECOND,
    1,
)
_LEARNING: Final = Texts(
    "Learning",
    "Applications and judges whose baseline is still learned (`rag_monitor_baseline_learning`): no "
    "evidence and no alarm until then.",
    "short",
    0,
)
_WITHOUT: Final = Texts(
    "Unwatched",
    "Watched metrics without a baseline (`rag_monitor_baseline_missing`): no alarm can come of "
    "them.",
    "short",
    0,
)
