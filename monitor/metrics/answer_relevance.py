"""Whether the response addresses the question: a verdict on the whole of it, right or wrong.

>>> asked = Judgement.model_validate({
...     "claims": {"response": ["The shop sells apples."]}, "passages": 0, "has_reference": False,
...     "verdicts": {
...         "response_by_passage": [[]],
...         "response_by_context": [False],
...         "answers_question": False,
...     },
...     "judge": dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], ""),
... })
>>> answer_relevance(asked)
0.0
"""

from __future__ import annotations

from monitor.metrics.requirements import missing
from monitor.records import Judgement, Unscored


def answer_relevance(judgement: Judgement) -> float | Unscored:
    """1 where the response addresses the question, else 0; ``NOT_ASKED`` where no judge was asked.

    A response that claims nothing is no answer to anything: that is what ``answered`` counts.
    """
    reason = missing(judgement)
    if reason is None and judgement.verdicts.answers_question is None:
        reason = Unscored.NOT_ASKED
    return reason or float(judgement.verdicts.answers_question is True)
