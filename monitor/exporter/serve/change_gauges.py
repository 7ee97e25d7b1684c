"""What changed, as gauges: what stands on the alarms' topic of the alarms that are open.

The sentence is the label of a series of its own, so that an alert can tell it and stays the same
alert. Every exporter reads it from the same record, and so all serve the same.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from monitor.records.alarm import AlarmRecord, SegmentChange

_LABELS: Final = ("metric", "application", "judge")
INFO: Final = "rag_drift_change_info"
SINCE: Final = "rag_drift_change_since_timestamp_seconds"
WITHIN: Final = "rag_drift_segment_within"
SHIFT: Final = "rag_drift_segment_shift"
SHIFT_LOWER: Final = "rag_drift_segment_shift_lower"
SHIFT_UPPER: Final = "rag_drift_segment_shift_upper"
SHARE: Final = "rag_drift_segment_share"
STANDS_OUT: Final = "rag_drift_segment_stands_out"
_OF_SEGMENT: Final = (*_LABELS, "segment")
CHANGE_FAMILIES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    INFO: ("1 while an alarm is open; what changed, in one sentence.", (*_LABELS, "answer")),
    SINCE: ("Estimated start of the change that an open alarm is about, epoch seconds.", _LABELS),
    WITHIN: (
        "Part of the change of an open alarm that a segment adds, without changes"
        " in the mix of traffic.",
        _OF_SEGMENT,
    ),
    SHIFT: ("Mean of a segment since the change of an open alarm, minus before.", _OF_SEGMENT),
    SHIFT_LOWER: ("Lower end of the 95 % interval of a segment's shift.", _OF_SEGMENT),
    SHIFT_UPPER: ("Upper end of the 95 % interval of a segment's shift.", _OF_SEGMENT),
    SHARE: ("Share of the traffic that a segment has since the change.", _OF_SEGMENT),
    STANDS_OUT: (
        "1 for a segment that has surely become worse than the others, else 0.",
        _OF_SEGMENT,
    ),
}
#: A sentence of ours is shorter; the topic may hold what another has written.
MOST_CHARACTERS: Final = 1_000

#: The latest record of each alarm, open or closed.
OpenAlarms = Callable[[], Mapping[str, AlarmRecord]]


def change_families(
    alarms: Mapping[str, AlarmRecord] | None = None, named: Container[str] = ()
) -> list[GaugeMetricFamily]:
    """The families; an alarm shows in them while it is open, and its application is ``named``."""
    families = {
        name: GaugeMetricFamily(name, meaning, labels=labels)
        for name, (meaning, labels) in CHANGE_FAMILIES.items()
    }
    for _, record in sorted((alarms or {}).items()):
        if record.state == "open" and record.application in named:
            _add(families, record)
    return list(families.values())


def _add(families: Mapping[str, GaugeMetricFamily], record: AlarmRecord) -> None:
    labels = [record.metric, record.application, record.judge]
    families[INFO].add_metric([*labels, record.answer[:MOST_CHARACTERS]], 1)
    families[SINCE].add_metric(labels, record.since.timestamp())
    outstanding = record.stands_out.segment if record.stands_out else None
    for one in {one.segment: one for one in record.segments}.values():
        values = _of_segment(one) | {STANDS_OUT: float(one.segment == outstanding)}
        for name, value in values.items():
            families[name].add_metric([*labels, one.segment], value)


def _of_segment(one: SegmentChange) -> dict[str, float]:
    """Without a shift where nothing has been scored since; before is taken as known."""
    bounds = {SHIFT: one.value, SHIFT_LOWER: one.lower, SHIFT_UPPER: one.upper}
    shifts = {name: now - one.before for name, now in bounds.items() if now is not None}
    return {WITHIN: one.within, SHARE: one.share, **shifts}
