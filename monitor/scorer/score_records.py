"""Building score records: one for every pick, whatever became of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from pydantic import JsonValue

from monitor.records import (
    Claims,
    Interaction,
    JudgeIdentity,
    Judgement,
    Outcome,
    Reason,
    SamplingRecord,
    ScoreRecord,
    Unscored,
    UnscoredMark,
    Usage,
    Verdicts,
)

#: Stands for the value of a chosen metric on the record of a failed judgement.
JUDGE_FAILED = "JUDGE_FAILED"


#: Characters of a name and value, as JSON, that stay on a record that is too large.
_SHORT_ATTRIBUTE: Final = 256
NO_USAGE = Usage()


class JudgingResult(NamedTuple):
    """How a pick ended; ``scores`` is empty unless it was judged.

    ``asked`` is all that the models were asked about it, tries that failed among them; its
    tokens are estimated. ``found`` is what a failed judgement has said, in short. ``number`` is
    that of the model, in order of preference, where there are several.
    """

    outcome: Outcome
    reason: str | None
    judge: JudgeIdentity
    usage: Usage
    judgement: Judgement | None
    scores: dict[str, float | Unscored]
    timings: dict[str, float]
    asked: Usage = NO_USAGE
    found: str | None = None
    number: int | None = None

    @property
    def was_judged(self) -> bool:
        """Whether it came to the judge: not without money, nor while the judge guesses."""
        return self.outcome is not Outcome.OVER_BUDGET and self.reason != Reason.NOT_JUDGING


def build(
    interaction: Interaction,
    result: JudgingResult,
    *,
    rate: float,
    segment_by: Sequence[str],
    now: datetime,
    metrics: tuple[str, ...] | None = None,
    sampling: SamplingRecord | None = None,
    rechecks_usd: float = 0.0,
) -> ScoreRecord:
    """The score record of a pick: of the slot that ``sampling`` describes.

    Without it, of one at hash rate ``rate`` (m = u = 1, one interaction a slot).

    ``metrics`` are the chosen ones (None: all). A failed pick without scores counts as missing for
    every metric, so where only some are chosen it names them.
    """
    segment = segment_of(interaction, segment_by)
    judgement = result.judgement
    return ScoreRecord(
        application=interaction.application,
        interaction_id=interaction.interaction_id,
        event_time=interaction.event_time,
        judged_at=now,
        source=interaction.source,
        judge=result.judge,
        sampling=sampling
        or SamplingRecord(
            first_offset=interaction.source.offset,
            last_offset=interaction.source.offset,
            kind=interaction.kind,
            q=rate,
            segments={segment: 1},
        ),
        segment=segment,
        attributes=interaction.attributes,
        interaction=_texts(interaction),
        claims=judgement.claims if judgement else Claims(),
        verdicts=judgement.verdicts if judgement else Verdicts(),
        evidence=judgement.evidence if judgement else {},
        probabilities=judgement.probabilities if judgement else {},
        scores=_scores(result, metrics),
        outcome=result.outcome,
        reason=result.reason,
        usage=result.usage,
        rechecks_usd=rechecks_usd,
        timings=result.timings,
    )


def _scores(
    result: JudgingResult, metrics: tuple[str, ...] | None
) -> dict[str, float | UnscoredMark]:
    if result.outcome is Outcome.JUDGE_FAILED and metrics is not None:
        return dict.fromkeys(metrics, UnscoredMark(unscored=JUDGE_FAILED))
    return {
        name: UnscoredMark(unscored=score.value) if isinstance(score, Unscored) else score
        for name, score in result.scores.items()
    }


def segment_of(interaction: Interaction, segment_by: Sequence[str]) -> str:
    """The raw value of the attribute; of several, all that are there, by name.

    Empty without a configured attribute, or where none is there.
    """
    found = {name: interaction.attributes.get(name) for name in segment_by}
    there = {name: str(value) for name, value in found.items() if value is not None}
    if len(segment_by) == 1:
        return next(iter(there.values()), "")
    return ", ".join(f"{name}={value}" for name, value in there.items())


def _texts(interaction: Interaction) -> dict[str, JsonValue]:
    texts: dict[str, JsonValue] = {
        "user_input": interaction.user_input,
        "response": interaction.response,
        "reference": interaction.reference,
        "retrieved_contexts": [
            passage.model_dump(exclude_none=True) for passage in interaction.retrieved_contexts
        ],
    }
    return texts


def _without_text(passage: JsonValue) -> JsonValue:
    if not isinstance(passage, dict):
        return passage
    text = str(passage.get("text", ""))
    kept = {key: value for key, value in passage.items() if key != "text"}
    return {**kept, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _short(attributes: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        name: value
        for name, value in attributes.items()
        if len(json.dumps([name, value])) <= _SHORT_ATTRIBUTE
    }


def shrink(record: ScoreRecord, limit: int) -> tuple[ScoreRecord, bytes]:
    """The record and its bytes, without texts as far as needed to be at most ``limit`` bytes.

    First the passage texts, quotes and probabilities go (ids and SHA-256 stay), then claims and
    long attributes, then the other texts, and only then the list of passages and all attributes:
    by a short one, as the id of a user, a person's texts are found. What the numbers need (slot,
    scores, verdicts, outcome) always stays.
    """
    line = record.to_json()
    if len(line) <= limit:
        return record, line
    contexts = record.interaction.get("retrieved_contexts", [])
    bare = [_without_text(p) for p in contexts] if isinstance(contexts, list) else []
    listed: dict[str, JsonValue] = {"retrieved_contexts": bare}
    cuts: tuple[dict[str, object], ...] = (
        {"interaction": {**record.interaction, **listed}, "evidence": {}, "probabilities": {}},
        {"attributes": _short(record.attributes), "claims": Claims()},
        {"interaction": listed},
        {"interaction": {}},
        {"attributes": {}},
    )
    for cut in cuts:
        record = record.model_copy(update={**cut, "truncated": True})
        line = record.to_json()
        if len(line) <= limit:
            break
    return record, line
