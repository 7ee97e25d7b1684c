"""The records of ``rag.alarms.v1``: what is worse than normal, since when, and why.

One JSON object a record, compacted by key: the latest of a metric, application and judge holds. It
begins with its answer, one sentence. Values are in the direction of the metric, times in UTC. Pure,
like ``records``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, AwareDatetime, Field, JsonValue

from monitor.records import AnyMinor, Frozen, Score
from monitor.records.durations import in_words
from monitor.records.keyed import Keyed, read_keyed

ALARM_SCHEMA: Final = "rag.alarm/1"
MOST_SEGMENTS: Final = 20
MOST_WORST: Final = 5
MOST_CLAIMS: Final = 5
MOST_PASSAGES: Final = 10
MOST_RELEASES: Final = 5
#: Characters of a claim, and of the name of a segment or passage.
CLAIM_CHARACTERS: Final = 300
NAME_CHARACTERS: Final = 200

#: In the sentence, a mix hides at most so many times what happened within the segments.
_MOST_HIDDEN: Final = 9.99
#: Which of two moments was first is not known where they are nearer than this.
_SAME_TIME_S: Final = 60.0
#: Means below it, or so near 1, are said with two digits that tell.
_SMALL: Final = 0.05

State = Literal["open", "closed"]
Cause = Literal["recovered", "not_watched", "new_baseline", "threshold_raised", "evidence_expired"]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
BetsEvidence = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Number = Annotated[float, Field(allow_inf_nan=False)]
_CLOSED: Final[dict[Cause, str]] = {
    "recovered": "recovered",
    "not_watched": "no longer watched",
    "new_baseline": "held against another baseline",
    "threshold_raised": "no longer evidence enough for a threshold that rose",
    "evidence_expired": "it may go on: its evidence had become too old",
}


def _is_in_utc(moment: datetime) -> datetime:
    """The same; a moment that lies outside the calendar in UTC could never be told."""
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("lies outside the years 1 to 9999 in UTC") from None
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_is_in_utc)]


class MeanChange(Frozen):
    """The mean of the slots before the change and of those since, with its 95 % interval.

    ``before`` is the baseline's mean where too little was scored before; ``mix`` is then null, as
    it is where nothing has a segment.
    ``mix`` + ``within`` is the change that the segments add up to; ``explained_by_mix`` is the
    part of the worsening that a shift of traffic between segments explains (negative: hides).
    """

    before: Score
    value: Score | None
    lower: Score | None
    upper: Score | None
    n: Number
    mix: Number | None
    within: Number
    explained_by_mix: Annotated[float, Field(allow_inf_nan=False, le=1.0)] | None


class SettledMean(Frozen):
    """The mean over later slots only, with its 95 % interval and their number."""

    value: Score
    lower: Score
    upper: Score
    n: Number


class SegmentChange(Frozen):
    """One segment: its share of the traffic, its mean, and what it adds to ``within``."""

    segment: str
    share_before: Share | None
    share: Share
    before: Score
    value: Score | None
    lower: Score | None
    upper: Score | None
    n: Number
    within: Number


class OutstandingSegment(Frozen):
    """A segment that has surely become worse than the others; its means, and theirs."""

    segment: str
    before: Score
    value: Score
    others_before: Score
    others_value: Score


class JudgeFailures(Frozen):
    """Shares of the picks whose judgement failed; ``more``: Fisher's exact test at 5 %."""

    before: Share | None
    rate: Share
    picks: int
    verdict: Literal["normal", "more", "unknown"]


class PassageOfClaim(Frozen):
    """A passage that supports a claim: its number in the interaction, from 1, and its id."""

    number: int
    id: str | None
    relevant: bool | None


class OffendingClaim(Frozen):
    """A claim that counts against the response; its text is null where the record had none."""

    number: int
    text: str | None
    passages: tuple[PassageOfClaim, ...] = ()


class WorstInteraction(Frozen):
    """One of the worst since the change; ``claims_left_out`` counts those beyond the limit."""

    interaction_id: str
    event_time: Moment
    segment: str
    value: Score
    claims: tuple[OffendingClaim, ...] = ()
    claims_left_out: int = 0


#: As ``monitor.stats.releases`` has them.
ReleaseChange = Literal["began", "completed", "rolled_back"]


class ReleaseNearby(Frozen):
    """A change of version not long before the change of the scores began.

    Where it ``began``, ``at`` is the minute in which ``value`` was seen first; else the end of the
    last minute of ``before``: all is ``value`` now, or ``value`` again.
    """

    attribute: str
    before: str
    value: str
    at: Moment
    change: ReleaseChange = Field("began", exclude_if=lambda change: change == "began")

    @property
    def words(self) -> str:
        """As a phrase.

        >>> at = datetime(2026, 11, 24, tzinfo=UTC)
        >>> one = ReleaseNearby(attribute="deployment", before="v12", value="v13", at=at)
        >>> one.words, one.model_copy(update={"change": "completed"}).words
        ('deployment v12 → v13', 'deployment v12 gone (v13 now)')
        >>> one.model_copy(update={"change": "rolled_back"}).words
        'deployment v12 rolled back (v13 again)'
        """
        before, value = f"{self.attribute} {self.before}", self.value
        match self.change:
            case "completed":
                return f"{before} gone ({value} now)"
            case "rolled_back":
                return f"{before} rolled back ({value} again)"
            case _:
                return f"{before} → {value}"


class CarriedEvidence(Frozen):
    """What evidence that counts from the start ``at`` of a period begins with: R for each bet.

    As it stood there; so an alarm that is open at the end of a period goes on in the next one.
    """

    at: Moment
    bets: Annotated[tuple[BetsEvidence, ...], Field(min_length=5, max_length=5)]
    is_open: bool


class AlarmRecord(Keyed):
    """What is known of one alarm, written when it opens and once more when it closes.

    ``since`` is the estimated start of the change, ``opened_at`` and ``closed_at`` when it was
    seen. ``evidence`` and ``threshold`` are log10; ``evidence_until`` is the event time of the
    last slot in them. ``baseline`` is what the detector held the scores against. ``segments`` go by
    what they contribute; ``stands_out`` is the one that differs from the others, if one does.

    An alarm comes where it looks worst, so ``change.value`` is drawn towards the baseline. Once as
    many slots again have been judged, the record is written again with ``settled``. One that
    recovers says in ``recovered`` where the mean is, from the slots since the recovery began.
    ``releases`` are those within an hour before ``since``, the latest first. While it is open it is
    written again as each period begins, with what evidence is ``carried`` over.
    ``incident_since`` is when the first of the alarms opened that are one incident with it.
    """

    schema_: Annotated[Literal["rag.alarm/1"], AnyMinor] = Field(ALARM_SCHEMA, alias="schema")
    answer: str = ""
    state: State
    metric: str
    application: str
    judge: str
    direction: Literal["worse"] = "worse"
    higher_is_better: bool
    since: Moment
    opened_at: Moment
    closed_at: Moment | None = None
    closed_because: Cause | None = None
    baseline: Score
    change: MeanChange
    evidence: Number | None
    threshold: Number
    evidence_until: Moment | None
    judge_failures: JudgeFailures
    segment_by: str | None = None
    segments: tuple[SegmentChange, ...] = Field((), max_length=MOST_SEGMENTS + 1)
    stands_out: OutstandingSegment | None = None
    settled: SettledMean | None = None
    recovered: SettledMean | None = None
    releases: tuple[ReleaseNearby, ...] = Field(
        (), max_length=MOST_RELEASES, exclude_if=lambda releases: not releases
    )
    worst: tuple[WorstInteraction, ...] = Field((), max_length=MOST_WORST)
    carried: tuple[CarriedEvidence, ...] = Field(
        (), max_length=2, exclude_if=lambda carried: not carried
    )
    incident_since: Moment | None = Field(None, exclude_if=lambda since: since is None)

    @property
    def key(self) -> str:
        """The Kafka key."""
        return alarm_key(self.metric, self.application, self.judge)


def alarm_key(metric: str, application: str, judge: str) -> str:
    """Key of the alarm of a metric, application and judge (``name@version``).

    >>> alarm_key("faithfulness", "support-bot", "offline@3f2a91")
    'faithfulness/support-bot/offline@3f2a91'
    """
    return f"{metric}/{application}/{judge}"


def read_alarm_record(key: bytes | None, value: bytes | None) -> AlarmRecord | None:
    """Parse one record; None for a tombstone: nothing is known under the key any more.

    Raises ``RecordSkipped`` with cause ``malformed`` for what cannot be read, or does not belong
    to its key.
    """
    name = (key or b"").decode("utf-8", "replace")
    return None if value is None else read_keyed(AlarmRecord, "alarm", name, value)


def answered(record: AlarmRecord) -> AlarmRecord:
    """The record with its sentence at its beginning."""
    return record.model_copy(update={"answer": sentence(record)})


def sentence(record: AlarmRecord) -> str:
    """What changed, in one line; for a closed alarm, that it is over and what it was."""
    found = _change(record)
    if record.state == "open":
        return found
    closed = record.closed_at or record.opened_at
    how = f"{_CLOSED[record.closed_because or 'not_watched']} at {_time(closed, closed)}"
    if (now := record.recovered) is not None:
        value, lower, upper = _figures((now.value,), now.lower, now.upper)
        how += f", back at {value} ({lower}–{upper}, n = {now.n:.0f})"
    return f"{how}: {found}"


def _change(record: AlarmRecord) -> str:
    lead_s = (record.opened_at - record.since).total_seconds()
    ahead = f", {in_words(lead_s)} before the alarm" if lead_s > 0 else ""
    after = "".join(f", {said}" for said in released(record))
    parts = [f"{_moved(record)} since {_time(record.since, record.opened_at)}{ahead}{after}"]
    parts.append(_failures(record.judge_failures))
    if record.change.explained_by_mix is not None:
        # Where next to nothing happened within the segments, the share is of no size any more.
        share = round(100 * max(-_MOST_HIDDEN, record.change.explained_by_mix))
        parts.append(f"traffic mix {'hides' if share < 0 else 'explains'} {abs(share)} %")
    if record.segment_by and len(record.segments) > 1 and any(s.segment for s in record.segments):
        parts.append(_blamed(record.segment_by, record.stands_out))
    return "; ".join(parts)


def released(record: AlarmRecord) -> list[str]:
    """How long after which release the change began; one phrase for those of the same minute."""
    phrases: dict[str, list[str]] = {}
    for one in record.releases:
        phrases.setdefault(_after(record.since, one.at), []).append(one.words)
    return [f"{after} {' and '.join(names)}" for after, names in phrases.items()]


def _after(since: datetime, at: datetime) -> str:
    """The start of a change is estimated, and a release is known to the minute."""
    seconds = (since - at).total_seconds()
    return f"{in_words(seconds)} after" if seconds >= _SAME_TIME_S else "at about the time of"


def _blamed(attribute: str, found: OutstandingSegment | None) -> str:
    """Whoever contributes most is the largest where all are alike: it is not to blame."""
    if found is None:
        return f"all segments of {attribute} alike"
    before, value, *others = _figures(
        (found.before, found.value, found.others_before, found.others_value)
    )
    own = f"{named_segment(attribute, found.segment)} {before} → {value}"
    return f"{own}, the others {others[0]} → {others[1]}"


def named_segment(segment_by: str, segment: str) -> str:
    """A segment with the attribute that it is a value of; of several it names them itself.

    >>> named_segment("tenant", "acme"), named_segment("tenant, model", "tenant=acme, model=a")
    ('tenant=acme', 'tenant=acme, model=a')
    """
    if not segment:
        return f"{segment_by}=(absent)"
    return segment if "," in segment_by else f"{segment_by}={segment}"


def _moved(record: AlarmRecord) -> str:
    change, who = record.change, f"{record.metric} of {record.application}"
    if change.value is None or change.lower is None or change.upper is None:
        return f"{who} is worse than {_figures((change.before,))[0]} (nothing scored)"
    latest = change.value if record.settled is None else record.settled.value
    worse = latest < change.before if record.higher_is_better else latest > change.before
    verb = ("fell" if record.higher_is_better else "rose") if worse else _hidden(record)
    now = record.settled or change
    before, value, lower, upper = _figures((change.before, now.value), now.lower, now.upper)
    about, since = ("", " since the alarm") if record.settled else ("about ", "")
    return f"{who} {verb} {before} → {about}{value} ({lower}–{upper}, n = {now.n:.0f}{since})"


def _hidden(record: AlarmRecord) -> str:
    """What is said when the mean itself has not become worse."""
    several = len(record.segments) > 1
    return "worsened within segments," if several else "is worse than its baseline,"


def _failures(failures: JudgeFailures) -> str:
    rate = f"judge failures {100 * failures.rate:.1f} %"
    if failures.verdict == "more" and failures.before is not None:
        return f"{rate} (more, {100 * failures.before:.1f} % before)"
    return f"{rate} (normal)" if failures.verdict == "normal" else f"{rate} (nothing before)"


def _time(moment: datetime, today: datetime) -> str:
    found, day = moment.astimezone(UTC), today.astimezone(UTC).date()
    return found.strftime("%H:%M UTC" if found.date() == day else "%Y-%m-%d %H:%M UTC")


def log_fields(record: AlarmRecord) -> dict[str, JsonValue]:
    """The fields of the log event after its answer: numbers, names and ids, but no texts."""
    change = record.change
    return {
        "answer": record.answer,
        "state": record.state,
        "key": record.key,
        "mix_shift": change.mix,
        "within_segment_shift": change.within,
        "segments": [
            f"{one.segment or '(absent)'}: {before} → {value} ({lower}–{upper}, n = {one.n:.0f})"
            for one in record.segments
            for before, value, lower, upper in [
                _figures((one.before, one.value), one.lower, one.upper)
            ]
        ],
        "since": record.since.isoformat(),
        "worst": [_worst(one) for one in record.worst],
    }


def _figures(means: Sequence[float | None], *bounds: float | None) -> list[str]:
    """Means and the bounds of intervals, all with as many decimals: two, if that tells enough.

    A mean near 0 has two digits that tell, and so has what is missing of one near 1; two means that
    differ are not the same.

    >>> _figures((0.08, 0.172)), _figures((0.004, 0.03), 0.02), _figures((0.9961, 0.91))
    (['0.08', '0.17'], ['0.0040', '0.0300', '0.0200'], ['0.9961', '0.9100'])
    >>> _figures((0.0, 1.0)), _figures((0.302, 0.304)), _figures((None, 0.5), None)
    (['0.00', '1.00'], ['0.302', '0.304'], ['–', '0.50', '–'])
    """
    known = [mean for mean in means if mean is not None]
    # Their errors in floating point are no digits: 1 - 0.97 is a little more than 0.03.
    ends = [round(min(mean, 1.0 - mean), 12) for mean in known]
    places = 2 + max((_places_more(end) for end in ends), default=0)
    if len(known) > 1 and known[0] != known[1]:
        places += f"{known[0]:.{places}f}" == f"{known[1]:.{places}f}"
    return ["–" if one is None else f"{one:.{places}f}" for one in (*means, *bounds)]


def _places_more(end: float) -> int:
    """Decimals beyond two with which a number near 0 has two digits that tell."""
    return -1 - math.floor(math.log10(end)) if 0.0 < end < _SMALL else 0


def _worst(one: WorstInteraction) -> JsonValue:
    return {
        "interaction_id": one.interaction_id,
        "value": one.value,
        "claims": [
            {"number": claim.number, "passages": [p.id or p.number for p in claim.passages]}
            for claim in one.claims
        ],
    }
