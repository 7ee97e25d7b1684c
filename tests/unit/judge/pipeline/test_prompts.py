"""The prompt files: immutable once published, and true to the wire format they teach."""

from __future__ import annotations

import json
from hashlib import blake2b
from importlib.resources import files

from monitor.judge.pipeline.parsing import ExtractRequest, VerifyRequest
from monitor.judge.pipeline.prompts import EXTRACT_FILE, VERIFY_FILE, Prompts, load_prompts
from monitor.judge.pipeline.quoting import QuoteRequest
from monitor.judge.pipeline.relating import RelevanceRequest
from tests.tokens import count_tokens

OFF_ON = (False, True)

# A published file never changes. A new wording is a new file, and a new line here.
PUBLISHED = {
    "extract_claims.v1.md": "c2d80ebe8f155e9fb51f60679ebc5c30",
    "extract_claims.v2.md": "497cd219013b2734b73acdbe13dccb91",
    "verify_claims.v1.md": "8232b652bb02a21a4ba182e525640e29",
    "verify_claims.v2.md": "0b8d16a78a997bb25da6e32e1c983358",
    "quote_evidence.v1.md": "f39e5a0a20a9f00e1f378208e128df09",
    "judge_relevance.v1.md": "4399ed19f206efd39d8b545cb8639481",
    "judge_pair.v1.md": "d1c11fc9549b8c8e66aa73f50dec354a",
}


def raw(name: str) -> bytes:
    return files("monitor.judge.pipeline.prompts").joinpath(name).read_bytes()


def example(prompt: str) -> tuple[str, str]:
    """The worked example of a prompt: the user message and the reply, its last two lines."""
    message, reply = prompt.splitlines()[-2:]
    return message, reply


def test_published_files_are_unchanged() -> None:
    """Every prompt file has the hash that it was published with, and none is unlisted."""
    found = {
        entry.name: blake2b(raw(entry.name), digest_size=16).hexdigest()
        for entry in files("monitor.judge.pipeline.prompts").iterdir()
        if entry.name.endswith(".md")
    }
    assert found == PUBLISHED


def test_system_messages_are_the_files_byte_for_byte() -> None:
    """The loaded texts encode to exactly the bytes on disk, with plain line ends."""
    prompts = load_prompts()
    assert prompts.extract.encode() == raw(EXTRACT_FILE)
    assert prompts.verify.encode() == raw(VERIFY_FILE)
    assert "\r" not in prompts.extract + prompts.verify


def test_hash_covers_both_texts_and_their_border() -> None:
    """Changing either text, or moving text from one to the other, changes the hash."""
    hashes = {Prompts(*pair).hash for pair in [("a", "bc"), ("ab", "c"), ("a", "b"), ("", "abc")]}
    assert len(hashes) == 4
    assert load_prompts().hash == "8e936ec0"


def test_extract_example_is_the_real_wire_format() -> None:
    """The worked example is byte for byte what is sent, and its reply parses."""
    message, reply = example(load_prompts().extract)
    body = json.loads(message)
    request = ExtractRequest(body["question"], body["text"])
    assert request.message() == message
    claims = request.read(reply)
    assert len(claims) == 6
    assert "Lisbon is in Spain." in claims
    assert "Acme 有约300名员工。" in claims


def test_verify_example_is_the_real_wire_format() -> None:
    """The worked example is byte for byte what is sent; its reply parses and shows every case."""
    message, reply = example(load_prompts().verify)
    body = json.loads(message)
    request = VerifyRequest(body["n"], body["question"], body["documents"], body["claims"])
    assert request.message() == message
    verdicts = request.read(reply)
    assert list(verdicts) == ["c1", "r1"]
    assert [verdicts[name].together for name in verdicts] == [True, False]
    assert verdicts["c1"].supported["A"]
    assert verdicts["r1"].supported == {"2": True, "1": False, "A": False, "R": True}


def test_quote_example_is_the_real_wire_format() -> None:
    """The worked example is byte for byte what is sent; its quotes stand in their documents."""
    message, reply = example(load_prompts(evidence=True).quote)
    body = json.loads(message)
    pairs = tuple((pair.split()[0], pair.split()[1]) for pair in body["pairs"])
    request = QuoteRequest(body["n"], body["question"], body["documents"], body["claims"], pairs)
    assert request.message() == message
    quotes = request.read(reply)
    assert list(quotes) == [("c1", "3"), ("c1", "1"), ("c2", "3")]
    assert all(quotes.values())


def test_relevance_example_is_the_real_wire_format() -> None:
    """The worked example is byte for byte what is sent, and its reply parses."""
    message, reply = example(load_prompts(relevance=True).relevance)
    body = json.loads(message)
    request = RelevanceRequest(body["n"], body["question"], body["documents"])
    assert request.message() == message
    assert request.read(reply) == {"3": False, "1": True, "2": True}


def test_what_is_seldom_asked_is_in_the_hash_only_where_it_is_asked_for() -> None:
    """Without evidence and relevance the instructions are those of always."""
    assert (load_prompts().quote, load_prompts().relevance) == ("", "")
    hashes = {load_prompts(evidence=e, relevance=r).hash for e in OFF_ON for r in OFF_ON}
    assert len(hashes | {load_prompts(pairs=True).hash}) == 5
    assert load_prompts(pairs=True).verify == ""


def test_prompts_fit_their_token_budget() -> None:
    """Both prompts together take 700 to 1,150 tokens: long enough to say it, cheap to send."""
    prompts = load_prompts()
    assert 700 <= count_tokens(prompts.extract) + count_tokens(prompts.verify) <= 1150
