"""The worst answers by one metric, as they stand on score records. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from monitor.lookup.shown import shown_time
from monitor.metrics.catalogue import CATALOGUE
from monitor.metrics.claim_rows import named_passages, verdict_in_words
from monitor.metrics.offending_claims import OFFENDS, judged_claims, offending, reference_claims
from monitor.records import ScoreRecord
from monitor.stats.sums import as_worse

#: Kept beyond what is asked for, before it is cut.
_MORE = 1_000
#: Metrics that look at the claims of the reference, by what is wrong with one.
_MISSED = {"claim_recall": "not said", "context_recall": "in no passage"}
#: Characters of a text, for people.
MOST_SHOWN = 300


class WorstQuery(NamedTuple):
    """What is asked for; ``segment`` is a value, or ``attribute=value``."""

    metric: str
    since: datetime
    most: int
    application: str | None = None
    segment: str | None = None

    def takes(self, record: ScoreRecord) -> bool:
        """Whether a record is of the time and application."""
        return record.event_time >= self.since and self.application in (None, record.application)

    def is_in_segment(self, record: ScoreRecord) -> bool:
        """Whether it is of the segment, where one is asked for."""
        return self.segment is None or self._is_in_segment(record, self.segment)

    @staticmethod
    def _is_in_segment(record: ScoreRecord, segment: str) -> bool:
        name, equals, value = segment.partition("=")
        found = record.attributes.get(name) if equals else None
        return record.segment == segment or (found is not None and str(found) == value)


#: Names of attributes in one line.
_MOST_NAMES = 12


@dataclass
class WorstAnswers:
    """The ``most`` worst; of one interaction and judge the latest record counts.

    ``valued`` counts the records that have a value, ``imperfect`` those that could be better.
    """

    query: WorstQuery
    valued: int = 0
    imperfect: int = 0
    #: With a value, but in another segment than is asked for; and the attributes of those.
    elsewhere: int = 0
    attributes: set[str] = field(default_factory=set)
    _kept: dict[tuple[str, str, str], tuple[float, ScoreRecord]] = field(default_factory=dict)

    def add(self, record: ScoreRecord) -> None:
        """Take a score record into account."""
        value = record.scores.get(self.query.metric)
        if not isinstance(value, float) or not self.query.takes(record):
            return
        if not self.query.is_in_segment(record):
            self.elsewhere += 1
            self.attributes |= record.attributes.keys()
            return
        key = record.application, record.interaction_id, record.judge.label
        badness = as_worse(value, CATALOGUE[self.query.metric].higher_is_better)
        self.valued += 1
        self.imperfect += badness > 0
        before = self._kept.get(key)
        if before is None or before[1].judged_at <= record.judged_at:
            self._kept[key] = badness, record
        if len(self._kept) > 2 * self.query.most + _MORE:
            self._cut()

    def _cut(self) -> None:
        def rank(item: tuple[tuple[str, str, str], tuple[float, ScoreRecord]]) -> Any:
            key, (badness, record) = item
            return -badness, -record.event_time.timestamp(), key

        worst = sorted(self._kept.items(), key=rank)
        self._kept = dict(worst[: self.query.most])

    def records(self) -> list[ScoreRecord]:
        """The worst first; of equal ones the latest, then by name. None that is perfect."""
        self._cut()
        return [record for badness, record in self._kept.values() if badness > 0]


def faults(record: ScoreRecord, metric: str) -> list[dict[str, Any]]:
    """The claims that count against it: text, what is wrong, and the passages it came from."""
    if metric in _MISSED:
        return [
            {"number": claim.number, "text": claim.text, "wrong": _MISSED[metric], "passages": []}
            for claim in reference_claims(record)
            if not (claim.is_said if metric == "claim_recall" else any(claim.supported))
        ]
    if metric not in OFFENDS:
        return []
    numbers = {each.number for each in offending(record, metric)}
    return [
        {
            "number": claim.number,
            "text": claim.text,
            "wrong": verdict_in_words(claim),
            "passages": named_passages(claim.passages),
        }
        for claim in judged_claims(record)
        if claim.number in numbers
    ]


def as_json(record: ScoreRecord, metric: str) -> dict[str, Any]:
    """One answer for programs."""
    return {
        "application": record.application,
        "interaction_id": record.interaction_id,
        "metric": metric,
        "value": record.scores[metric],
        "event_time": record.event_time.isoformat(),
        "segment": record.segment,
        "judge": record.judge.label,
        "user_input": record.interaction.get("user_input"),
        "response": record.interaction.get("response"),
        "reference": record.interaction.get("reference"),
        "claims": faults(record, metric),
    }


def lines(number: int, record: ScoreRecord, metric: str) -> Iterator[str]:
    """One answer for people: what was asked, what was said, and what of it is wrong."""
    found = as_json(record, metric)
    segment = f"  segment {found['segment']}" if found["segment"] else ""
    when = shown_time(record.event_time)
    yield (
        f"{number:>3}  {metric} {found['value']:.2f}  {record.interaction_id}  "
        f"{record.application}{segment}  {when}  {found['judge']}"
    )
    for name, key in (("asked", "user_input"), ("answered", "response"), ("right", "reference")):
        if (text := found[key]) is not None:
            yield f"     {name:9} {shortened(str(text))}"
    for claim in found["claims"]:
        text = "(its text is not on record)" if claim["text"] is None else claim["text"]
        yield f"     {'wrong':9} {shortened(str(text))}  ← {claim['wrong']}"


def shortened(text: str, most: int = MOST_SHOWN) -> str:
    r"""A text on one line, or its beginning.

    >>> shortened("a\n b"), shortened("abcdef", 4)
    ('a b', 'abc…')
    """
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def summary(found: WorstAnswers, shown: Sequence[ScoreRecord]) -> str:
    """How many there are beside those that are shown."""
    query = found.query
    since = shown_time(query.since)
    if not found.valued and found.elsewhere:
        names = ", ".join(sorted(found.attributes)[:_MOST_NAMES]) or "none"
        return (
            f"no score record since {since} is in the segment {query.segment!r}: "
            f"{found.elsewhere:,} with a value of {query.metric} are in others; their attributes: "
            f"{names}"
        )
    if not found.valued:
        return f"no score record since {since} has a value of {query.metric}"
    return (
        f"{len(shown)} of {found.imperfect:,} that could be better, among {found.valued:,} with a "
        f"value of {query.metric} since {since}"
    )
