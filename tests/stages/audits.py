"""Judged interactions with claims, passages and texts, as audits keep them."""

from __future__ import annotations

from typing import Any

from monitor.audit.store.rows import Placed
from monitor.metrics.catalogue import score_all
from monitor.records import (
    Claims,
    Judgement,
    Outcome,
    ScoreRecord,
    UnscoredMark,
    Verdicts,
)
from tests.stages.score_records import FIRST, record

#: One claim that the reference supports, from the relevant passage; one that it does not, from the
#: other.
MIXED = Verdicts(
    response_by_passage=((True, False), (False, True)),
    response_by_context=(True, True),
    response_by_reference=(True, False),
    reference_by_passage=((True, False),),
    reference_by_response=(True,),
)
RIGHT = MIXED.model_copy(update={"response_by_reference": (True, True)})
TEXTS = {
    "user_input": "How long is the warranty?",
    "response": "It lasts 24 months. A return costs 5 euros.",
    "reference": "The warranty lasts 24 months.",
    "retrieved_contexts": [
        {"id": "kb-1", "text": "The warranty lasts 24 months."},
        {"id": "kb-2", "text": "A return costs 5 euros."},
    ],
}


def judged(number: int, verdicts: Verdicts = MIXED, **fields: Any) -> ScoreRecord:
    """A scored interaction with two claims, two passages and a reference; its id is the number."""
    claims = Claims(
        response=("It lasts 24 months.", "A return costs 5 euros."),
        reference=("The warranty lasts 24 months.",),
    )
    return judged_as(
        str(number),
        Judgement(claims=claims, passages=2, has_reference=True, verdicts=verdicts, judge=FIRST),
        interaction=TEXTS,
        **fields,
    )


def judged_as(name: str, judgement: Judgement, **fields: Any) -> ScoreRecord:
    """A record of a judgement, with what the metrics make of it."""
    scores = {
        metric: value if isinstance(value, float) else UnscoredMark(unscored=value.value)
        for metric, value in score_all(judgement).items()
    }
    given: dict[str, Any] = {
        "claims": judgement.claims,
        "verdicts": judgement.verdicts,
        "scores": scores,
        "outcome": Outcome.SCORED,
    }
    return record(name, float(name), **(given | fields))


def placed(score_record: ScoreRecord, offset: int | None = None) -> Placed:
    """On partition 0, at the offset of its number."""
    at = int(score_record.interaction_id) if offset is None else offset
    return Placed(score_record, score_record.to_json(), 0, at)
