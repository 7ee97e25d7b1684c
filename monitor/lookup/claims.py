"""Claims × passages with their verdicts, as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from monitor.metrics.claim_rows import RELEVANT, passage_rows, verdict_in_words
from monitor.metrics.offending_claims import judged_claims, passage_count, reference_claims
from monitor.records import ScoreRecord

_MARKS: Final = {True: "✓", False: "·", None: " "}
#: More passages than that have no column of their own: each claim names those that support it.
MOST_COLUMNS: Final = 12
_GONE: Final = "(its text is not on record)"


def passage_lines(record: ScoreRecord) -> Iterator[str]:
    """One for each passage."""
    for row in passage_rows(record):
        said = [str(row["id"])] if row["id"] is not None else []
        said += [RELEVANT[row["relevant"]]] if row["relevant"] is not None else []
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
        yield f"  {claim.number:>2}  {' '.join(cells)}  {text}  ← {verdict_in_words(claim)}"


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
