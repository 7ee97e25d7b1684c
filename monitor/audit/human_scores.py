"""What a person's verdicts make of the metrics: the same formulas, other verdicts. Pure."""

from __future__ import annotations

import unicodedata
from typing import Final

from pydantic import ValidationError

from monitor.metrics.catalogue import CATALOGUE, score_all
from monitor.metrics.offending_claims import passage_count
from monitor.records import Claims, Judgement, ScoreRecord, Verdicts

#: What people can correct: the fields of ``Verdicts`` that are yes or no about a claim.
KINDS: Final = (
    "response_by_passage",
    "response_by_context",
    "response_by_reference",
    "reference_by_passage",
    "reference_by_response",
)


def one_name(name: str) -> str:
    """One person has one name, however it is typed: two of them would count as two reviewers.

    >>> one_name(" Ann  LEE "), one_name("Ａnn lee")
    ('ann lee', 'ann lee')
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())


def peoples_values(record: ScoreRecord, verdicts: Verdicts) -> dict[str, float]:
    """By metric its value with these verdicts, for those that the judge has given a value.

    What is hidden from the judge, or was not asked, has none here either.
    """
    found = score_all(_judgement(record, verdicts))
    return {
        name: value
        for name, metric in CATALOGUE.items()
        if metric.source == "verdicts"
        and isinstance(value := found[name], float)
        and isinstance(record.scores.get(name), float)
    }


def check(record: ScoreRecord, verdicts: Verdicts) -> None:
    """Raises ``ValueError`` with what is wrong where they cannot be verdicts on this record."""
    for kind in KINDS:
        ours, theirs = getattr(record.verdicts, kind), getattr(verdicts, kind)
        if _shape(ours) != _shape(theirs):
            raise ValueError(f"{kind} has the shape {_shape(theirs)}, expected {_shape(ours)}")
    try:
        _judgement(record, verdicts)
    except ValidationError as error:  # its own words would quote all claims
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(first["msg"].removeprefix("Value error, ")) from None


def flat(verdicts: Verdicts, kind: str) -> list[bool]:
    """All verdicts of one kind, claim by claim.

    >>> flat(Verdicts(response_by_passage=((True, False), (False, False))), "response_by_passage")
    [True, False, False, False]
    """
    rows = getattr(verdicts, kind)
    return [cell for row in rows for cell in (row if isinstance(row, tuple) else (row,))]


def _shape(rows: tuple[object, ...]) -> list[int]:
    return [len(row) if isinstance(row, tuple) else 1 for row in rows]


def _judgement(record: ScoreRecord, verdicts: Verdicts) -> Judgement:
    claims = record.claims
    if len(claims.response) != len(record.verdicts.response_by_context):  # cut from the record
        claims = Claims(
            response=("",) * len(record.verdicts.response_by_context),
            reference=("",) * len(record.verdicts.reference_by_response),
        )
    return Judgement(
        claims=claims,
        passages=passage_count(record),
        has_reference=record.sampling.kind == "with_reference",
        verdicts=verdicts,
        judge=record.judge,
    )
