"""*Drift and incidents*: is it worse than normal, since when, where, and whose fault is it?"""

from __future__ import annotations

from grafana.changes import open_alarms, what_changed
from grafana.drift_segments import segments, shifts
from grafana.drift_tiles import ONE, open_, unwatched
from grafana.drift_worst import bad, share
from grafana.frame import (
    Band,
    Section,
    alarms,
    dashboard,
    judge_changes,
    pauses,
    releases,
    versions,
)
from grafana.kinds import lines, states
from grafana.metrics import EVERY_PICK
from grafana.parts import (
    GOOD,
    TO_ALARM,
    WORSE,
    Json,
    Query,
    Texts,
    named,
    worded,
    zero_is_good,
)
from grafana.promql import WHO, WINDOW, at_end, nearest_ten, nearness, once, or_unknown, plainly

_EVIDENCE = "Evidence, as a share of what opens an alarm"


def drift() -> Json:
    """The dashboard."""
    return dashboard(
        "rag-drift",
        "RAG / Drift and incidents",
        "Is the quality worse than normal, since when, where, and is it the system, the judge or "
        "the traffic?",
        [
            Section(
                "",
                [
                    Band(4, [(4, open_()), (20, what_changed())]),
                    Band(5, [(4, unwatched()), (20, open_alarms())]),
                    Band(9, [(24, _evidence())]),
                ],
            ),
            Section(
                "System, judge or traffic?",
                [
                    Band(8, [(7, shifts()), (17, segments())]),
                    Band(8, [(12, _judge()), (12, _traffic())]),
                ],
                collapsed=False,
            ),
            Section("Worst interactions", [Band(8, [(12, share()), (12, bad())])]),
            Section("Alarms over time", [Band(8, [(24, _alarms())])]),
        ],
        chosen=("application", "judge", "window", "audit_url"),
        annotations=[*alarms("", [_EVIDENCE]), judge_changes(), pauses(), releases(), versions()],
    )


def _ten(expression: str) -> str:
    """Those that came nearest to an alarm: 21 applications have 63 detectors."""
    found = f"{expression} and on (metric, application, judge) {nearest_ten(WHO)}"
    return plainly(found)


def _evidence() -> Json:
    texts = Texts(
        _EVIDENCE,
        "`rag_drift_evidence` / `rag_drift_threshold` of the ten metrics and applications that "
        "came nearest within the time shown: where a line reaches 100 % (dashed), an alarm opens. "
        "A line that rises steadily is a change; one that wanders far below is chance.",
        "percentunit",
        0,
    )
    query = Query(_ten(nearness(WHO)), "{{metric}} · {{application}}")
    # The line that counts has the colour of what it says; which one it is says the legend.
    more: Json = {"color": {"mode": "thresholds"}, "custom": {"axisSoftMax": 1.1}, "min": 0}
    return lines(texts, query, steps=TO_ALARM, limit=True, legend="last", **more)


def _alarms() -> Json:
    texts = Texts(
        "Alarms",
        "`rag_drift_alarm`, one bar a metric and application, of the ten that came nearest to an "
        "alarm within the time shown: red while it is worse than normal. No bar: no baseline yet, "
        "or no exporter.",
    )
    words = worded({0.0: ("normal", GOOD), 1.0: ("worse", WORSE)})
    query = Query(_ten(once("rag_drift_alarm", WHO)), "{{metric}} · {{application}}")
    return states(texts, query, mappings=words, steps=ONE)


def _judge() -> Json:
    texts = Texts(
        "Judge: does it fail, or disagree with itself?",
        "The highest `rag_score_missing_ratio` of all applications over the chosen window, and 1 − "
        "`rag_monitor_judge_agreement` of the recheck. When either goes up with the alarm, suspect "
        "the judge; above 5 % failed (dashed) the intervals are widened.",
        "percentunit",
    )
    failed = f"max({once('rag_score_missing_ratio', WHO, WINDOW)})"
    doubts = or_unknown("1 - min by (kind) (rag_monitor_judge_agreement)", "kind", "unknown")
    return lines(
        texts,
        Query(failed, "failed"),
        Query(doubts, "disagrees · {{kind}}"),
        overrides=[named("failed", color={"mode": "thresholds"})],
        steps=zero_is_good(worse=0.05),
        limit=True,
        min=0,
    )


def _traffic() -> Json:
    one = once("rag_segment_score_samples", EVERY_PICK[0].matcher, WINDOW, WHO)
    by_segment = f"sum by (segment) ({one})"
    texts = Texts(
        "Traffic: the mix of segments",
        "Share of each segment in the judged interactions of the chosen window "
        "(`rag_segment_score_samples`), of the ten largest, one on the other. When a band widens "
        "with the alarm, it may be the mix; an alarm holds every segment against its own baseline.",
        "percentunit",
        0,
    )
    largest = f"and on (segment) topk(10, {at_end(by_segment)})"
    query = Query(f"{by_segment} / on () group_left () (sum({one}) > 0) {largest}", "{{segment}}")
    none = "No segments: set export.segment"
    more: Json = {"min": 0, "max": 1, "noValue": none}
    return lines(texts, query, stacked=True, legend="last", **more)
