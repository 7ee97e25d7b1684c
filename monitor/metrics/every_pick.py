"""What is known of every pick, also where nothing was to be compared: refusals, no passages.

Both are 1 or 0 and never unscored, so they see what the other metrics leave out.

>>> refusal = Judgement.model_validate({
...     "claims": {}, "passages": 3, "has_reference": False, "verdicts": {},
...     "judge": dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], ""),
... })
>>> answered(refusal), retrieved(refusal)
(0.0, 1.0)
"""

from __future__ import annotations

from monitor.records import Judgement


def answered(judgement: Judgement) -> float:
    """1 where the response claims anything, 0 for a refusal, a greeting or an empty text."""
    return float(bool(judgement.claims.response))


def retrieved(judgement: Judgement) -> float:
    """1 where there is a passage, else 0; of passages without words a judgement has none."""
    return float(judgement.passages > 0)
