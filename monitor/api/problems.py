"""What a call of the API raises beside the errors of settings and judges."""

from __future__ import annotations

from typing import Final

from monitor.errors import MonitorError

#: Why a metric has no value, in words; the names are those of docs/metrics.md.
WHY: Final = {
    "NO_REFERENCE": "there is no reference, or one without words",
    "NO_REFERENCE_CLAIMS": "the reference claims nothing",
    "NO_CLAIMS": "the response claims nothing",
    "NO_CONTEXTS": "there are no retrieved passages with words",
    "NO_RELEVANT_CONTEXTS": "no passage supports a claim of the reference",
    "NO_RELEVANCE": "nobody says of every passage whether it is relevant to the question",
    "NOT_ASKED": "no judge was asked: set judge.answer_relevance to judged",
    "REDACTED": "a text that it needs is hidden",
    "TOO_LARGE": "judging it would take more calls or tokens than one interaction may",
}


class InputRejected(MonitorError, ValueError):
    """What was given is no interaction; the message names the row and the field."""


class NothingToScore(MonitorError, ValueError):
    """A metric has no value, so there is no number to return; ``reason`` says why.

    ``reason`` is one of ``Unscored``, like ``NO_REFERENCE``.
    """

    def __init__(self, metric: str, reason: str) -> None:
        super().__init__(f"{metric} has no value: {said(reason)}")
        self.metric, self.reason = metric, reason


def said(reason: str) -> str:
    """A reason in words, with its name.

    >>> said("NO_CLAIMS")
    'the response claims nothing (NO_CLAIMS)'
    >>> said("JUDGE_FAILED")
    'JUDGE_FAILED'
    """
    return f"{WHY[reason]} ({reason})" if reason in WHY else reason
