"""What a call of the API raises beside the errors of settings and judges."""

from __future__ import annotations

from monitor.errors import MonitorError
from monitor.records.outcome import UNSCORED_IN_WORDS


class InputRejected(MonitorError, ValueError):
    """What was given is no interaction; the message names the row and the field."""


class NothingToScore(MonitorError, ValueError):
    """A metric has no value, so there is no number to return; ``reason`` says why.

    ``reason`` is one of ``Unscored``, like ``NO_REFERENCE``.
    """

    def __init__(self, metric: str, reason: str) -> None:
        super().__init__(f"{metric} has no value: {reason_in_words(reason)}")
        self.metric, self.reason = metric, reason


def reason_in_words(reason: str) -> str:
    """A reason in words, with its name.

    >>> reason_in_words("NO_CLAIMS")
    'the response claims nothing (NO_CLAIMS)'
    >>> reason_in_words("JUDGE_FAILED")
    'JUDGE_FAILED'
    """
    return f"{UNSCORED_IN_WORDS[reason]} ({reason})" if reason in UNSCORED_IN_WORDS else reason
