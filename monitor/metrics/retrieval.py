"""What was retrieved, measured by the reference, and what the response made of it.

>>> judgement = Judgement.model_validate({
...     "claims": {"response": ["a"], "reference": ["a", "b", "c", "d"]},
...     "passages": 2,
...     "has_reference": True,
...     "verdicts": {
...         "response_by_passage": [[True, False]],
...         "response_by_context": [True],
...         "response_by_reference": [True],
...         "reference_by_passage": [[True, False], [True, False], [True, False], [False, False]],
...         "reference_by_response": [True, False, False, True],
...     },
...     "judge": dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], ""),
... })
>>> context_recall(judgement), context_precision(judgement)
(0.75, 0.5)
>>> round(context_utilization(judgement), 3)
0.333
"""

from __future__ import annotations

from monitor.metrics.relevance import relevant_passages
from monitor.metrics.requirements import missing, share
from monitor.records import Judgement, Unscored


def context_recall(judgement: Judgement) -> float | Unscored:
    """The share of reference claims that at least one passage supports: mean_r any_j G_rj.

    RAGChecker ``claim_recall``.
    """
    reason = missing(judgement, contexts=True, reference=True, reference_claims=True)
    return reason or share(any(row) for row in judgement.verdicts.reference_by_passage)


def context_precision(judgement: Judgement) -> float | Unscored:
    """The share of passages that are relevant: mean_j rel_j; their order does not matter.

    RAGChecker ``context_precision``.
    """
    relevant = relevant_passages(judgement.verdicts, judgement.passages)
    reason = missing(
        judgement,
        contexts=True,
        reference=True,
        reference_claims=None in relevant,
    )
    return reason or share(found is True for found in relevant)


def context_utilization(judgement: Judgement) -> float | Unscored:
    """Of the reference claims that a passage supports, the share that the response supports.

    Σ_r(any_j G_rj ∧ Q_r) / Σ_r any_j G_rj. RAGChecker ``context_utilization``, which is 0.0 where
    no passage supports any; here that is ``NO_RELEVANT_CONTEXTS``.
    """
    reason = missing(judgement, contexts=True, reference=True, reference_claims=True)
    if reason:
        return reason
    verdicts = judgement.verdicts
    retrieved = [
        said
        for row, said in zip(
            verdicts.reference_by_passage, verdicts.reference_by_response, strict=True
        )
        if any(row)
    ]
    return share(retrieved) if retrieved else Unscored.NO_RELEVANT_CONTEXTS
