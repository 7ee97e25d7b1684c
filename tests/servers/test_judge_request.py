"""What the simulated judge accepts and refuses, and how labels become verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.servers.judge_cases import (
    C1,
    EXTRACT,
    FIRST,
    LABELS,
    QUESTION,
    R1,
    RESPONSE,
    SECOND,
    VERIFY,
    chat,
    objected,
    request_and_reply,
    system,
)
from tests.servers.judge_labels import Labels
from tests.servers.judge_reply import honest_reply
from tests.servers.judge_request import BadRequest, read_request, shipped_prompts

RAW = json.dumps(VERIFY, ensure_ascii=False)
REORDERED = {key: EXTRACT[key] for key in ("task", "text", "question")}
BY_SYSTEM = {"role": "system", "content": system("extract_claims")}
BY_REPLY = {"role": "assistant", "content": "{}"}
BY_USER = {"role": "user", "content": json.dumps(EXTRACT)}


def test_passages_may_be_permuted_and_numbers_run_on_over_batches() -> None:
    """Pairs stand as the documents are listed, whatever their numbers."""
    documents = {"14": SECOND, "13": FIRST, "A": RESPONSE}
    _, reply = request_and_reply({**VERIFY, "documents": documents, "claims": {"c9": C1}})
    assert reply.encode() == '{"n":742,"c9":"14y 13n Ay"}'


@pytest.mark.parametrize(
    ("documents", "claim", "tokens"),
    [
        ({"1": FIRST, "2": SECOND}, R1, "1n 2n +"),
        ({"1": FIRST, "2": RESPONSE}, R1, "1n 2n"),
        ({"1": FIRST}, R1, "1n"),
        ({"1": FIRST, "2": SECOND}, C1, "1n 2y"),
        ({"A": FIRST, "R": SECOND}, R1, "An Rn"),
    ],
    ids=["together", "set incomplete", "one passage", "one alone", "no passages"],
)
def test_a_plus_needs_the_whole_set_among_two_or_more_passages(
    documents: dict[str, str], claim: str, tokens: str
) -> None:
    """``+`` stands only if no passage alone, but a labelled set among them, supports the claim."""
    _, reply = request_and_reply({**VERIFY, "documents": documents, "claims": {"r1": claim}})
    assert " ".join(reply.lines[0].tokens) == tokens


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({**VERIFY, "n": 99}, "100…999"),
        ({**VERIFY, "n": True}, "100…999"),
        ({**VERIFY, "n": "742"}, "100…999"),
        ({**VERIFY, "documents": {}}, "not empty"),
        ({**VERIFY, "documents": {"A": "x", "1": "y"}}, "expected passages, A, R"),
        ({**VERIFY, "documents": {"R": "x", "A": "y"}}, "expected passages, A, R"),
        ({**VERIFY, "documents": {"01": "x"}}, "not an id"),
        ({**VERIFY, "documents": {"1": None}}, "not an id"),
        ({**VERIFY, "claims": {"r1": R1, "c1": C1}}, "rising c"),
        ({**VERIFY, "claims": {"c2": C1, "c1": C1}}, "rising c"),
        ({**VERIFY, "claims": {"q1": C1}}, "not an id"),
        ({**VERIFY, "claims": {"c1": "never labelled"}}, "no claim of any label"),
        ({**VERIFY, "more": 1}, "in this order"),
        ({**VERIFY, "complaint": "c1"}, "before it stand the request and the reply"),
        ({**EXTRACT, "task": "extract"}, "expected one of"),
        ({**EXTRACT, "text": "never labelled"}, "no claims for question"),
        ({**EXTRACT, "text": 1}, "text: expected a string"),
        (REORDERED, "in this order"),
        (RAW.replace("阿", "\\u963f"), "expected raw UTF-8"),
        (RAW.replace('"n": 742', '"n": 742, "n": 742'), "stands twice"),
        (RAW + "\n", "nothing around it"),
        (RAW + RAW, "not one JSON object"),
        ("verify, please", "not one JSON object"),
        ('["verify_claims"]', "expected one JSON object"),
    ],
)
def test_a_user_message_off_the_contract_is_refused(
    content: dict[str, Any] | str, message: str
) -> None:
    """Each deviation is refused with a message that names it."""
    with pytest.raises(BadRequest, match=message):
        honest_reply(read_request(chat(content), shipped_prompts()), LABELS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"complaint": ""}, "complaint: empty"),
        ({"complaint": f"c1 {C1} is missing"}, "repeats a text"),
        ({"complaint": ["c1"]}, "complaint: expected a string"),
        ({"n": 741}, "another number"),
        ({"expected": {"n": 742, "c1": "1?"}}, "other keys"),
        ({"expected": {"n": 742, "c1": C1, "r1": ""}}, "repeats a text"),
        ({"claims": {}}, "those of a complaint"),
    ],
)
def test_a_complaint_off_the_contract_is_refused(change: dict[str, Any], message: str) -> None:
    """It names ids and pairs, and shows what is expected; no text of the request is in it."""
    with pytest.raises(BadRequest, match=message):
        read_request(objected(VERIFY, "{}", **change), shipped_prompts())


def schema(name: str, key: str) -> dict[str, Any]:
    """A response format that asks for a list of strings under ``key``."""
    shape = {
        "type": "object",
        "properties": {key: {"type": "array", "items": {"type": "string"}}},
        "required": [key],
        "additionalProperties": False,
    }
    found = {"name": name, "strict": True, "schema": shape}
    return {"type": "json_schema", "json_schema": found}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"messages": [BY_USER]}, "expected a system message"),
        ({"messages": [BY_SYSTEM, BY_USER, BY_USER]}, "expected a system message"),
        (
            {"messages": [BY_SYSTEM, BY_USER, {**BY_REPLY, "content": ""}, BY_USER]},
            "expected a sys",
        ),
        ({"messages": [BY_SYSTEM, BY_USER, {**BY_REPLY, "content": "?"}, BY_USER]}, "not one JSON"),
        ({"messages": [BY_SYSTEM, {**BY_USER, "name": "x"}]}, "expected a system message"),
        ({"messages": [{**BY_SYSTEM, "role": "developer"}, BY_USER]}, "expected a system"),
        ({"messages": [{**BY_SYSTEM, "content": "Judge!"}, BY_USER]}, "byte for byte"),
        ({"messages": [{**BY_SYSTEM, "content": system("verify_claims")}, BY_USER]}, "byte for"),
        (
            {"messages": [{**BY_SYSTEM, "content": BY_SYSTEM["content"] + "\n"}, BY_USER]},
            "byte for byte",
        ),
        ({"user": "somebody"}, "unexpected keys"),
        ({"stream": True}, "no streaming"),
        ({"response_format": {"type": "json_schema"}}, "response_format: neither"),
        ({"response_format": schema("extract_claims", RESPONSE)}, "response_format: neither"),
    ],
)
def test_a_body_off_the_contract_is_refused(change: dict[str, Any], message: str) -> None:
    """Two messages, the shipped prompt of the very task, and no other place for traffic text."""
    with pytest.raises(BadRequest, match=message):
        read_request({**chat(EXTRACT), **change}, shipped_prompts())


def test_a_schema_of_the_reply_is_accepted() -> None:
    """The keys of the reply and their types, which hold no traffic text."""
    body = {**chat(EXTRACT), "response_format": schema("extract_claims", "claims")}
    assert read_request(body, shipped_prompts()).task == "extract_claims"


def test_escapes_that_json_or_utf8_need_are_accepted() -> None:
    """Control characters must be escaped, and a lone surrogate has no other form."""
    raw = RAW.replace("阿克", "\\u0001\\ud800\\\\u963f")
    assert read_request(chat(raw), shipped_prompts()).mentions("\x01\ud800\\u963f")


def test_labels_survive_their_file(tmp_path: Path) -> None:
    """What is written is what is read."""
    LABELS.write(tmp_path / "labels.jsonl")
    assert Labels.read(tmp_path / "labels.jsonl") == LABELS
    assert LABELS.claims[QUESTION, RESPONSE] == (C1,)


def test_a_line_that_is_no_label_is_named() -> None:
    """An unknown kind raises with the number of its line."""
    with pytest.raises(ValueError, match="line 2 is not a label"):
        Labels.parse([*list(LABELS.lines())[:1], '{"kind": "verdict"}'])
