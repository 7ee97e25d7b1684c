"""How response and reference agree, claim by claim.

>>> judgement = Judgement.model_validate({
...     "claims": {"response": ["a", "b", "c", "d"], "reference": ["a", "c", "e"]},
...     "passages": 1,
...     "has_reference": True,
...     "verdicts": {
...         "response_by_passage": [[True], [True], [False], [False]],
...         "response_by_context": [True, True, False, False],
...         "response_by_reference": [True, False, True, False],
...         "reference_by_passage": [[True], [False], [False]],
...         "reference_by_response": [True, False, False],
...     },
...     "judge": dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], ""),
... })
>>> incorrect_claims(judgement), hallucination(judgement), self_knowledge(judgement)
(0.5, 0.25, 0.25)
>>> claim_precision(judgement), round(claim_recall(judgement), 3), round(claim_f1(judgement), 3)
(0.5, 0.333, 0.4)
"""

from __future__ import annotations

from collections.abc import Iterator

from monitor.metrics.requirements import missing, share
from monitor.records import Judgement, Unscored


def incorrect_claims(judgement: Judgement) -> float | Unscored:
    """The share of response claims that the reference does not support: mean ¬T_i.

    The formula that the ragas and ValidMind documents print as noise sensitivity, and promptfoo's
    ``mode: relevant``; the code of ragas asks for a relevant passage besides.
    """
    reason = missing(judgement, reference=True)
    return reason or share(not correct for correct in judgement.verdicts.response_by_reference)


def hallucination(judgement: Judgement) -> float | Unscored:
    """The share of response claims that are incorrect and that no single passage supports.

    mean(¬any_j A_ij ∧ ¬T_i). RAGChecker ``hallucination``.
    """
    reason = missing(judgement, contexts=True, reference=True)
    return reason or share(correct is False for correct in _unsupported(judgement))


def self_knowledge(judgement: Judgement) -> float | Unscored:
    """The share of response claims that are correct and that no single passage supports.

    mean(¬any_j A_ij ∧ T_i). RAGChecker ``self_knowledge``.
    """
    reason = missing(judgement, contexts=True, reference=True)
    return reason or share(correct is True for correct in _unsupported(judgement))


def claim_precision(judgement: Judgement) -> float | Unscored:
    """The share of response claims that the reference supports: mean T_i.

    RAGChecker ``precision``.
    """
    reason = missing(judgement, reference=True)
    return reason or share(judgement.verdicts.response_by_reference)


def claim_recall(judgement: Judgement) -> float | Unscored:
    """The share of reference claims that the response supports: mean Q_r.

    RAGChecker ``recall``.
    """
    reason = missing(judgement, reference=True, reference_claims=True)
    return reason or share(judgement.verdicts.reference_by_response)


def claim_f1(judgement: Judgement) -> float | Unscored:
    """The harmonic mean of ``claim_precision`` and ``claim_recall``; 0 where either is 0.

    RAGChecker ``f1``.
    """
    precision, recall = claim_precision(judgement), claim_recall(judgement)
    if isinstance(precision, Unscored):
        return precision
    if isinstance(recall, Unscored):
        return recall
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def _unsupported(judgement: Judgement) -> Iterator[bool | None]:
    """T_i of the response claims that no passage supports; None for the others."""
    verdicts = judgement.verdicts
    for row, correct in zip(
        verdicts.response_by_passage, verdicts.response_by_reference, strict=True
    ):
        yield None if any(row) else correct
