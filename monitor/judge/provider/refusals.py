"""What a provider's refusal means for the next call: a table over status, code and phrase. Pure.

A code is a machine-readable word of the error's body; a phrase is looked for in its message alone.
Both may be wrong: some providers quote the request there. So a row that stops judging names only
statuses with which providers say such things.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import Any, NamedTuple


class Action(StrEnum):
    """What to do about a call that failed."""

    RETRY = "retry"  # passing: once more, after some jitter
    WAIT = "wait"  # everybody waits for as long as the provider asks, and then asks less at once
    SHRINK = "shrink"  # too long: the same in smaller parts
    STOP = "stop"  # nobody who asks again is answered, before a person has mended something
    FALLBACK = "fallback"  # this model does not judge this interaction; another one may


class ErrorBody(NamedTuple):
    """What the body of an error says: codes and message in lower case, seconds to wait."""

    codes: frozenset[str] = frozenset()
    message: str = ""
    wait_s: float | None = None


class _RefusalRow(NamedTuple):
    """Matches when the status is one of these and, if given, a code or phrase is there."""

    statuses: Collection[int]
    action: Action
    reason: str
    codes: frozenset[str] = frozenset()
    phrases: tuple[str, ...] = ()

    def matches(self, status: int, error_body: ErrorBody) -> bool:
        if status not in self.statuses:
            return False
        if not self.codes and not self.phrases:
            return True
        return bool(self.codes & error_body.codes) or any(
            p in error_body.message for p in self.phrases
        )


_TOO_LONG = _RefusalRow(
    (400, 422, 429, 500),
    Action.SHRINK,
    "too_long",
    frozenset({"context_length_exceeded", "string_above_max_length"}),
    (
        "maximum context length",
        "model's context length is only",
        "prompt is too long",
        "input is too long for requested model",
        "exceeds the maximum number of tokens",
        "input or output tokens must be reduced",
    ),
)
_FILTERED = _RefusalRow(
    (400, 403),
    Action.FALLBACK,
    "content_filter",
    frozenset(
        {"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "pii_filter"}
    ),
    ("requires moderation", "content management policy", "output blocked by content filtering"),
)
_NO_CREDIT = _RefusalRow(
    (400, 429),
    Action.STOP,
    "auth",
    frozenset(
        {
            "insufficient_quota",
            "insufficient_credits",
            "billing_hard_limit_reached",
            "billing_not_active",
            "billing_error",
            "account_deactivated",
            "budget_exceeded",
        }
    ),
    (
        "credit balance is too low",
        "budget has been exceeded",
        "insufficient_quota",
        "reached your specified api usage limits",
    ),
)
_BAD_KEY = _RefusalRow(
    (400, 401, 403),
    Action.STOP,
    "auth",
    frozenset({"invalid_api_key", "api_key_invalid", "expiredtokenexception", "invalid_grant"}),
    (
        "api key not valid",
        "api key expired",
        "incorrect api key provided",
        "invalid_grant",
        "this organization has been disabled",
        "user location is not supported",
    ),
)
#: Too much of the money that is there is promised to requests under way; it comes back with them.
_PROMISED = _RefusalRow(
    (402,), Action.WAIT, "rate_limited", frozenset({"openrouter_in_flight_budget"})
)
_NO_MODEL = _RefusalRow(
    (400,),
    Action.STOP,
    "rejected",
    frozenset(
        {
            "model_not_found",
            "deploymentnotfound",
            "unknown_model",
            "invalid_model",
            "model_decommissioned",
            "operationnotsupported",
        }
    ),
    (
        "invalid model id",
        "model not exist",
        "is not a valid model id",
        "provided model identifier is invalid",
        "invalid model name passed in",
        "on-demand throughput isn’t supported",
        "on-demand throughput isn't supported",
    ),
)
_THROTTLED = _RefusalRow((400,), Action.WAIT, "rate_limited", frozenset({"throttlingexception"}))

#: The first row that matches decides.
_TABLE = (
    _TOO_LONG,
    _FILTERED,
    _NO_CREDIT,
    _BAD_KEY,
    _PROMISED,
    _NO_MODEL,
    _THROTTLED,
    _RefusalRow((401, 402, 403, 407), Action.STOP, "auth"),
    # Azure and NVIDIA say with 410 that a model is retired.
    _RefusalRow((404, 410), Action.STOP, "rejected"),
    _RefusalRow((413,), Action.SHRINK, "too_long"),
    _RefusalRow((429,), Action.WAIT, "rate_limited"),
    _RefusalRow((503, 529), Action.WAIT, "server_error"),
    _RefusalRow((408, 504), Action.RETRY, "timeout"),
    _RefusalRow((409, 425), Action.RETRY, "rejected"),
    _RefusalRow(range(500, 600), Action.RETRY, "server_error"),
)


def action_for(status: int, error_body: ErrorBody) -> tuple[Action, str]:
    """What to do, and the reason for counting.

    >>> action_for(429, ErrorBody(frozenset({"insufficient_quota"})))
    (<Action.STOP: 'stop'>, 'auth')
    >>> action_for(429, ErrorBody())
    (<Action.WAIT: 'wait'>, 'rate_limited')
    """
    found = next((row for row in _TABLE if row.matches(status, error_body)), None)
    return (found.action, found.reason) if found else (Action.FALLBACK, "rejected")


#: Where providers put codes, and objects that hold some; never where they quote a request.
_CODE_KEYS = ("code", "type", "status", "reason", "__type", "innererror_code")
_NESTED = ("error", "errors", "details", "innererror")


def read_body(text: str) -> ErrorBody:
    """The codes and the message of an error's body; of one that is not JSON, the text.

    >>> read_body('{"error": {"message": "No.", "code": "Bad", "status": 400}}')
    ErrorBody(codes=frozenset({'bad'}), message='no.', wait_s=None)
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return ErrorBody(message=text[:2_000].lower())
    return error_body_of(body)


def error_body_of(body: Any) -> ErrorBody:
    """The same of a body that is read already."""
    parts = list(_objects(body, 6))
    codes = {code for part in parts for code in _codes(part)}
    return ErrorBody(frozenset(codes), _message(body, parts)[:2_000].lower(), _retry_delay(parts))


def _codes(part: dict[str, Any]) -> Iterator[str]:
    metadata = part.get("metadata")  # may quote the request elsewhere
    limit = metadata.get("limit_source") if isinstance(metadata, dict) else None
    yield from (v.lower() for v in (*map(part.get, _CODE_KEYS), limit) if isinstance(v, str))


def _objects(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth == 0:
        return
    if isinstance(value, list):
        for one in value[:20]:
            yield from _objects(one, depth - 1)
    elif isinstance(value, dict):
        yield value
        for key in _NESTED:
            yield from _objects(value.get(key), depth - 1)


def _message(body: Any, parts: list[dict[str, Any]]) -> str:
    for part in parts:
        for key in ("message", "Message", "detail", "error"):
            if isinstance(found := part.get(key), str):
                return found
    return body if isinstance(body, str) else ""


def _retry_delay(parts: list[dict[str, Any]]) -> float | None:
    """Google's ``RetryInfo``: ``"retryDelay": "38s"``, and no Retry-After beside it."""
    for part in parts:
        found = part.get("retryDelay")
        if (
            isinstance(found, str)
            and found.endswith("s")
            and found[:-1].replace(".", "", 1).isdigit()
        ):
            return float(found[:-1])
    return None
