"""The error tree, named by what the caller does next.

::

    MonitorError
    ├── ConfigurationError     stop with exit code 2; the message names the setting and the mend
    ├── DependencyRefused      stop with exit code 3; a broker, topic, judge or port said no
    ├── MessageRejected        send the record to the dead letters; ``stage`` says where it broke
    ├── RecordSkipped          leave this record out and count it (of a newer schema, malformed)
    └── JudgeFailed            count ``judge_failed{reason}``; no score may be derived
        ├── ReplyRejected      ask the judge once more, with ``complaint``; then it is a failure
        └── TooLarge           count ``unscorable{too_large}``: judging it would cost too much
"""

from __future__ import annotations

from typing import Any, Final

#: Why an interaction is not judged whose judgement would take more than one may.
TOO_LARGE: Final = "too_large"


class MonitorError(Exception):
    """Base of every error that the monitor raises on purpose."""


class ConfigurationError(MonitorError):
    """A setting is wrong; the message names its path, what was found and what was expected."""


class DependencyRefused(MonitorError):
    """A dependency answered, and its answer is no: waiting will not heal it."""


class MessageRejected(MonitorError):
    """A Kafka record cannot become an interaction.

    ``stage`` is where it broke (``decode``, ``validate``, ``redact``, ``score``, ``publish``),
    ``cause`` a short label for counting, and the message names the field, what was found and what
    was expected.
    """

    def __init__(self, message: str, *, stage: str, cause: str) -> None:
        super().__init__(message)
        self.stage = stage
        self.cause = cause


class RecordSkipped(MonitorError):
    """A record of scores, control or alarms that this version must leave out, but count."""

    def __init__(self, message: str, *, cause: str) -> None:
        super().__init__(message)
        self.cause = cause


class JudgeFailed(MonitorError):
    """The judge gave no usable judgement; ``reason`` is a label value of the outcome counter.

    ``usage`` is what the failed attempts have already cost (a ``records.Usage``, or None).
    """

    def __init__(self, message: str, *, reason: str, usage: Any = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.usage = usage


class ReplyRejected(JudgeFailed):
    """A reply that breaks the wire format; ``complaint`` names ids and pairs, never texts.

    ``kind`` is a ``Complaint``, for counting; None where it is the request that is refused.
    """

    def __init__(
        self, complaint: str, *, kind: str | None, reason: str = "malformed_reply"
    ) -> None:
        super().__init__(complaint, reason=reason)
        self.complaint = complaint
        self.kind = kind


class TooLarge(JudgeFailed):
    """Judging this interaction would take more than one may; the message names the ceiling."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason=TOO_LARGE)
