"""Why a call to a model failed, and whether asking again can heal it. Pure.

The client library names its errors after words in the body (a 503 that says "rate limit" becomes a
rate-limit error) and gives a refused connection the status 500. So an error is read by what the
server really answered, found in the chain of causes, and only then by its own status.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from monitor.errors import JudgeFailed
from monitor.judge.provider.answered import error_in
from monitor.judge.provider.refusals import Action, ErrorBody, action_for, read_body
from monitor.records import Usage

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
MAX_RETRY_AFTER_S = 60.0  # nobody waits longer for one answer: fail now and say why

# Said by the client itself before it sends anything; it calls most of these a server error.
_NO_KEY = re.compile(r"missing .{0,40}(credentials|api key)", re.IGNORECASE)
# How the client library words a 200 that it cannot read; it gives most of them the status 500.
_UNREADABLE = (
    "litellm: provider returned",
    "empty or invalid response",
    "unable to get json response",
    "invalid response object",
)
#: Errors of a connection that was there: what was sent may be on its way to a bill.
_LOST = ("ReadError", "WriteError", "RemoteProtocolError", "ServerDisconnectedError")
#: Errors before there was one.
_NOT_CONNECTED = ("ClientConnectorError", "ConnectionTimeoutError", "ConnectTimeout", "PoolTimeout")
_HOST = re.compile(r"[A-Za-z0-9._:-]{1,260}")
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")  # a number would only repeat a status


class ProviderAnswer(NamedTuple):
    """What the client was given under a status that says that all is well, as far as it tells."""

    body: str = ""
    headers: Mapping[str, Any] = MappingProxyType({})


NO_ANSWER = ProviderAnswer()
#: The note where the client does not know whom to ask.
NO_PROVIDER = "no provider is known"
#: The note where the client has no key.
NO_KEY = "no API key is set"


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed call: ``reason`` for counting, ``wait_s`` what the server asked for (or None).

    ``is_cut_off``: the request was sent and no whole answer came, so that it may be on the bill.
    """

    reason: str
    note: str
    action: Action = Action.FALLBACK
    wait_s: float | None = None
    is_cut_off: bool = False

    @property
    def retriable(self) -> bool:
        """Whether the same call may be made again while somebody waits for it."""
        passing = self.action in (Action.RETRY, Action.WAIT)
        return passing and (self.wait_s or 0.0) <= MAX_RETRY_AFTER_S


class CallFailed(JudgeFailed):
    """One request gave no reply; ``fault`` says whether to send it again."""

    def __init__(self, fault: Fault, usage: Usage | None = None) -> None:
        super().__init__(fault.note, reason=fault.reason, usage=usage)
        self.fault = fault


def explain(
    error: BaseException, now: datetime, answer: ProviderAnswer = NO_ANSWER
) -> Fault | None:
    """The fault behind a client error; None if the server did answer, but unreadably.

    A status that says that all is well is outdone by an error in the ``answer``. ``now`` (UTC)
    turns a Retry-After date into seconds. Notes hold status, code and class names only: messages
    may quote the traffic.
    """
    chain = list(_chain(error))
    status = next(filter(None, map(_answered, chain)), None)
    if status is None:
        if (inside := fault_in(answer, now)) is not None:
            return inside
        if (unanswered := _unanswered(chain)) is not None:
            return unanswered
        if any(_NO_KEY.search(str(cause)) for cause in chain):
            return Fault("auth", NO_KEY, Action.STOP)
        status = getattr(error, "status_code", None)
        if _unreadable(chain) or (status in (None, 200) and hasattr(error, "status_code")):
            return None
        if status is None:
            return Fault("rejected", _names(chain))
    fault = _refused(status, chain, now)
    unknown = any("llm provider not provided" in str(cause).lower() for cause in chain)
    return replace(fault, note=NO_PROVIDER) if unknown else fault


def _unanswered(chain: list[BaseException]) -> Fault | None:
    """That there was no answer in time, or no connection; None where it was something else."""
    connected = not any(_is_a(cause, *_NOT_CONNECTED) for cause in chain)
    if any(_is_a(cause, "TimeoutError", "TimeoutException") for cause in chain):
        return Fault("timeout", "no answer in time", Action.RETRY, is_cut_off=connected)
    if any(_is_a(cause, "OSError", "TransportError", "ClientError") for cause in chain):
        action = Action.STOP if any(map(_no_such_name, chain)) else Action.RETRY
        lost = connected and any(_is_lost(cause) for cause in chain)
        return Fault("connection", f"no connection ({_names(chain)})", action, is_cut_off=lost)
    return None


def fault_in(answer: ProviderAnswer, now: datetime) -> Fault | None:
    """What is wrong by the body of an answer whose status says that all is well."""
    found = error_in(answer.body)
    if found is None:
        return None
    status, body = found
    action, reason = action_for(status, body)
    asked = _retry_after(answer.headers, now)
    wait_s = body.wait_s if asked is None else asked
    return Fault(reason, f"status {status} in the body", action, wait_s)


def _refused(status: int, chain: list[BaseException], now: datetime) -> Fault:
    if 300 <= status < 400:
        return Fault("rejected", f"status {status} redirects to {_elsewhere(chain)}", Action.STOP)
    codes = {code for cause in chain for code in _codes(cause)}
    body = _error_body(chain)
    action, reason = action_for(
        status, body._replace(codes=body.codes | {c.lower() for c in codes})
    )
    note = " ".join([f"status {status}", *sorted(filter(_CODE.fullmatch, codes))])
    waits = (_retry_after(_headers(cause), now) for cause in chain)
    asked = next(filter(None, waits), body.wait_s)
    return Fault(reason, note, action, asked)


def _elsewhere(chain: list[BaseException]) -> str:
    """The host that an answer sends to; not the rest of the address, which may hold a secret."""
    for cause in chain:
        with suppress(ValueError):
            found = urlsplit(_header(_headers(cause), "location"))
            if found.hostname:
                host = f"{found.hostname}:{found.port}" if found.port else found.hostname
                return host if _HOST.fullmatch(host) else "an address that is none"
    return "another path"


def _error_body(chain: list[BaseException]) -> ErrorBody:
    """What the body says; where no answer is at hand, what the client says that it said."""
    for cause in chain:
        text = getattr(getattr(cause, "response", None), "text", None)
        if _is_a(cause, "HTTPStatusError") and isinstance(text, str) and text:
            body, kind = read_body(text), _header(_headers(cause), "x-amzn-errortype")
            return body._replace(codes=body.codes | {kind.partition(":")[0].lower()})
    return ErrorBody(message=" ".join(map(str, chain)).lower())


def _is_lost(error: BaseException) -> bool:
    """Whether a connection broke that was there."""
    return _is_a(error, *_LOST) or type(error).__name__ == "ClientOSError"


def _no_such_name(error: BaseException) -> bool:
    """A host name that does not exist; not one that could not be looked up for now."""
    return _is_a(error, "gaierror") and error.args[:1] in ((-2,), (-5,), (8,))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _is_a(error: BaseException, *names: str) -> bool:
    # By name, so that no HTTP library is imported here.
    return any(kind.__name__ in names for kind in type(error).__mro__)


def _answered(error: BaseException) -> int | None:
    """The status of a real HTTP answer, which only an HTTP library's own error carries."""
    if not _is_a(error, "HTTPStatusError", "HTTPError"):  # of httpx, and of requests
        return None
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _unreadable(chain: list[BaseException]) -> bool:
    if any(_is_a(cause, "JSONDecodeError", "ValidationError") for cause in chain):
        return True
    return any(phrase in str(cause).lower() for cause in chain for phrase in _UNREADABLE)


def _names(chain: list[BaseException]) -> str:
    return ", ".join(dict.fromkeys(type(cause).__name__ for cause in chain))


def _codes(error: BaseException) -> Iterator[str]:
    body = getattr(error, "body", None)
    inner = body.get("code") if isinstance(body, dict) else None
    yield from (code for code in (getattr(error, "code", None), inner) if isinstance(code, str))


def _retry_after(headers: Mapping[str, Any], now: datetime) -> float | None:
    """Seconds that the server asks to wait: a number or an HTTP date; None if it says nothing.

    Azure says it in milliseconds, too, which are exact where seconds are rounded.
    """
    exact, value = _header(headers, "retry-after-ms").strip(), _header(headers, "retry-after")
    if _NUMBER.fullmatch(exact):
        return float(exact) / 1_000
    return seconds_to_wait(value, now) if value else None


def _headers(error: BaseException) -> Mapping[str, Any]:
    """Of the answer, or of the client's copy of it; empty where there are none."""
    answer = getattr(error, "response", None)
    for headers in (
        getattr(error, "litellm_response_headers", None),
        getattr(answer, "headers", None),
    ):
        if isinstance(headers, Mapping):
            return headers
    return NO_ANSWER.headers


def _header(headers: Mapping[str, Any], name: str) -> str:
    """Whatever case it is written in; empty where there is none."""
    return str({str(key).lower(): headers[key] for key in headers}.get(name, ""))


def seconds_to_wait(value: str, now: datetime) -> float | None:
    """Read a Retry-After header; None if it is neither a number of seconds nor a date.

    >>> seconds_to_wait("7", datetime(2026, 1, 1, tzinfo=UTC))
    7.0
    >>> seconds_to_wait("Thu, 01 Jan 2026 00:00:05 GMT", datetime(2026, 1, 1, tzinfo=UTC))
    5.0
    """
    if _NUMBER.fullmatch(value.strip()):
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # of a year with too many digits
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - now).total_seconds())
