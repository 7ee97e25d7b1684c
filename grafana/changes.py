"""What changed, in a sentence, and the way from there to the interactions themselves."""

from __future__ import annotations

from typing import Final

from grafana.kinds import table
from grafana.parts import NEUTRAL, PLAIN, Json, Query, Texts, arranged, named, worded
from grafana.promql import WHO, once, or_zero

DETECTOR: Final = "metric, application, judge"
NOTHING: Final = "Nothing: no alarm is open."
SOON: Final = "An alarm is open; what changed is still to be told."


def what_changed() -> Json:
    """One sentence for every open alarm."""
    since = once("rag_drift_change_since_timestamp_seconds", WHO)
    told = f"max by ({DETECTOR}, answer) (rag_drift_change_info{{{WHO}}})"
    rows = f"1000 * max by ({DETECTOR}) ({since}) * on ({DETECTOR}) group_left (answer) {told}"
    alarm = f"0 * (sum({once('rag_drift_alarm', WHO)}) > 0)"
    soon = f'{rows} or on () label_replace({alarm}, "answer", "{SOON}", "", "")'
    texts = Texts(
        "What changed",
        "One sentence for every open alarm (label `answer` of `rag_drift_change_info`): from what "
        "to what, since when (`rag_drift_change_since_timestamp_seconds`), whether the judge fails "
        "more often, what the traffic mix explains, and the segment that differs from the others.",
    )
    return table(
        texts,
        Query(linked(or_zero(soon, "answer", NOTHING)), instant=True, table=True),
        transformations=[arranged(_CHANGED, left_out=("application", "metric", "judge"))],
        steps=NEUTRAL,
        options={"showHeader": False},
        overrides=[
            named("What changed", custom__cellOptions={"type": "auto", "wrapText": True}),
            named(
                "Since",
                unit="dateTimeAsIso",
                custom__width=180,
                mappings=worded({0.0: ("–", PLAIN)}),
            ),
            AUDIT,
        ],
    )


AUDIT: Final = named(
    "Audit",
    custom__width=90,
    links=[{"title": "Interactions", "url": "${__value.raw}", "targetBlank": True}],
    mappings=[{"type": "regex", "options": {"pattern": ".+", "result": {"text": "open"}}}],
)
_CHANGED: Final = {"answer": "What changed", "Value": "Since", "audit": "Audit"}


def linked(expression: str) -> str:
    """With a label ``audit``: the page of an application's interactions; none without a URL."""
    page = "${audit_url}/interactions?application=$1"
    everywhere = f'label_replace({expression}, "audit", "{page}", "application", "(.+)")'
    return f'label_replace({everywhere}, "audit", "", "audit", "/.*")'
