"""What an open alarm says of segments: the shift of each, its interval, its share of traffic."""

from __future__ import annotations

from typing import Final

from grafana.kinds import DASH, bars, table
from grafana.metrics import PLAIN_CELLS, directed
from grafana.parts import (
    DOUBT,
    NEUTRAL,
    PLAIN,
    Json,
    Texts,
    arranged,
    instant,
    matching,
    named,
    rows,
    same,
    worded,
)
from grafana.promql import WHO, once, or_unknown, or_zero, plainly

_SHIFT: Final = "rag_drift_segment_shift"
_NO_ALARM: Final = "no alarm"


def shifts() -> Json:
    """How far each segment has moved, turned so that more is worse."""
    worse_low = once(_SHIFT, directed(higher_is_better=True), WHO)
    worse_high = once(_SHIFT, directed(higher_is_better=False), WHO)
    texts = Texts(
        "System: how far each segment moved",
        "`rag_drift_segment_shift` of the open alarms, now minus before, turned so that more is "
        "worse. All alike is the whole system. A long bar accuses nobody: its interval, its share "
        "of the traffic and whether it differs from the others stand beside it.",
        decimals=3,
    )
    found = plainly(f"topk(12, -1 * {worse_low} or {worse_high})")
    # Of several alarms each bar says whose it is; without one, only that there is none.
    named_by = f'label_join({found}, "bar", " · ", "segment", "application", "metric")'
    query = instant(or_zero(f"sort_desc({named_by})", "bar", _NO_ALARM), "{{bar}}")
    return bars(texts, query, min=0, steps=NEUTRAL)


_COLUMNS: Final = {
    "rag_drift_segment_shift": "shift",
    "rag_drift_segment_shift_lower": "low",
    "rag_drift_segment_shift_upper": "high",
    "rag_drift_segment_share": "of traffic",
    "rag_drift_segment_stands_out": "differs",
}


def segments() -> Json:
    """The figures behind the bars."""
    texts = Texts(
        "Segments of the open alarms",
        "Of each segment: now minus before (`rag_drift_segment_shift`) with its 95 % interval "
        "(`rag_drift_segment_shift_lower`, `rag_drift_segment_shift_upper`), its share of the "
        "traffic since the change (`rag_drift_segment_share`), and whether it has surely become "
        "worse than the others (`rag_drift_segment_stands_out`). What is largest adds most even "
        "where all are alike: only one that differs is to blame.",
        decimals=3,
    )
    headings = {f"Value #{chr(65 + i)}": heading for i, heading in enumerate(_COLUMNS.values())}
    words = worded({0.0: ("–", PLAIN), 1.0: ("yes", DOUBT)})
    return table(
        texts,
        *(rows(_row(name)) for name in _COLUMNS),
        transformations=[
            {"id": "merge", "options": {}},
            arranged(same("segment", "metric", "application") | headings, left_out=["judge"]),
        ],
        options={"sortBy": [{"displayName": "differs", "desc": True}]},
        steps=NEUTRAL,
        mappings=DASH,
        overrides=[
            named("metric", mappings=PLAIN_CELLS, custom__width=275),
            matching("/^(shift|low|high|of traffic|differs)$/", custom__width=78),
            named("of traffic", unit="percentunit", decimals=0),
            named("differs", mappings=[*words, *DASH]),
        ],
    )


def _row(name: str) -> str:
    found = f"max by (metric, application, judge, segment) ({name}{{{WHO}}})"
    return or_unknown(found, "segment", _NO_ALARM)
