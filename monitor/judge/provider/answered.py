"""Errors in the body of an answer whose status says that all is well. Pure.

A gateway that has begun to answer cannot take its status back: what happens later stands in the
body, beside or instead of a reply (https://openrouter.ai/docs/api/reference/errors-and-debugging).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from monitor.judge.provider.refusals import Action, ErrorBody, action_for, error_body_of

#: Of codes without a number, in the words of OpenAI, Anthropic, Google and vLLM.
_STATUSES = {
    "invalid_request_error": 400,
    "badrequesterror": 400,
    "invalid_argument": 400,
    "failed_precondition": 400,
    "context_length_exceeded": 400,
    "content_filter": 400,
    "model_not_found": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "unauthenticated": 401,
    "billing_error": 402,
    "permission_error": 403,
    "permission_denied": 403,
    "not_found": 404,
    "not_found_error": 404,
    "notfounderror": 404,
    "request_too_large": 413,
    "insufficient_quota": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "unavailable": 503,
    "service_unavailable": 503,
    "timeout_error": 504,
    "deadline_exceeded": 504,
    "overloaded_error": 529,
}
#: Where nobody says more: it has begun to answer, and has not ended.
_BROKEN_OFF = 502


def error_in(text: str) -> tuple[int, ErrorBody] | None:
    """The error that an answer holds, and the status that it would have had; None without one.

    >>> error_in('{"error": {"code": 402, "message": "Insufficient credits"}}')
    (402, ErrorBody(codes=frozenset(), message='insufficient credits', wait_s=None))
    >>> error_in('{"choices": [{"message": {"content": "{}"}}], "error": null}') is None
    True
    """
    if '"error"' not in text:  # a reply that is well need not be read twice
        return None
    return next(filter(None, map(_read, _where(body_of(text)))), None)


def body_of(text: str) -> Any:
    """What an answer says as JSON; None where it is none.

    >>> body_of('{"choices": []}'), body_of("<html>Bad gateway</html>")
    ({'choices': []}, None)
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def written_in(text: str) -> str | None:
    """What a model has written in an answer, whatever else is wrong with it; None where none has.

    >>> written_in('{"choices": [{"message": {"content": "{}"}}], "usage": "unknown"}')
    '{}'
    >>> written_in("<html>Bad gateway</html>") is None
    True
    """
    body = body_of(text)
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _where(body: Any) -> Iterator[Any]:
    """Whatever may say that something went wrong."""
    for part in body[:1] if isinstance(body, list) else (body,):
        if not isinstance(part, dict):
            continue
        yield part.get("error")
        if "error" in (part.get("object"), part.get("type")):
            yield part
        choices = part.get("choices")
        for choice in choices[:1] if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                yield choice.get("error")
                if choice.get("finish_reason") == "error":
                    yield {"code": _BROKEN_OFF}


def _read(error: Any) -> tuple[int, ErrorBody] | None:
    if not _says_something(error):
        return None
    body = error_body_of({"error": error})
    return _status(error, body), body


def _says_something(error: Any) -> bool:
    """Some gateways put an error without a word into every reply."""
    if isinstance(error, dict):
        return any(error.get(key) for key in ("code", "message", "type", "status"))
    return bool(error)


def _status(error: Any, body: ErrorBody) -> int:
    """As a number, by a word, or by the phrase; else that of whoever breaks off."""
    if isinstance(error, dict):
        for found in map(error.get, ("code", "status", "status_code")):
            number = int(found) if isinstance(found, str) and found.isdecimal() else found
            if isinstance(number, int) and 400 <= number < 600:
                return number
    named = [_STATUSES[code] for code in body.codes if code in _STATUSES]
    if named:
        return max(named)
    rejected = Action.FALLBACK, "rejected"
    return 400 if action_for(400, body) != rejected else _BROKEN_OFF
