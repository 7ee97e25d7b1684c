"""Claims × passages with their verdicts as rows, for pages and programs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from monitor.metrics.offending_claims import (
    JudgedClaim,
    PassageOrigin,
    judged_claims,
    passage_count,
    reference_claims,
    relevance,
)
from monitor.records import ScoreRecord

#: How the relevance of a passage is called; nothing where nobody knows.
RELEVANT: Final = {True: "relevant", False: "irrelevant", None: ""}


def verdict_in_words(claim: JudgedClaim) -> str:
    """What is wrong with a claim or right, and where it came from."""
    where = origins_in_words(claim)
    if claim.correct is None:
        return f"supported by {where}" if claim.together else "in no passage"
    if claim.correct:
        return f"right, from {where}" if claim.together else "right, but in no passage"
    return f"wrong, from {where}" if claim.together or claim.passages else "wrong, in no passage"


def origins_in_words(claim: JudgedClaim) -> str:
    """The passages that support it; together where none does alone."""
    if not claim.passages:
        return "several passages together"
    return ", ".join(
        f"{f'{RELEVANT[each.relevant]} ' if each.relevant is not None else ''}"
        f"passage {each.number}{f' ({each.passage_id})' if each.passage_id else ''}"
        for each in claim.passages
    )


def named_passages(passages: Sequence[PassageOrigin]) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {"number": each.number, "id": each.passage_id, "relevant": each.relevant}
        for each in passages
    ]


def claim_tables(record: ScoreRecord) -> dict[str, Any]:
    """Passages, claims of the response and of the reference, for programs."""
    return {
        "passages": passage_rows(record),
        "response_claims": [
            {
                "number": claim.number,
                "text": claim.text,
                "by_passage": list(claim.supported),
                "together": claim.together,
                "by_reference": claim.correct,
                "wrong": claim.is_wrong,
                "verdict": verdict_in_words(claim),
                "passages": named_passages(claim.passages),
            }
            for claim in judged_claims(record)
        ],
        "reference_claims": [
            {
                "number": claim.number,
                "text": claim.text,
                "by_passage": list(claim.supported),
                "by_response": claim.is_said,
            }
            for claim in reference_claims(record)
        ],
    }


def passage_rows(record: ScoreRecord) -> list[dict[str, Any]]:
    """Number, id, relevance and text of each passage; what is not on record is None."""
    listed = record.interaction.get("retrieved_contexts")
    found = listed if isinstance(listed, list) else []
    labels = relevance(record)
    rows = []
    for j in range(passage_count(record)):
        passage = found[j] if j < len(found) else None
        own = passage if isinstance(passage, dict) else {}
        rows.append(
            {
                "number": j + 1,
                "id": own.get("id"),
                "relevant": labels[j] if j < len(labels) else None,
                "text": own.get("text"),
            }
        )
    return rows
