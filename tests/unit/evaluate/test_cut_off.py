"""A call that was cut off: it has cost something, and no judge has said a word."""

from __future__ import annotations

import pytest

from monitor.evaluate.summary import Summary
from monitor.records import Outcome, Usage
from tests.stages.audits import judged


@pytest.mark.parametrize(
    ("usage", "has_a_reply"),
    [
        (Usage(), False),
        (Usage(calls=2, prompt_tokens=900, usd=0.1), False),
        (Usage(calls=2, prompt_tokens=900, completion_tokens=9, usd=0.1), True),
    ],
)
def test_only_a_reply_says_which_judge_it_was(usage: Usage, has_a_reply: bool) -> None:
    """Its version is known from replies: a failure without one is counted as nobody's."""
    record = judged(1, usage=usage, outcome=Outcome.JUDGE_FAILED, reason="timeout", scores={})
    summary = Summary()
    summary.add(record)
    ((_, judge),) = summary.groups()
    assert judge == (record.judge.label if has_a_reply else "")
    assert summary.usage == usage
