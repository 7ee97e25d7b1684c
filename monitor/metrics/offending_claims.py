"""Which claims of a response made its score bad, and which passages they came from.

The counterpart of the formulas of the catalogue, read from a score record: the verdicts always
stand on it, the texts of claims and passages only as long as it was not cut down to size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from monitor.metrics.relevance import relevant_passages
from monitor.records import Labels, ScoreRecord, Verdicts

IRRELEVANT_CONTEXT_RELIANCE = "irrelevant_context_reliance"


class PassageOrigin(NamedTuple):
    """A passage that supports a claim: its number from 1, its id, whether it is relevant.

    Relevant: as the metric takes it; None where nobody knows, as without a reference with claims.
    """

    number: int
    passage_id: str | None
    relevant: bool | None


class Offence(NamedTuple):
    """A claim that counts against the response: its number from 1, its text and its passages."""

    number: int
    text: str | None
    passages: tuple[PassageOrigin, ...]


class JudgedClaim(NamedTuple):
    """A claim of a response with all that was said of it: its number from 1, and its text.

    ``supported`` is by passage, ``together`` by all of them; ``correct`` by the reference, None
    without one. ``passages`` are those that support it.
    """

    number: int
    text: str | None
    supported: tuple[bool, ...]
    together: bool
    correct: bool | None
    passages: tuple[PassageOrigin, ...]

    @property
    def is_wrong(self) -> bool:
        """By the reference; without one, by the passages."""
        return not self.together if self.correct is None else not self.correct


class ReferenceClaim(NamedTuple):
    """A claim of a reference: which passages hold it, and whether the response says it."""

    number: int
    text: str | None
    supported: tuple[bool, ...]
    is_said: bool


class _Claim(NamedTuple):
    """T_i, F_i and, by passage, A_ij and rel_j; T_i is None without a reference."""

    correct: bool | None
    grounded: bool
    supported: tuple[bool, ...]
    relevant: Labels

    @property
    def incorrect(self) -> bool:
        return self.correct is False

    @property
    def near(self) -> bool:
        return any(a and bool(r) for a, r in zip(self.supported, self.relevant, strict=False))


def _unfaithful(claim: _Claim) -> bool:
    return not claim.grounded


def _unsupported(claim: _Claim) -> bool:
    return not any(claim.supported)


def _beside_the_question(claim: _Claim) -> bool:
    return any(claim.supported) and not claim.near


def _from_relevant(claim: _Claim) -> bool:
    return claim.incorrect and claim.near


def _from_irrelevant(claim: _Claim) -> bool:
    return claim.incorrect and _beside_the_question(claim)


def _incorrect(claim: _Claim) -> bool:
    return claim.incorrect


def _made_up(claim: _Claim) -> bool:
    return claim.incorrect and _unsupported(claim)


OFFENDS: Mapping[str, Callable[[_Claim], bool]] = MappingProxyType(
    {
        "faithfulness": _unfaithful,
        "faithfulness_by_passage": _unsupported,
        "noise_sensitivity_relevant": _from_relevant,
        "noise_sensitivity_irrelevant": _from_irrelevant,
        "incorrect_claims": _incorrect,
        "hallucination": _made_up,
        "claim_precision": _incorrect,
        IRRELEVANT_CONTEXT_RELIANCE: _beside_the_question,
    }
)
"""By metric whose score is a share of the response's claims: whether one counts against it."""


def offending(record: ScoreRecord, metric: str) -> tuple[Offence, ...]:
    """The claims that are wrong for a metric, in the order of the response.

    None for a metric that does not count response claims, or where the record has no value.
    """
    offends = OFFENDS.get(metric)
    if offends is None or not isinstance(record.scores.get(metric), float):
        return ()
    return tuple(
        Offence(i + 1, _text(record, i), _origins(record, claim))
        for i, claim in enumerate(_claims(record.verdicts, _relevant(record.verdicts, metric)))
        if offends(claim)
    )


def judged_claims(record: ScoreRecord) -> tuple[JudgedClaim, ...]:
    """Every claim of the response, in its order; none on a record without verdicts."""
    verdicts = record.verdicts
    relevant = relevant_passages(verdicts, passage_count(record))
    return tuple(
        JudgedClaim(
            i + 1,
            _text(record, i),
            claim.supported,
            claim.grounded,
            claim.correct,
            _origins(record, claim),
        )
        for i, claim in enumerate(_claims(verdicts, relevant))
    )


def reference_claims(record: ScoreRecord) -> tuple[ReferenceClaim, ...]:
    """Every claim of the reference, in its order."""
    verdicts, texts = record.verdicts, record.claims.reference
    found = zip(verdicts.reference_by_passage, verdicts.reference_by_response, strict=False)
    return tuple(
        ReferenceClaim(i + 1, texts[i] if i < len(texts) else None, row, is_said)
        for i, (row, is_said) in enumerate(found)
    )


def relevance(record: ScoreRecord) -> Labels:
    """By passage, whether it is relevant as the metrics take it; None where nobody knows."""
    return relevant_passages(record.verdicts, passage_count(record))


def passage_count(record: ScoreRecord) -> int:
    """How many passages were judged, also where their list is no longer on the record."""
    passages = record.interaction.get("retrieved_contexts")
    listed = len(passages) if isinstance(passages, list) else 0
    rows = record.verdicts.response_by_passage or record.verdicts.reference_by_passage
    labels = record.verdicts.relevant_by_label or record.verdicts.relevant_to_question
    return len(rows[0]) if rows else len(labels) or listed


def _relevant(verdicts: Verdicts, metric: str) -> Labels:
    if metric == IRRELEVANT_CONTEXT_RELIANCE:
        return verdicts.relevant_to_question
    passages = len(verdicts.response_by_passage[0]) if verdicts.response_by_passage else 0
    return relevant_passages(verdicts, passages)


def _claims(verdicts: Verdicts, relevant: Labels) -> list[_Claim]:
    correct = verdicts.response_by_reference
    return [
        _Claim(correct[i] if i < len(correct) else None, grounded, row, relevant)
        for i, (row, grounded) in enumerate(
            zip(verdicts.response_by_passage, verdicts.response_by_context, strict=False)
        )
    ]


def _text(record: ScoreRecord, index: int) -> str | None:
    texts = record.claims.response
    return texts[index] if index < len(texts) else None


def _origins(record: ScoreRecord, claim: _Claim) -> tuple[PassageOrigin, ...]:
    ids = _passage_ids(record)
    return tuple(
        PassageOrigin(
            j + 1,
            ids[j] if j < len(ids) else None,
            claim.relevant[j] if j < len(claim.relevant) else None,
        )
        for j, supports in enumerate(claim.supported)
        if supports
    )


def _passage_ids(record: ScoreRecord) -> list[str | None]:
    passages = record.interaction.get("retrieved_contexts")
    if not isinstance(passages, list):
        return []
    found = [passage.get("id") if isinstance(passage, dict) else None for passage in passages]
    return [None if passage_id is None else str(passage_id) for passage_id in found]
