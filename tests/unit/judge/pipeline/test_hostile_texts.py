"""2,000 hostile texts in every position: what is sent says what is meant, and nothing else."""

from __future__ import annotations

import json
import re
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.errors import ReplyRejected
from monitor.judge.pipeline.parsing import ExtractRequest, VerifyRequest, documents, nonce
from monitor.judge.pipeline.relating import RelevanceRequest
from tests.servers.judge_cases import system
from tests.servers.judge_request import Request, Task, read_request, shipped_prompts
from tests.stages.hostile_texts import FRAGMENTS, hostile_texts

EXAMPLES, AT_ONCE = 200, 10
PROMPTS = shipped_prompts()
SAYS_ALL = r"\s*2[yn]\s+1[yn]\s+3[yn]\s*"
SYSTEMS: dict[Task, str] = {task: system(task) for task in PROMPTS}
TEXTS = st.lists(hostile_texts(), min_size=AT_ONCE, max_size=AT_ONCE)


def often(examples: int) -> settings:
    """So many times, however long the texts are."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=examples, deadline=None, suppress_health_check=slow)


class Pairs(list[tuple[str, object]]):
    """A JSON object as it stands there: every key, in order, also when one stands twice."""


def as_sent(message: str) -> object:
    """What a server parses from the bytes of a message."""
    return json.loads(message.encode("utf-8"), object_pairs_hook=Pairs)


def second_opinion(task: Task, message: str) -> Request:
    """The request as a strict reader that was written from the contract understands it."""
    messages = [{"role": "system", "content": SYSTEMS[task]}, {"role": "user", "content": message}]
    return read_request({"model": "sim", "messages": messages}, PROMPTS)


def verify_request(text: str) -> VerifyRequest:
    """A request with this text wherever traffic can put one."""
    return VerifyRequest(
        nonce=nonce(text),
        question=text,
        documents=documents(text, [text, "P", text], text, text),
        claims={"c1": text, "c2": "C", "r1": text},
    )


@often(EXAMPLES)
@given(TEXTS)
def test_what_is_sent_parses_back_and_ids_are_ours(texts: list[str]) -> None:
    """Question, text, passages, both texts and claims come back identical, under our ids."""
    for text in texts:
        _extraction_parses_back(text)
        _verification_parses_back(text)
        _relevance_parses_back(text)


def _extraction_parses_back(text: str) -> None:
    message = ExtractRequest(text, text).message()
    assert as_sent(message) == [("task", "extract_claims"), ("question", text), ("text", text)]
    found = second_opinion("extract_claims", message)
    assert (found.content["question"], found.content["text"]) == (text, text)


def _verification_parses_back(text: str) -> None:
    request = verify_request(text)
    message = request.message()
    assert as_sent(message) == [
        ("task", "verify_claims"),
        ("n", request.nonce),
        ("question", text),
        ("documents", list(request.documents.items())),
        ("claims", [("c1", text), ("c2", "C"), ("r1", text)]),
    ]
    assert sorted(request.documents) == ["1", "2", "3", "A", "R"]
    assert 100 <= request.nonce <= 999
    found = second_opinion("verify_claims", message)
    assert found.content["documents"] == dict(request.documents)
    assert found.content["claims"] == dict(request.claims)


def relevance_request(text: str) -> RelevanceRequest:
    """The same about relevance: traffic is the question and the passages."""
    passages = {"2": text, "1": "P", "3": text}
    return RelevanceRequest(nonce=nonce(text), question=text, documents=passages)


def _relevance_parses_back(text: str) -> None:
    request = relevance_request(text)
    message = request.message()
    assert as_sent(message) == [
        ("task", "judge_relevance"),
        ("n", request.nonce),
        ("question", text),
        ("documents", [("2", text), ("1", "P"), ("3", text)]),
    ]
    found = second_opinion("judge_relevance", message)
    assert found.content["documents"] == dict(request.documents)


@often(EXAMPLES // 2)
@given(TEXTS)
def test_replies_that_repeat_a_text_say_nothing_of_relevance(texts: list[str]) -> None:
    """The same for relevance: only the tokens asked are let in."""
    for text in texts:
        request = relevance_request(text)
        for reply in (
            {"n": request.nonce, "relevant": text},
            {"n": request.nonce, "relevant": "2n 1n 3n", text: "2y"},
            {text: request.nonce, "relevant": "2n 1n 3n"},
            {"n": text, "relevant": "2n 1n 3n"},
        ):
            complaint = _complaint(request, json.dumps(reply))
            if complaint is None:
                assert text in ("n", "relevant") or re.fullmatch(SAYS_ALL, text)
            else:
                assert len(text) < 12 or text not in complaint


@often(EXAMPLES // 2)
@given(TEXTS)
def test_replies_that_repeat_a_text_are_no_verdicts(texts: list[str]) -> None:
    """A text as a key or as a value is refused, unless it says all pairs; complaints quote none."""
    for text in texts:
        request = verify_request(text)
        right = {name: " ".join(f"{d}n" for d in request.asked(name)) for name in request.claims}
        for reply in (
            {"n": request.nonce, **right, "c1": text},
            {"n": request.nonce, **right, text: "1y"},
            {text: request.nonce, **right},
            {"n": text, **right},
        ):
            _refused(request, json.dumps(reply), text)
        _refused(request, text, text)


def _refused(request: VerifyRequest, reply: str, text: str) -> None:
    complaint = _complaint(request, reply)
    if complaint is None:
        # The only way in: exactly the tokens asked, or a key that is no other than ours.
        assert _says_all(request, text) or text in ("n", *request.claims)
    else:
        assert len(text) < 12 or text not in complaint


def _complaint(request: VerifyRequest | RelevanceRequest, reply: str) -> str | None:
    try:
        request.read(reply)
    except ReplyRejected as rejected:
        return rejected.complaint
    return None


def _says_all(request: VerifyRequest, text: str) -> bool:
    asked = [re.escape(name) + "[yn]" for name in request.asked("c1")]
    return re.fullmatch(r"\s*" + r"\s+".join(asked) + r"(\s+\+)?\s*", text) is not None


def test_half_a_character_is_sent_escaped() -> None:
    """A lone surrogate has no UTF-8; behind a backslash of the text, too, it comes back."""
    for text in ("\ud800", "a\\\ud800b", "\\\\\udfff", '"\udc00"', "\\ud800"):
        message = ExtractRequest("?", text).message()
        assert json.loads(message.encode())["text"] == text


def test_the_texts_are_hostile() -> None:
    """Among what is drawn there is each kind that the wire format has to withstand."""
    drawn = [text for seed in range(40) for text in _drawn(seed)]
    for mark in ('"', "{", "\\", "\n", "\u202e", "\ud800", "c1", "assistant", "Ignore", "\0"):
        assert any(mark in text for text in drawn), ascii(mark)


def _drawn(seed: int) -> list[str]:
    rng = Random(seed)
    return ["".join(rng.choices(FRAGMENTS, k=6)) for _ in range(10)]
