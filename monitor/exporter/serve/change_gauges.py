"""What changed, as gauges: what stands on the alarms' topic of the alarms that are open.

The sentences are labels of a series of their own, so that an alert can tell them and stays the same
alert. Every exporter reads them from the same record, and so all serve the same. For a moment after
an alarm has ended they say where it is now, or why it is none any more: that is what the message of
its end tells.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from datetime import UTC, datetime
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from monitor.exporter.messages.headline import details, headline
from monitor.exporter.messages.together import together
from monitor.records.alarm import AlarmRecord, SegmentChange

_LABELS: Final = ("metric", "application", "judge")
INFO: Final = "rag_drift_change_info"
TOGETHER: Final = "rag_drift_applications_together"
ENDED: Final = "rag_drift_ended_timestamp_seconds"
SINCE: Final = "rag_drift_change_since_timestamp_seconds"
WITHIN: Final = "rag_drift_segment_within"
SHIFT: Final = "rag_drift_segment_shift"
SHIFT_LOWER: Final = "rag_drift_segment_shift_lower"
SHIFT_UPPER: Final = "rag_drift_segment_shift_upper"
SHARE: Final = "rag_drift_segment_share"
STANDS_OUT: Final = "rag_drift_segment_stands_out"
_OF_SEGMENT: Final = (*_LABELS, "segment")
CHANGE_FAMILIES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    INFO: (
        "1 while an alarm is open, and five minutes longer; what changed, in one sentence, and the"
        " same as two short lines.",
        (*_LABELS, "answer", "headline", "details"),
    ),
    TOGETHER: (
        "Applications whose alarms opened within 15 minutes of another, this one's included, and"
        " when the first of them opened; five minutes longer than it is open.",
        (*_LABELS, "incident"),
    ),
    ENDED: ("When an alarm has ended, epoch seconds; for five minutes.", _LABELS),
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

#: For so long it is told where the mean is now, or why it is no alarm any more.
TOLD_S: Final = 300.0

#: The latest record of each alarm, open or closed.
OpenAlarms = Callable[[], Mapping[str, AlarmRecord]]


def change_families(
    alarms: Mapping[str, AlarmRecord] | None = None, named: Container[str] = (), now: float = 0.0
) -> list[GaugeMetricFamily]:
    """The families; an alarm shows in them while it is open, and its application is ``named``.

    ``now`` is in epoch seconds.
    """
    families = {
        name: GaugeMetricFamily(name, meaning, labels=labels)
        for name, (meaning, labels) in CHANGE_FAMILIES.items()
    }
    incidents = together((alarms or {}).values())
    for key, record in sorted((alarms or {}).items()):
        ended_at = _just_ended(record, now)
        if record.application not in named or (record.state == "closed" and ended_at is None):
            continue
        labels = [record.metric, record.application, record.judge]
        said = (record.answer, headline(record, datetime.fromtimestamp(now, UTC)), details(record))
        families[INFO].add_metric([*labels, *(text[:MOST_CHARACTERS] for text in said)], 1)
        applications, since = incidents[key]
        incident = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        families[TOGETHER].add_metric([*labels, incident], applications)
        if ended_at is None:
            _add(families, labels, record)
        else:
            families[ENDED].add_metric(labels, ended_at)
    return list(families.values())


def _just_ended(record: AlarmRecord, now: float) -> float | None:
    """When it has ended, if that is still told."""
    if record.state == "open" or record.closed_at is None:
        return None
    ended_at = record.closed_at.timestamp()
    return ended_at if 0 <= now - ended_at < TOLD_S else None


def _add(families: Mapping[str, GaugeMetricFamily], labels: list[str], record: AlarmRecord) -> None:
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
