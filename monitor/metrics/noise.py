"""How often a wrong claim came from a passage: the two noise sensitivities.

A passage is relevant when it supports at least one claim of the reference; so both metrics need
a reference with claims. A claim that a relevant and an irrelevant passage support counts as
relevant only: the two never overlap.

>>> judgement = Judgement.model_validate({
...     "claims": {
...         "response": ["Python is a high-level language", "JavaScript is also popular"],
...         "reference": ["Python is a high-level language"],
...     },
...     "passages": 2,
...     "has_reference": True,
...     "verdicts": {
...         "response_by_passage": [[True, False], [False, True]],
...         "response_by_context": [True, True],
...         "response_by_reference": [True, False],
...         "reference_by_passage": [[True, False]],
...         "reference_by_response": [True],
...     },
...     "judge": dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], ""),
... })
>>> noise_sensitivity_relevant(judgement), noise_sensitivity_irrelevant(judgement)
(0.0, 0.5)
"""

from __future__ import annotations

from monitor.metrics.requirements import missing, share
from monitor.records import Flags, Judgement, Matrix, Unscored


def noise_sensitivity_relevant(judgement: Judgement) -> float | Unscored:
    """The share of response claims that are incorrect, but supported by a relevant passage.

    mean(RF_i ∧ ¬T_i) with RF_i = any_j(rel_j ∧ A_ij). ragas ``mode="relevant"``, RAGChecker
    ``noise_sensitivity_in_relevant``.
    """
    reason = missing(judgement, contexts=True, reference=True, reference_claims=True)
    return reason or share(wrong and near for wrong, near, _ in _origins(judgement))


def noise_sensitivity_irrelevant(judgement: Judgement) -> float | Unscored:
    """The share of response claims that are incorrect and supported by irrelevant passages only.

    mean(IF_i ∧ ¬T_i) with IF_i = any_j(¬rel_j ∧ A_ij) ∧ ¬RF_i. ragas ``mode="irrelevant"``,
    RAGChecker ``noise_sensitivity_in_irrelevant``.
    """
    reason = missing(judgement, contexts=True, reference=True, reference_claims=True)
    return reason or share(wrong and far for wrong, _, far in _origins(judgement))


def relevant_passages(reference_by_passage: Matrix) -> Flags:
    """Per passage whether it supports any reference claim: [R, n] becomes [n].

    >>> relevant_passages(((True, False, False), (True, False, True)))
    (True, False, True)
    """
    return tuple(any(column) for column in zip(*reference_by_passage, strict=True))


def _origins(judgement: Judgement) -> list[tuple[bool, bool, bool]]:
    """Per response claim: incorrect, by a relevant passage (RF), by irrelevant ones only (IF)."""
    verdicts = judgement.verdicts
    relevant = relevant_passages(verdicts.reference_by_passage)
    origins = []
    for row, correct in zip(
        verdicts.response_by_passage, verdicts.response_by_reference, strict=True
    ):
        near = any(a and rel for a, rel in zip(row, relevant, strict=True))
        origins.append((not correct, near, any(row) and not near))
    return origins
