"""Claims × passages with their verdicts, as text and as rows. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from monitor.metrics.offending import (
    JudgedClaim,
    PassageOrigin,
    judged_claims,
    passage_count,
    reference_claims,
    relevance,
)
from monitor.records import ScoreRecord

_MARKS: Final = {True: "✓", False: "·", None: " "}
_RELEVANT: Final = {True: "relevant", False: "irrelevant", None: ""}
#: More passages than that have no column of their own: each claim names those that support it.
MOST_COLUMNS: Final = 12
_GONE: Final = "(its text is not on record)"


def verdict_said(claim: JudgedClaim) -> str:
    """What is wrong with a claim or right, and where it came from."""
    where = origins_said(claim)
    if claim.correct is None:
        return f"supported by {where}" if claim.together else "in no passage"
    if claim.correct:
        return f"right, from {where}" if claim.together else "right, but in no passage"
    return f"wrong, from {where}" if claim.together or claim.passages else "wrong, in no passage"


def origins_said(claim: JudgedClaim) -> str:
    """The passages that support it; together where none does alone."""
    if not claim.passages:
        return "several passages together"
    return ", ".join(
        f"{f'{_RELEVANT[each.relevant]} ' if each.relevant is not None else ''}"
        f"passage {each.number}{f' ({each.passage_id})' if each.passage_id else ''}"
        for each in claim.passages
    )


def named_passages(passages: Sequence[PassageOrigin]) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {"number": each.number, "id": each.passage_id, "relevant": each.relevant}
        for each in passages
    ]


def tables(record: ScoreRecord) -> dict[str, Any]:
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
                "verdict": verdict_said(claim),
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


def passage_lines(record: ScoreRecord) -> Iterator[str]:
    """One for each passage."""
    for row in passage_rows(record):
        said = [str(row["id"])] if row["id"] is not None else []
        said += [_RELEVANT[row["relevant"]]] if row["relevant"] is not None else []
        text = _GONE if row["text"] is None else " ".join(str(row["text"]).split())
        yield f"  {row['number']:>2}  {''.join(f'[{each}] ' for each in said)}{text}"


def claim_lines(record: ScoreRecord) -> Iterator[str]:
    """The claims of the response against passages, all of them together, and the reference."""
    claims, n = judged_claims(record), passage_count(record)
    columns = n if n <= MOST_COLUMNS else 0
    has_reference = any(claim.correct is not None for claim in claims)
    heads = [*(f"{j + 1:>2}" for j in range(columns)), "all", *(["ref"] if has_reference else [])]
    yield f"  {'':2}  {' '.join(heads)}"
    for claim in claims:
        cells = [f"{_MARKS[each]:>2}" for each in claim.supported[:columns]]
        cells += [f"{_MARKS[claim.together]:>3}"]
        cells += [f"{_MARKS[claim.correct]:>3}"] if has_reference else []
        text = _GONE if claim.text is None else " ".join(claim.text.split())
        yield f"  {claim.number:>2}  {' '.join(cells)}  {text}  ← {verdict_said(claim)}"


def reference_lines(record: ScoreRecord) -> Iterator[str]:
    """The claims of the reference against passages and the response."""
    n = passage_count(record)
    columns = n if n <= MOST_COLUMNS else 0
    yield f"  {'':2}  {' '.join([*(f'{j + 1:>2}' for j in range(columns)), 'response'])}"
    for claim in reference_claims(record):
        cells = [f"{_MARKS[each]:>2}" for each in claim.supported[:columns]]
        cells.append(f"{_MARKS[claim.is_said]:>8}")
        text = _GONE if claim.text is None else " ".join(claim.text.split())
        missed = "" if any(claim.supported) else "  ← not retrieved"
        missed = missed or ("" if claim.is_said else "  ← retrieved, not said")
        yield f"  {claim.number:>2}  {' '.join(cells)}  {text}{missed}"
