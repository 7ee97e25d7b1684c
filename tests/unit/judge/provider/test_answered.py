"""Errors in the body of an answer: where they stand, and which status they would have had."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monitor.judge.provider.answered import error_in
from monitor.judge.provider.refusals import Action, action_for

REPLY = {"choices": [{"finish_reason": "stop", "message": {"content": '{"error": "no"}'}}]}


def status(body: Any) -> int | None:
    found = error_in(json.dumps(body))
    return None if found is None else found[0]


@pytest.mark.parametrize(
    "error", [None, {}, "", False, {"code": None, "message": "", "type": ""}, {"code": 0}, []]
)
def test_an_error_that_says_nothing_is_none(error: Any) -> None:
    """Some gateways put one into every reply; words of the reply itself are no error either."""
    assert status(REPLY | {"error": error}) is None
    assert status(REPLY) is None


@pytest.mark.parametrize(
    "text", ["", "no JSON", '"error"', "[]", '["error"]', "[" * 9_999 + '"error"']
)
def test_what_is_no_object_holds_no_error(text: str) -> None:
    """It is read by whoever reads replies."""
    assert error_in(text) is None


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": 429}},
        {"error": {"code": "429", "message": "m"}},
        {"error": {"status": 429, "code": "x"}},
        {"error": {"code": 7, "status_code": 429, "message": "m"}},
        [{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}],
        {"object": "error", "code": 429, "message": "m"},
        {"type": "error", "code": 429},
        {"choices": [{"error": {"code": 429}}]},
        {"choices": [{"error": {"code": 429}, "finish_reason": "error"}]},
        {"error": {"type": "rate_limit_error"}},
        {"error": {"type": "invalid_request_error", "code": "rate_limit_exceeded"}},
    ],
)
def test_a_status_is_a_number_or_a_word_wherever_it_stands(body: Any) -> None:
    """In place of choices, beside them, in the first; numbers outdo words."""
    assert status(body) == 429


@pytest.mark.parametrize("code", [True, 200, 399, 600, "4.29", -429])
def test_a_code_that_is_no_error_status_names_none(code: Any) -> None:
    """Without a word for it either it has broken off."""
    assert status({"error": {"code": code, "message": "m"}}) == 502


def test_a_reply_that_ends_with_an_error_has_broken_off() -> None:
    """Also where nobody says which; what a later choice says does not count, nobody reads it."""
    assert status({"choices": [{"finish_reason": "error"}]}) == 502
    assert status({"choices": [{}, {"finish_reason": "error"}]}) is None


def test_a_phrase_decides_where_no_status_is_named() -> None:
    """As it does beside status 400; without one it has broken off, and passes."""
    for message, action in (
        ("Your credit balance is too low", Action.STOP),
        ("This model's maximum context length is 8 tokens", Action.SHRINK),
        ("upstream connect error", Action.RETRY),
    ):
        found = error_in(json.dumps({"error": message}))
        assert found is not None
        assert action_for(*found)[0] is action


def test_words_that_an_error_quotes_of_the_request_name_nothing() -> None:
    """Only where the limit comes from is read of what stands beside the message."""
    quoted = {"flagged_input": "invalid_api_key", "raw": "insufficient_quota"}
    found = error_in(json.dumps({"error": {"code": 400, "message": "m", "metadata": quoted}}))
    assert found is not None
    assert action_for(*found) == (Action.FALLBACK, "rejected")
