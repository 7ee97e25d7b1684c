"""An alarm as a page shows it: its time line, the shift of each segment, the worst answers. Pure.

All numbers are those of the record, in per cent and with their intervals.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlencode

from monitor.exporter.messages.headline import details, headline
from monitor.metrics.catalogue import CATALOGUE
from monitor.records.alarm import AlarmRecord, OffendingClaim, SegmentChange, named_segment
from monitor.records.durations import in_words


class AlarmMark(NamedTuple):
    """A moment of its life, and what was seen then."""

    what: str
    at: str
    ago: str


class SegmentShift(NamedTuple):
    """A row of the table of segments; ``differs`` marks the one that is unlike the others."""

    name: str
    share: str
    before: str
    now: str
    adds: str
    differs: bool


class WorstShown(NamedTuple):
    """One of the worst answers; claims are texts of the traffic."""

    interaction_id: str
    at: str
    segment: str
    value: str
    claims: tuple[str, ...]
    left_out: int


class AlarmExplained(NamedTuple):
    """What there is to be told of an alarm, from the sentence to single answers.

    ``ago`` is how long ago the change began; ``query`` finds the answers since then.
    """

    key: str
    application: str
    metric: str
    plain: str
    judge: str
    is_open: bool
    headline: str
    details: str
    sentence: str
    evidence: str
    marks: tuple[AlarmMark, ...]
    segment_by: str
    segments: tuple[SegmentShift, ...]
    worst: tuple[WorstShown, ...]
    ago: str
    query: str


def explained(record: AlarmRecord, now: datetime) -> AlarmExplained:
    """Of one record, at ``now``."""
    known = CATALOGUE.get(record.metric)
    return AlarmExplained(
        record.key,
        record.application,
        record.metric,
        record.metric if known is None else known.plain,
        record.judge,
        record.state == "open",
        headline(record),
        details(record),
        record.answer,
        _evidence(record),
        tuple(_marks(record, now)),
        record.segment_by or "",
        tuple(_shift(record, one) for one in record.segments),
        tuple(
            WorstShown(
                one.interaction_id,
                moment(one.event_time),
                one.segment,
                f"{100 * one.value:.0f} %",
                tuple(claim_in_words(claim) for claim in one.claims),
                one.claims_left_out,
            )
            for one in record.worst
        ),
        _ago(record.since, now),
        urlencode(
            {
                "application": record.application,
                "metric": record.metric,
                "order": "worst",
                "since": record.since.astimezone(UTC).isoformat(timespec="seconds"),
            }
        ),
    )


def moment(at: datetime) -> str:
    """In UTC and said so.

    >>> moment(datetime(2026, 11, 23, 12, 5, tzinfo=UTC))
    '2026-11-23 12:05:00 UTC'
    """
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _evidence(record: AlarmRecord) -> str:
    """As a share of what opens an alarm; both are log10 on the record."""
    if record.evidence is None or record.threshold <= 0.0:
        return ""
    return f"{100 * record.evidence / record.threshold:.0f} % of what opens an alarm"


def _marks(record: AlarmRecord, now: datetime) -> Iterator[AlarmMark]:
    found = [("the change began", record.since), ("the alarm opened", record.opened_at)]
    for one in record.releases:
        found.append((one.words, one.at))
    if record.evidence_until is not None and record.state == "open":
        found.append(("the latest answer that counts in it", record.evidence_until))
    if record.closed_at is not None:
        found.append(("the alarm ended", record.closed_at))
    for what, at in sorted(found, key=lambda each: each[1]):
        yield AlarmMark(what, moment(at), _ago(at, now))


def _ago(at: datetime, now: datetime) -> str:
    seconds = (now - at).total_seconds()
    return f"{in_words(seconds)} ago" if seconds > 0 else ""


def _shift(record: AlarmRecord, one: SegmentChange) -> SegmentShift:
    share = f"{100 * one.share:.0f} %"
    if one.share_before is not None:
        share = f"{100 * one.share_before:.0f} % → {share}"
    now = "nothing scored"
    if one.value is not None and one.lower is not None and one.upper is not None:
        now = f"{100 * one.value:.0f} % ({100 * one.lower:.0f}–{100 * one.upper:.0f} %)"
    outstanding = record.stands_out
    return SegmentShift(
        named_segment(record.segment_by or "", one.segment),
        share,
        f"{100 * one.before:.0f} %",
        f"{now}, n {one.n:.0f}",
        f"{100 * one.within:+.1f}",
        outstanding is not None and outstanding.segment == one.segment,
    )


def claim_in_words(claim: OffendingClaim) -> str:
    """A claim, and the passages that led to it.

    >>> from monitor.records.alarm import PassageOfClaim
    >>> claim_in_words(OffendingClaim(number=2, text="It costs 5 euros.", passages=(
    ...     PassageOfClaim(number=1, id="kb-17", relevant=False),)))
    'It costs 5 euros.  ← passage 1 (kb-17)'
    """
    text = "(its text is not on record)" if claim.text is None else claim.text
    places = ", ".join(
        f"passage {one.number}" + (f" ({one.id})" if one.id else "") for one in claim.passages
    )
    return f"{text}  ← {places}" if places else text
