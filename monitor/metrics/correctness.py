"""How much of the response the reference does not bear out.

>>> judgement = Judgement.model_validate({
...     "claims": {"response": ["a", "b", "c", "d"], "reference": []},
...     "passages": 1,
...     "has_reference": True,
...     "verdicts": {
...         "response_by_passage": [[True], [True], [False], [False]],
...         "response_by_context": [True, True, False, False],
...         "response_by_reference": [True, False, True, False],
...     },
...     "judge": dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], ""),
... })
>>> incorrect_claims(judgement), hallucination(judgement)
(0.5, 0.25)
"""

from __future__ import annotations

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
    verdicts = judgement.verdicts
    reason = missing(judgement, contexts=True, reference=True)
    return reason or share(
        not correct and not any(row)
        for row, correct in zip(
            verdicts.response_by_passage, verdicts.response_by_reference, strict=True
        )
    )
