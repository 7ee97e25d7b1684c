"""How often a claim came from the wrong passage: noise sensitivities, and their stand-in.

For the noise sensitivities a passage is relevant when it supports at least one claim of the
reference, or when a label says so that outdoes it. A claim that a relevant and an irrelevant
passage support counts as relevant only: the two never overlap.

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
...         "relevant_to_question": [True, False],
...     },
...     "judge": dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], ""),
... })
>>> noise_sensitivity_relevant(judgement), noise_sensitivity_irrelevant(judgement)
(0.0, 0.5)
>>> irrelevant_context_reliance(judgement)
0.5
"""

from __future__ import annotations

from collections.abc import Iterator

from monitor.metrics.relevance import relevant_passages
from monitor.metrics.requirements import missing, share
from monitor.records import Judgement, Labels, Unscored


def noise_sensitivity_relevant(judgement: Judgement) -> float | Unscored:
    """The share of response claims that are incorrect, but supported by a relevant passage.

    mean(RF_i ∧ ¬T_i) with RF_i = any_j(rel_j ∧ A_ij). ragas ``mode="relevant"``, RAGChecker
    ``noise_sensitivity_in_relevant``.
    """
    relevant = relevant_passages(judgement.verdicts, judgement.passages)
    reason = _reason(judgement, relevant)
    return reason or share(near for near, _ in _incorrect(judgement, relevant))


def noise_sensitivity_irrelevant(judgement: Judgement) -> float | Unscored:
    """The share of response claims that are incorrect and supported by irrelevant passages only.

    mean(IF_i ∧ ¬T_i) with IF_i = any_j(¬rel_j ∧ A_ij) ∧ ¬RF_i. ragas ``mode="irrelevant"``,
    RAGChecker ``noise_sensitivity_in_irrelevant``.
    """
    relevant = relevant_passages(judgement.verdicts, judgement.passages)
    reason = _reason(judgement, relevant)
    return reason or share(far for _, far in _incorrect(judgement, relevant))


def irrelevant_context_reliance(judgement: Judgement) -> float | Unscored:
    """The share of response claims that irrelevant passages support, and no relevant one.

    mean(IF_i), with what is relevant to the question in place of rel_j; every passage must be known
    to be relevant or not. Ours: what stands in for noise sensitivity where there is no reference.
    """
    relevant = judgement.verdicts.relevant_to_question
    reason = missing(judgement, contexts=True)
    if reason is None and (not relevant or None in relevant):
        reason = Unscored.NO_RELEVANCE
    return reason or share(far for _, far in _origins(judgement, relevant))


def _reason(judgement: Judgement, relevant: Labels) -> Unscored | None:
    """Why a noise sensitivity has no value; with labels the reference need not claim anything."""
    unknown = None in relevant
    return missing(judgement, contexts=True, reference=True, reference_claims=unknown)


def _incorrect(judgement: Judgement, relevant: Labels) -> Iterator[tuple[bool, bool]]:
    """The origins of the incorrect claims, and twice False for the correct ones."""
    correct = judgement.verdicts.response_by_reference
    for (near, far), right in zip(_origins(judgement, relevant), correct, strict=True):
        yield near and not right, far and not right


def _origins(judgement: Judgement, relevant: Labels) -> Iterator[tuple[bool, bool]]:
    """Per response claim: by a relevant passage (RF), by irrelevant ones only (IF)."""
    for row in judgement.verdicts.response_by_passage:
        near = any(a and bool(rel) for a, rel in zip(row, relevant, strict=True))
        yield near, any(row) and not near
