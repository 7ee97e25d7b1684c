"""Whether the retrieved passages carry what the response says.

>>> judgement = Judgement.model_validate({
...     "claims": {"response": ["born in Germany", "in 1879", "on 20 March 1879"]},
...     "passages": 2,
...     "has_reference": False,
...     "verdicts": {
...         "response_by_passage": [[True, False], [False, False], [False, False]],
...         "response_by_context": [True, True, False],
...     },
...     "judge": dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], ""),
... })
>>> round(3 * faithfulness(judgement)), round(3 * faithfulness_by_passage(judgement))
(2, 1)
"""

from __future__ import annotations

from monitor.metrics.requirements import missing, share
from monitor.records import Judgement, Unscored


def faithfulness(judgement: Judgement) -> float | Unscored:
    """The share of response claims that all passages together support: mean F_i.

    ragas ``Faithfulness`` with the contexts joined.

    >>> faithfulness(Judgement.model_validate({
    ...     "claims": {"response": ["born in Germany", "born on 20 March 1879"]},
    ...     "passages": 1,
    ...     "has_reference": False,
    ...     "verdicts": {
    ...         "response_by_passage": [[True], [False]],
    ...         "response_by_context": [True, False],
    ...     },
    ...     "judge": dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], ""),
    ... }))
    0.5
    """
    reason = missing(judgement, contexts=True)
    return reason or share(judgement.verdicts.response_by_context)


def faithfulness_by_passage(judgement: Judgement) -> float | Unscored:
    """The share of response claims that at least one passage alone supports: mean_i any_j A_ij.

    RAGChecker ``faithfulness``.
    """
    reason = missing(judgement, contexts=True)
    return reason or share(any(row) for row in judgement.verdicts.response_by_passage)
