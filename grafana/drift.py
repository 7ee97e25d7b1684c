"""*Drift and incidents*: is it worse than normal, since when, where, and whose fault is it?"""

from __future__ import annotations

from typing import Final

from grafana.changes import AUDIT, linked, what_changed
from grafana.frame import Band, Section, alarms, dashboard, judge_changes
from grafana.metrics import NAMES, SHOWN, directed
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
    arranged,
    bars,
    fixed,
    lines,
    named,
    same,
    states,
    table,
    tile,
    worded,
    zero_is_good,
)
from grafana.promql import (
    APPLICATION,
    WHO,
    increase,
    nearness,
    once,
    or_unknown,
    or_zero,
    rate,
)

WINDOW: Final = 'window="$window"'


def drift() -> Json:
    """The dashboard."""
    return dashboard(
        "rag-drift",
        "RAG / Drift and incidents",
        "Is the quality worse than normal, since when, where, and is it the system, the judge or "
        "the traffic?",
        [
            Section("", [Band(5, _tiles()), Band(5, [(24, what_changed())])]),
            Section("Evidence", [Band(9, [(24, _evidence())]), Band(5, [(24, _alarms())])]),
            Section(
                "System, judge or traffic?",
                [Band(9, [(8, _system()), (8, _judge()), (8, _traffic())])],
            ),
            Section(
                "Worst interactions",
                [Band(8, [(12, _tail()), (12, _bad())])],
            ),
        ],
        annotations=[alarms(), judge_changes()],
        asks_for_audit=True,
    )


def _tiles() -> list[tuple[int, Json]]:
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
        (3, tile(_OPEN, Query(f"sum({once('rag_drift_alarm', WHO)})", "open"), steps=_ONE)),
        (3, tile(_NEAREST, nearest, named_value=True, steps=TO_ALARM, absent="None yet", min=0)),
        (3, tile(_SINCE, worse_for, trend=False, words=no_alarm, steps=NEUTRAL)),
        (3, tile(_BREACHED, Query(breached), steps=_ONE)),
        (3, tile(_FAILED, Query(failed), steps=zero_is_good(0.01, 0.05))),
        (3, tile(_JUDGED, judged, trend=False, steps=((None, DOUBT), (1e-9, GOOD)))),
        (3, tile(_LEARNING, Query(or_zero(f"sum({pairs})")), trend=False, steps=_DOUBTS)),
        (3, tile(_WITHOUT, Query(or_zero(f"sum({missing})")), trend=False, steps=_DOUBTS)),
    ]


_ONE: Final = zero_is_good(worse=1)
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


def _evidence() -> Json:
    who = "{{metric}} · {{application}}"
    texts = Texts(
        "Evidence against threshold",
        "`rag_drift_evidence` (log10 of the evidence that a metric is worse than its baseline) and "
        "`rag_drift_threshold` (dashed red): where a line reaches it, the alarm opens. One step up "
        "is ten times the evidence; a line that rises steadily is a change, one that wanders below "
        "2 is chance.",
        decimals=1,
    )
    dashed = {"dash": [10, 10], "fill": "dash"}
    return lines(
        texts,
        Query(once("rag_drift_evidence", WHO), who),
        Query(f"min({once('rag_drift_threshold', WHO)})", "threshold"),
        overrides=[named("threshold", color=fixed(WORSE), custom__lineStyle=dashed)],
        custom={"axisSoftMin": 0},
    )


def _alarms() -> Json:
    texts = Texts(
        "Alarms",
        "`rag_drift_alarm`, one bar a metric and application: red while it is worse than normal. "
        "No bar: no baseline yet, or no exporter.",
    )
    words = worded({0.0: ("normal", GOOD), 1.0: ("worse", WORSE)})
    query = Query(once("rag_drift_alarm", WHO), "{{metric}} · {{application}}")
    return states(texts, query, mappings=words, steps=_ONE)


def _system() -> Json:
    within = "rag_drift_segment_within"
    worse_low = once(within, directed(higher_is_better=True), WHO)
    worse_high = once(within, directed(higher_is_better=False), WHO)
    texts = Texts(
        "System: what each segment adds",
        "`rag_drift_segment_within` of the open alarms, turned so that more is worse: how much of "
        "the change happened within each segment. One long bar is that segment's fault; all alike "
        "is the whole system's.",
        decimals=3,
    )
    expression = or_zero(f"sort_desc(-1 * {worse_low} or {worse_high})", "segment", "no alarm")
    query = Query(expression, "{{segment}} {{metric}}", instant=True)
    return bars(texts, query, min=0, steps=((None, GOOD), (0.001, DOUBT), (0.02, WORSE)))


def _judge() -> Json:
    texts = Texts(
        "Judge: does it fail, or disagree with itself?",
        "`rag_score_missing_ratio` over the chosen window, and 1 − `rag_monitor_judge_agreement` "
        "of the live self-check. When either goes up with the alarm, suspect the judge.",
        "percentunit",
    )
    failed = f"max by (application) ({once('rag_score_missing_ratio', WHO, WINDOW)})"
    doubts = or_unknown("1 - min by (kind) (rag_monitor_judge_agreement)", "kind", "unknown")
    return lines(
        texts,
        Query(failed, "failed · {{application}}"),
        Query(doubts, "disagrees · {{kind}}"),
        steps=zero_is_good(worse=0.05),
        limit=True,
        min=0,
    )


def _traffic() -> Json:
    one = f"{once('rag_segment_score_samples', SHOWN[0].matcher, WINDOW, WHO)}"
    by_segment = f"sum by (segment) ({one})"
    texts = Texts(
        "Traffic: the mix of segments",
        "Share of each segment in the scored interactions of the chosen window "
        "(`rag_segment_score_samples`). When the bands shift with the alarm, it may be the mix; an "
        "alarm holds every segment against its own baseline.",
        "percentunit",
    )
    query = Query(f"{by_segment} / on () group_left () (sum({one}) > 0)", "{{segment}}")
    return lines(
        texts,
        query,
        stacked=True,
        min=0,
        max=1,
        noValue="No segments: set export.segment",
        custom={"lineWidth": 1},
    )


def _tail() -> Json:
    texts = Texts(
        "Share of bad answers",
        "Share of the interactions with a faithfulness of at most 0.5, or a noise sensitivity "
        "above it (`rag_interaction_score_bucket`). Points are exemplars: single interactions at "
        "their score, with their id, and a link to their audit page where the data source is set "
        "up for it (grafana/README.md).",
        "percentunit",
    )
    every = rate("rag_interaction_score_count", _WHOSE, f'metric=~"{NAMES}"', APPLICATION)
    low, high = (
        rate("rag_interaction_score_bucket", _WHOSE, f'metric=~"{names}"', _HALF, APPLICATION)
        for names in (_LOW, _HIGH)
    )
    expression = f"({low} / {every} or 1 - {high} / {every}) >= 0"
    query = Query(expression, "{{metric}} · {{application}}", exemplars=True)
    return lines(texts, query, min=0, max=1, points=80)


def _bad() -> Json:
    bad_low = _counted("bucket", _LOW, _HALF)
    bad_high = f"{_counted('count', _HIGH)} - {_counted('bucket', _HIGH, _HALF)}"
    texts = Texts(
        "Bad answers in the time shown",
        "Interactions with a faithfulness of at most 0.5, or a noise sensitivity above it, and of "
        "how many (`rag_interaction_score_bucket`, `rag_interaction_score_count`). With the "
        "variable Audit pages set, each row has a link to the interactions themselves.",
        decimals=0,
    )
    return table(
        texts,
        Query(linked(f"({bad_low} or {bad_high})"), instant=True, table=True),
        Query(linked(f"({_counted('count', NAMES)})"), instant=True, table=True),
        transformations=[
            {"id": "merge", "options": {}},
            arranged(_BAD),
        ],
        steps=NEUTRAL,
        overrides=[
            named("metric", custom__width=230),
            named("bad", custom__width=80),
            named("of", custom__width=80),
            AUDIT,
        ],
        options={"sortBy": [{"displayName": "bad", "desc": True}]},
    )


_HALF: Final = 'le="0.5"'
_WHOSE: Final = "application, metric"
_LOW: Final = "|".join(metric.name for metric in SHOWN if metric.higher_is_better)
_HIGH: Final = "|".join(metric.name for metric in SHOWN if not metric.higher_is_better)
_BAD: Final = {
    **same("application", "metric"),
    "Value #A": "bad",
    "Value #B": "of",
    "audit": "Audit",
}


def _counted(ending: str, names: str, *matchers: str) -> str:
    name = f"rag_interaction_score_{ending}"
    return increase(name, f'metric=~"{names}"', *matchers, APPLICATION, by=_WHOSE)
