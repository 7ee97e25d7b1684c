"""One judged interaction in full: texts, claims with verdicts, scores, and who judged it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from monitor.lookup.claims import claim_lines, passage_lines, reference_lines
from monitor.lookup.findings import PlacedScore
from monitor.metrics.catalogue import CATALOGUE
from monitor.metrics.claim_rows import claim_tables
from monitor.metrics.offending_claims import judged_claims, reference_claims
from monitor.records import ScoreRecord


def shown_time(moment: datetime) -> str:
    """For people, in UTC and said so."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def latest_first(found: Sequence[PlacedScore]) -> list[PlacedScore]:
    """Those of one id, the latest judgement first."""
    return sorted(found, key=lambda each: (each.record.judged_at, each.offset), reverse=True)


def as_json(found: Sequence[PlacedScore]) -> dict[str, Any]:
    """The latest record with its claims as rows, and where the others stand."""
    (first, *others) = latest_first(found)
    return {
        "record": first.record.model_dump(mode="json", by_alias=True),
        **claim_tables(first.record),
        "place": {"partition": first.partition, "offset": first.offset},
        "others": [_other(each) for each in others],
    }


def _other(found: PlacedScore) -> dict[str, Any]:
    record = found.record
    return {
        "application": record.application,
        "judge": record.judge.label,
        "judged_at": record.judged_at.isoformat(),
        "outcome": record.outcome.value,
        "partition": found.partition,
        "offset": found.offset,
    }


def lines(found: Sequence[PlacedScore]) -> Iterator[str]:
    """The same for people."""
    (first, *others) = latest_first(found)
    record = first.record
    yield from _head(record)
    yield from evidence_lines(record)
    yield from _scores(record)
    for each in others:
        other = _other(each)
        yield "also {outcome} at {judged_at} by {judge}, for {application}".format(**other)


def evidence_lines(record: ScoreRecord) -> Iterator[str]:
    """The texts, and the claims of both with their verdicts."""
    yield from _texts(record)
    if judged_claims(record):
        yield "claims of the response, by passage, by all together, by the reference"
        yield from claim_lines(record)
    if reference_claims(record):
        yield "claims of the reference, by passage, and whether the response says them"
        yield from reference_lines(record)


def _head(record: ScoreRecord) -> Iterator[str]:
    when = shown_time(record.event_time)
    segment = f", segment {record.segment}" if record.segment else ""
    yield f"{record.interaction_id} of {record.application}{segment}, {when}"
    reason = f" ({record.reason})" if record.reason else ""
    judge = record.judge
    yield (
        f"{record.outcome}{reason}, judged by {judge.label}: model {judge.model}, prompts "
        f"{judge.prompts}, pipeline {judge.pipeline}"
    )
    if record.truncated:
        yield "its texts were cut from the record, which was too large for Kafka"


def _texts(record: ScoreRecord) -> Iterator[str]:
    texts = record.interaction
    for name, key in (("asked", "user_input"), ("answered", "response"), ("right", "reference")):
        if texts.get(key) is not None:
            yield f"{name:9} {' '.join(str(texts[key]).split())}"
    if texts.get("retrieved_contexts"):
        yield "passages"
        yield from passage_lines(record)
    elif "retrieved_contexts" in texts:
        yield "no passages were retrieved"


def _scores(record: ScoreRecord) -> Iterator[str]:
    if not record.scores:
        return
    yield "scores"
    missing: dict[str, list[str]] = {}
    for name in [*CATALOGUE, *(each for each in record.scores if each not in CATALOGUE)]:
        score = record.scores.get(name)
        if isinstance(score, float):
            yield f"  {name:30} {score:.3f}"
        elif score is not None:
            missing.setdefault(score.unscored, []).append(name)
    for why, names in missing.items():
        yield f"  no value ({why}): {', '.join(names)}"
