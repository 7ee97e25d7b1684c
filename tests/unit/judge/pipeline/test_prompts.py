"""The prompt files: immutable once published, and true to the wire format they teach."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b
from importlib.resources import files

import pytest

from monitor.judge.pipeline.examples import (
    SHAPES,
    quote_example,
    relevance_example,
    verify_example,
)
from monitor.judge.pipeline.parsing import ExtractRequest, VerifyRequest
from monitor.judge.pipeline.prompts import BANK_FILE, FILES, RULES, Prompts, load_prompts
from monitor.judge.pipeline.quoting import QuoteRequest
from monitor.judge.pipeline.relating import RelevanceRequest
from monitor.judge.ports import Task, Turn
from tests.stages.checklist import split
from tests.tokens import count_tokens

OFF_ON = (False, True)
ALL = load_prompts(evidence=True, relevance=True, answers=True)

# A published file never changes. A new wording is a new file, and a new line here.
PUBLISHED = {
    "extract_claims.v1.md": "c2d80ebe8f155e9fb51f60679ebc5c30",
    "extract_claims.v2.md": "497cd219013b2734b73acdbe13dccb91",
    "verify_claims.v1.md": "8232b652bb02a21a4ba182e525640e29",
    "verify_claims.v2.md": "0b8d16a78a997bb25da6e32e1c983358",
    "quote_evidence.v1.md": "f39e5a0a20a9f00e1f378208e128df09",
    "judge_relevance.v1.md": "4399ed19f206efd39d8b545cb8639481",
    "verify_claims_one.v3.md": "82c1e079ef832a028648fa352b64aa88",
    "verify_claims_several.v3.md": "5d12717578146a2c59eaed02e997ef42",
    "verify_claims_one.v4.md": "c794bd2d06526174d1715025e2bacaa7",
    "verify_claims_one_reference.v3.md": "603b939dfd47f0d2969fcf41b5f5f905",
    "verify_claims_several_reference.v3.md": "6d906cd784db027212014ff50edca7a5",
    "verify_claims_one_answer.v1.md": "7388f7b95edd0d27dc88b17e2ea09fb5",
    "verify_claims_one_answer.v2.md": "80f20e48c6a08240bd40329140a5a772",
    "verify_claims_one_reference_answer.v1.md": "ca896cb969c2fee13b242479f72f76f7",
    "verify_claims_several_answer.v1.md": "8ae8e2a61d060234a625d627f08aada1",
    "verify_claims_several_reference_answer.v1.md": "b66d9b1b0eac2283f25be6d92cb3078a",
    "quote_evidence_one.v2.md": "46557e2fd3299106fdf771cb18669d78",
    "quote_evidence_several.v2.md": "03d46557294bc439b41b8c9ab03ae3c3",
    "judge_relevance_one.v2.md": "ebf129daa197b9443ffe389ee86c90c7",
    "judge_relevance_several.v2.md": "3c5e1f951bb12153609d09c5aae82677",
    "examples.v1.json": "46cfbe7f147acf714b6a777bc21383ec",
    "verify_claims_rules.v1.md": "6cd8326750351405f42613dd1bedaf73",
    "verify_claims_rules_answer.v1.md": "ee5f0d5ae3044df322e9e986daab1ea1",
    "quote_evidence_rules.v1.md": "b6a38beb2f26c698a9729124f82ce9f2",
    "judge_relevance_rules.v1.md": "7cb03615c4c7ffeed0fb4373b66509a1",
    "judge_pair.v1.md": "d1c11fc9549b8c8e66aa73f50dec354a",
}


def with_example(task: Task) -> list[str]:
    """The shapes whose files end with a worked example."""
    return [shape for shape in FILES[task] if not shape.startswith(RULES)]


def raw(name: str) -> bytes:
    return files("monitor.judge.pipeline.prompts").joinpath(name).read_bytes()


def examples(task: Task, shape: str) -> Iterator[Turn]:
    """The worked examples in a file: messages and replies, line by line."""
    lines = split(ALL.of(task, shape))[1]
    return map(Turn, lines[::2], lines[1::2])


def test_published_files_are_unchanged() -> None:
    """Every prompt file has the hash that it was published with, and none is unlisted."""
    found = {
        entry.name: blake2b(raw(entry.name), digest_size=16).hexdigest()
        for entry in files("monitor.judge.pipeline.prompts").iterdir()
        if entry.name.endswith((".md", ".json"))
    }
    assert found == PUBLISHED


@pytest.mark.parametrize("task", [task for task, names in FILES.items() if RULES in names])
def test_rules_alone_are_those_of_every_shape(task: Task) -> None:
    """To the byte: a judge that is shown other examples judges by the same rules."""
    for shape in with_example(task):
        assert ALL.rules(task, shape) == split(ALL.of(task, shape))[0]


def test_system_messages_are_the_files_byte_for_byte() -> None:
    """The loaded texts encode to exactly the bytes on disk, with plain line ends."""
    texts = {**load_prompts(pairs=True).texts, **ALL.texts}
    assert texts.keys() == FILES.keys()
    for task, names in FILES.items():
        for shape, name in names.items():
            assert texts[task][shape].encode() == raw(name)
            assert "\r" not in texts[task][shape]
    assert ALL.bank.encode() == raw(BANK_FILE)


def test_hash_covers_all_texts_and_their_border() -> None:
    """Changing any text, or moving text from one to the other, changes the hash."""

    def of(extract: str, verify: str, bank: str = "") -> str:
        texts: dict[Task, dict[str, str]] = {"extract_claims": {"": extract}}
        return Prompts({**texts, "verify_claims": {"one": verify}}, bank).hash

    hashes = {of("a", "bc"), of("ab", "c"), of("a", "b"), of("", "abc"), of("a", "bc", "d")}
    assert len(hashes) == 5
    assert load_prompts().hash == "4ebe4c60"


def test_extract_example_is_the_real_wire_format() -> None:
    """The worked example is byte for byte what is sent, and its reply parses."""
    ((message, reply),) = examples("extract_claims", "")
    body = json.loads(message)
    request = ExtractRequest(body["question"], body["text"])
    assert request.message() == message
    claims = request.read(reply)
    assert len(claims) == 6
    assert "Lisbon is in Spain." in claims
    assert "Acme 有约300名员工。" in claims


@pytest.mark.parametrize("shape", SHAPES)
def test_verify_examples_are_made_like_those_of_any_shape(shape: str) -> None:
    """The file ends with the example that is made for its shape."""
    assert tuple(examples("verify_claims", shape)) == verify_example(*SHAPES[shape])


def test_an_example_picked_by_hand_is_balanced_and_does_not_always_end_alike() -> None:
    """On its passage and on the response y and n are equally frequent, all in all."""
    assert set(with_example("verify_claims")) - SHAPES.keys() == {"one", "one_answer"}
    for shape in ("one", "one_answer"):
        ((_, reply),) = examples("verify_claims", shape)
        lines = [said.split() for name, said in json.loads(reply).items() if name[0] == "c"]
        tokens = [token[1] for line in lines for token in line]
        assert tokens.count("y") == tokens.count("n")
        assert {line[-1] for line in lines} == {"Ay", "An"}


@pytest.mark.parametrize("shape", with_example("verify_claims"))
def test_verify_examples_are_the_real_wire_format(shape: str) -> None:
    """The worked example is byte for byte what is sent, and its reply parses."""
    found = tuple(examples("verify_claims", shape))
    body = json.loads(found[0].user)
    request = VerifyRequest(body["n"], body["question"], body["documents"], body["claims"])
    assert (request.message(), request.shape) == (found[0].user, shape)
    verdicts = request.read(found[0].reply)
    plus, *others = (verdict.together for verdict in verdicts.values())
    assert (plus, others) == ("several" in shape, [False] * (3 if "answer" in shape else 2))


def test_both_answers_to_the_question_are_shown() -> None:
    """Of the files with that pair half say y; the response of the others is about another thing."""
    said = {}
    for shape in (shape for shape in with_example("verify_claims") if shape.endswith("_answer")):
        (turn,) = examples("verify_claims", shape)
        said[shape] = json.loads(turn.reply)["A"], json.loads(turn.user)["question"]
    assert sorted(said.values()) == [
        *[("Qn", "How old is the shop?")] * 2,
        *[("Qy", "How is the shop?")] * 2,
    ]


@pytest.mark.parametrize(
    "shape", [s for s in with_example("verify_claims") if not s.endswith("_answer")]
)
def test_with_that_pair_the_instructions_say_the_same_and_one_rule_more(shape: str) -> None:
    """Line by line: nothing else is changed of those without it but a number."""
    plain = split(ALL.of("verify_claims", shape))[0].splitlines()
    longer = split(ALL.of("verify_claims", f"{shape}_answer"))[0].splitlines()
    more = [line for line in longer if line not in plain]
    assert [line.split(" ", 1)[0] for line in more] == ["A,", "y:", "8.", "9."]
    assert more[3].removeprefix("9.") == next(p for p in plain if p[:2] == "8.").removeprefix("8.")


@pytest.mark.parametrize("shape", with_example("quote_evidence"))
def test_quote_examples_are_the_real_wire_format(shape: str) -> None:
    """The worked example is byte for byte what is sent; its quotes stand in their documents."""
    ((message, reply),) = examples("quote_evidence", shape)
    body = json.loads(message)
    pairs = tuple((pair.split()[0], pair.split()[1]) for pair in body["pairs"])
    request = QuoteRequest(body["n"], body["question"], body["documents"], body["claims"], pairs)
    assert (request.message(), request.shape) == (message, shape)
    assert (Turn(message, reply),) == quote_example(pairs)
    assert all(request.read(reply).values())


@pytest.mark.parametrize("shape", with_example("judge_relevance"))
def test_relevance_examples_are_the_real_wire_format(shape: str) -> None:
    """The worked examples are byte for byte what is sent; half of them say y, and not in a row."""
    found = tuple(examples("judge_relevance", shape))
    said: list[bool] = []
    for message, reply in found:
        body = json.loads(message)
        request = RelevanceRequest(body["n"], body["question"], body["documents"])
        assert (request.message(), request.shape) == (message, shape)
        said += request.read(reply).values()
    assert found == relevance_example(tuple(body["documents"]))
    assert said == ([True, False] if shape == "one" else [True, False, False, True])


def test_what_is_seldom_asked_is_in_the_hash_only_where_it_is_asked_for() -> None:
    """Without evidence and relevance the instructions are those of always."""
    assert list(load_prompts().texts) == ["extract_claims", "verify_claims"]
    hashes = {load_prompts(evidence=e, relevance=r).hash for e in OFF_ON for r in OFF_ON}
    hashes.add(load_prompts(answers=True).hash)
    assert len(hashes | {load_prompts(pairs=True).hash}) == 6
    assert list(load_prompts(pairs=True).texts) == ["extract_claims", "judge_pair"]


def test_prompts_fit_their_token_budget() -> None:
    """Both prompts together take 700 to 1,250 tokens: long enough to say it, cheap to send.

    To ask what the response is worth as an answer takes 150 more.
    """
    extract = count_tokens(ALL.of("extract_claims", ""))
    for shape, text in ALL.texts["verify_claims"].items():
        more = 150 if shape.endswith("_answer") else 0
        assert 700 <= extract + count_tokens(text) <= 1250 + more
