"""*Drift and incidents*: is it worse than normal, since when, where, and whose fault is it?"""

from __future__ import annotations

from grafana.changes import what_changed
from grafana.drift_tiles import ONE, tiles
from grafana.drift_worst import bad, share
from grafana.frame import Band, Section, alarms, dashboard, judge_changes
from grafana.kinds import bars, lines, states
from grafana.metrics import EVERY_PICK, directed
from grafana.parts import DOUBT, GOOD, WORSE, Json, Query, Texts, fixed, named, worded, zero_is_good
from grafana.pauses import band, pauses
from grafana.promql import WHO, WINDOW, once, or_unknown, or_zero


def drift() -> Json:
    """The dashboard."""
    return dashboard(
        "rag-drift",
        "RAG / Drift and incidents",
        "Is the quality worse than normal, since when, where, and is it the system, the judge or "
        "the traffic?",
        [
            Section("", [Band(5, tiles()), band(), Band(5, [(24, what_changed())])]),
            Section("Evidence", [Band(9, [(24, _evidence())]), Band(5, [(24, _alarms())])]),
            Section(
                "System, judge or traffic?",
                [Band(9, [(8, _system()), (8, _judge()), (8, _traffic())])],
            ),
            Section(
                "Worst interactions",
                [Band(8, [(12, share()), (12, bad())])],
            ),
        ],
        annotations=[alarms(), judge_changes(), pauses()],
        asks_for_audit=True,
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
    return states(texts, query, mappings=words, steps=ONE)


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
        "of the recheck. When either goes up with the alarm, suspect the judge.",
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
    one = f"{once('rag_segment_score_samples', EVERY_PICK[0].matcher, WINDOW, WHO)}"
    by_segment = f"sum by (segment) ({one})"
    texts = Texts(
        "Traffic: the mix of segments",
        "Share of each segment in the judged interactions of the chosen window "
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
