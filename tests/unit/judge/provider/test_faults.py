"""Reading the model client's errors: by what the server answered, not by what they are called."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from monitor.judge.provider.faults import (
    MAX_RETRY_AFTER_S,
    Fault,
    ProviderAnswer,
    explain,
    fault_in,
    seconds_to_wait,
)
from monitor.judge.provider.refusals import Action

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class HTTPStatusError(Exception):
    """As the HTTP library raises it when a server answers with an error status."""

    def __init__(self, status: int, headers: dict[str, str] | None = None) -> None:
        super().__init__("HTTP error")
        self.response = SimpleNamespace(status_code=status, headers=headers or {})


class ClientError(Exception):
    """As the client library raises it; the name says nothing about the cause."""

    def __init__(
        self,
        message: str = "",
        status: int | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status_code = status
        self.body = {"code": code}
        self.litellm_response_headers = headers


class RateLimitError(ClientError):
    """The client library's name for whatever speaks of rates."""


ClientError.__name__ = (
    "APIError"  # aiohttp has a ClientError too, and that one is a lost connection
)


def caused(error: Exception, *causes: Exception) -> Exception:
    for effect, cause in zip((error, *causes), causes, strict=False):
        effect.__cause__ = cause
    return error


def fault(error: Exception) -> Fault:
    found = explain(error, NOW)
    assert found is not None
    return found


ANSWERED = [
    (400, "rejected", False),
    (401, "auth", False),
    (402, "auth", False),
    (403, "auth", False),
    (404, "rejected", False),
    (407, "auth", False),
    (408, "timeout", True),
    (409, "rejected", True),
    (410, "rejected", False),
    (413, "too_long", False),
    (422, "rejected", False),
    (425, "rejected", True),
    (429, "rate_limited", True),
    (500, "server_error", True),
    (502, "server_error", True),
    (503, "server_error", True),
    (504, "timeout", True),
    (529, "server_error", True),
]


@pytest.mark.parametrize(("status", "reason", "retriable"), ANSWERED)
def test_a_real_answer_is_read_by_its_status(status: int, reason: str, retriable: bool) -> None:
    """The status that the server sent decides, whatever class and status the client makes of it."""
    for claimed in (status, 429, 500):
        found = fault(caused(RateLimitError("rate limit", claimed), HTTPStatusError(status)))
        assert (found.reason, found.retriable) == (reason, retriable)
        assert found.note == f"status {status}"


@pytest.mark.parametrize("status", [401, 429, 500])
def test_without_a_cause_the_clients_own_status_counts(status: int) -> None:
    """An error that no HTTP answer caused, such as a missing key, is read by its own status."""
    expected = {code: (reason, again) for code, reason, again in ANSWERED}[status]
    found = fault(ClientError("no key", status))
    assert (found.reason, found.retriable) == expected


@pytest.mark.parametrize("said", ["Missing credentials. Please", "Missing Gemini API key. Set"])
def test_a_missing_key_is_not_retried(said: str) -> None:
    """The client calls its own refusal to send a server error."""
    found = fault(caused(ClientError(f"XException - {said}", 500), ValueError(said)))
    assert (found.reason, found.retriable) == ("auth", False)


def test_lost_connections_and_timeouts_are_told_apart() -> None:
    """Both come as status 500 from the client; the cause tells, and both are tried again."""
    refused = fault(caused(ClientError("Connection error.", 500), ConnectionRefusedError()))
    assert (refused.reason, refused.retriable) == ("connection", True)
    late = fault(caused(ClientError("late", 500), TimeoutError()))
    assert (late.reason, late.retriable) == ("timeout", True)
    assert fault(TimeoutError()).reason == "timeout"


def named(name: str, *bases: type[Exception]) -> Exception:
    """An error of a library that is known by its name."""
    made: type[Exception] = type(name, bases or (Exception,), {})
    return made()


@pytest.mark.parametrize(
    ("causes", "is_cut_off"),
    [
        ([TimeoutError()], True),
        ([named("ReadTimeout", TimeoutError)], True),
        ([named("ConnectTimeout", TimeoutError)], False),
        ([named("PoolTimeout", TimeoutError)], False),
        ([ConnectionRefusedError()], False),
        ([socket.gaierror(socket.EAI_AGAIN, "no")], False),
        ([named("ReadError", OSError), named("ServerDisconnectedError", OSError)], True),
        # A connection that is reset: the library calls it one that could not be made.
        ([named("ConnectError", OSError), named("ClientOSError", OSError)], True),
        ([named("ConnectError", OSError), named("ClientConnectorError", OSError)], False),
        ([HTTPStatusError(504)], False),
    ],
)
def test_a_request_is_cut_off_where_it_was_sent_and_not_answered(
    causes: list[Exception], is_cut_off: bool
) -> None:
    """That may be on a bill; what found no connection is not, and an error status is an answer."""
    assert fault(caused(ClientError("x", 500), *causes)).is_cut_off is is_cut_off


def test_a_dead_name_is_not_one_that_cannot_be_looked_up() -> None:
    """No such host: nothing to retry. A name server that is away is as any lost connection."""
    for number, action in ((socket.EAI_NONAME, Action.STOP), (socket.EAI_AGAIN, Action.RETRY)):
        found = fault(caused(ClientError("x", 500), socket.gaierror(number, "no")))
        assert (found.reason, found.action) == ("connection", action)


@pytest.mark.parametrize(
    "error",
    [
        ClientError("LiteLLM: provider returned a response with no 'choices'", 500),
        ClientError("Empty or invalid response from LLM endpoint", 500),
        caused(ClientError("x", 500), ValueError(), type("JSONDecodeError", (ValueError,), {})()),
        ClientError("x", 200),
        ClientError("x", None),
    ],
)
def test_an_unreadable_answer_is_no_fault_of_the_transport(error: Exception) -> None:
    """A 200 that holds no message is a bad reply: the judge is asked again with a complaint."""
    assert explain(error, NOW) is None


def test_an_unknown_error_is_not_retried() -> None:
    """What is no error of the client library is rejected by its class name."""
    found = fault(KeyError("secret"))
    assert (found.reason, found.retriable, found.note) == ("rejected", False, "KeyError")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ClientError("quota", 429, code="insufficient_quota"), 429),
        (ClientError('{"error":{"code":"insufficient_quota"}}', 429), 429),
        (ClientError("Your credit balance is too low", 400), 400),
        (ClientError("API key not valid. Please pass a valid one.", 400), 400),
        (ClientError("invalid_grant: Bad Request", 400), 400),
    ],
)
def test_an_empty_account_is_not_retried(error: Exception, status: int) -> None:
    """Some 429s and 400s speak of money or keys: no waiting heals them."""
    found = fault(caused(error, HTTPStatusError(status, {"retry-after": "1"})))
    assert (found.reason, found.retriable) == ("auth", False)


def test_a_server_error_that_quotes_such_words_is_still_retried() -> None:
    """A 5xx body may quote anything, also the traffic."""
    found = fault(caused(ClientError("insufficient_quota", 500), HTTPStatusError(500)))
    assert (found.reason, found.retriable) == ("server_error", True)


def test_notes_never_quote_the_body() -> None:
    """Notes hold the status and well-formed codes only: a body may quote the traffic."""
    found = fault(caused(ClientError("a secret", 400, code="a secret"), HTTPStatusError(400)))
    assert found.note == "status 400"
    named = fault(caused(ClientError("", 400, code="model_not_found"), HTTPStatusError(400)))
    assert named.note == "status 400 model_not_found"


def test_retry_after_is_read_from_either_place() -> None:
    """The client's copy of the headers is used, else those of the answer itself."""
    copied = ClientError("", 429, headers={"Retry-After": "7"})
    assert fault(caused(copied, HTTPStatusError(429))).wait_s == 7.0
    own = caused(ClientError("", 529), HTTPStatusError(529, {"retry-after": "2"}))
    assert fault(own).wait_s == 2.0
    assert fault(caused(ClientError("", 503), HTTPStatusError(503))).wait_s is None


@pytest.mark.parametrize(("milliseconds", "seconds"), [("1500", 1.5), ("soon", 2.0), ("", 2.0)])
def test_milliseconds_are_exact(milliseconds: str, seconds: float) -> None:
    """Azure says both; what is no number is as if it were not there."""
    headers = {"retry-after-ms": milliseconds, "retry-after": "2"}
    error = caused(ClientError("", 429), HTTPStatusError(429, headers))
    assert fault(error).wait_s == seconds


def test_headers_of_an_answer_outdo_what_its_body_says() -> None:
    """As with a refusal by its status; without a header the body's own word holds."""
    body = '{"error": {"code": 429, "details": [{"retryDelay": "9s"}]}}'
    waits = {}
    for name in ("Retry-After", "RETRY-AFTER-MS", "x-other"):
        found = fault_in(ProviderAnswer(body, {name: "2"}), NOW)
        assert found is not None
        waits[name] = found.wait_s
    assert waits == {"Retry-After": 2.0, "RETRY-AFTER-MS": 0.002, "x-other": 9.0}


def test_a_very_long_retry_after_ends_the_call() -> None:
    """Waiting past every deadline is no use, and neither is coming back too soon."""
    seconds = MAX_RETRY_AFTER_S + 1
    error = ClientError("", 429, headers={"retry-after": str(seconds)})
    found = fault(caused(error, HTTPStatusError(429)))
    assert (found.reason, found.retriable, found.wait_s) == ("rate_limited", False, seconds)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("1.5", 1.5),
        (" 7 ", 7.0),
        ("Thu, 01 Jan 2026 00:01:00 GMT", 60.0),
        ("Wed, 31 Dec 2025 00:00:00 GMT", 0.0),
        ("Thu, 01 Jan 2026 00:00:05 -0000", 5.0),
        ("soon", None),
        ("-3", None),
        ("nan", None),
        ("1e9", None),
        ("", None),
        ("Thu, 01 Jan 99999999999 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    """Anything that is neither is ignored, and a date in the past means now."""
    assert seconds_to_wait(value, NOW) == seconds


def test_a_loop_of_causes_ends() -> None:
    """Errors that cause each other are walked once."""
    one, two = ClientError("", 500), ClientError("", 500)
    one.__cause__, two.__cause__ = two, one
    assert fault(one).reason == "server_error"
