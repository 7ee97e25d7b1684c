"""The wire format: what is sent, and everything that a reply may not be."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.errors import ReplyRejected
from monitor.judge.pipeline.complaints import Complaint
from monitor.judge.pipeline.parsing import (
    ExtractRequest,
    VerifyRequest,
    documents,
    has_words,
    nonce,
    passage_order,
)

# Text that breaks careless templates: quotes, braces, separators, direction marks, line ends.
hostile = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text(st.sampled_from('"\\{}[]:,+\u202e\u200f\u2028\x00\n\r\t`人é😀c1An')),
)

REQUEST = VerifyRequest(
    nonce=742,
    question="q",
    documents={"2": "two", "1": "one", "A": "answer", "R": "reference"},
    claims={"c1": "first", "c2": "second", "r1": "third"},
)
GOOD = '{"n":742,"c1":"2n 1y Rn Ay","c2":"2n 1n Rn Ay +","r1":"2n 1n Ay Ry"}'


def rejection(request: ExtractRequest | VerifyRequest, reply: str) -> ReplyRejected:
    with pytest.raises(ReplyRejected) as caught:
        request.read(reply)
    return caught.value


def test_extract_message_has_the_contract_keys_in_order() -> None:
    """The extract message is compact JSON in raw UTF-8."""
    request = ExtractRequest('他说"hi"', "naïve {x}")
    assert request.message() == (
        r'{"task":"extract_claims","question":"他说\"hi\"","text":"naïve {x}"}'
    )


def test_verify_message_has_the_contract_keys_in_order() -> None:
    """The verify message lists documents and claims in the order asked."""
    assert REQUEST.message() == (
        '{"task":"verify_claims","n":742,"question":"q",'
        '"documents":{"2":"two","1":"one","A":"answer","R":"reference"},'
        '"claims":{"c1":"first","c2":"second","r1":"third"}}'
    )


@given(question=hostile, text=hostile)
def test_extract_message_round_trips(question: str, text: str) -> None:
    """Whatever the traffic holds, the message parses back to the identical object."""
    message = ExtractRequest(question, text).message()
    assert json.loads(message) == {"task": "extract_claims", "question": question, "text": text}
    assert message.encode().decode() == message


@given(texts=st.lists(hostile, max_size=5), own=hostile, reference=st.none() | hostile)
def test_verify_message_round_trips(texts: list[str], own: str, reference: str | None) -> None:
    """Documents and claims come back identical and in order, whatever they hold."""
    listed = documents("some id", texts, own, reference)
    claims = {f"c{i}": text for i, text in enumerate(texts, 1)}
    body = json.loads(VerifyRequest(100, own, listed, claims).message())
    assert list(body) == ["task", "n", "question", "documents", "claims"]
    assert list(body["documents"].items()) == list(listed.items())
    assert list(body["claims"].items()) == list(claims.items())
    assert [listed[str(i)] for i in range(1, len(texts) + 1)] == texts
    assert list(listed)[len(texts) :] == (["A"] if reference is None else ["A", "R"])


@given(claims=st.lists(hostile.filter(str.strip)))
def test_extract_reply_round_trips(claims: list[str]) -> None:
    """Claims are taken as they stand, escaped or raw, and an empty list is an answer."""
    for ascii_only in (True, False):
        reply = json.dumps({"claims": claims}, ensure_ascii=ascii_only)
        assert ExtractRequest("", "").read(reply) == tuple(claims)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "no JSON",
        "null",
        "7",
        '["a"]',
        '"claims"',
        "{}",
        '{"claims":{}}',
        '{"claims":"a"}',
        '{"claims":null}',
        '{"claims":[1]}',
        '{"claims":[""]}',
        '{"claims":["a"," \\n"]}',
        '{"claims":[["a"]]}',
        '{"claims":["\\ud800"]}',
        '{"claims":["a"],"note":"b"}',
        '{"claims":["a"],"claims":["b"]}',
        '{"Claims":["a"]}',
        '{"claims":[NaN]}',
        'Here it is: {"claims":["a"]}',
        '{"claims":["a"]} Done.',
        '```json\n{"claims":["a"]}\n```\nDone.',
        'Here it is:\n```json\n{"claims":["a"]}\n```',
        '```json\n```json\n{"claims":["a"]}\n```\n```',
        '```json\n{"claims":["a"]}\n{"claims":["a"]}\n```',
        '```json\n{"claims":["a"]}\n```\n```json\n{"claims":["a"]}\n```',
        '```json\n["a"]\n```',
        '```json\n{"claims":["a"]}\n',
        '{"claims":["a"]}\n```',
        '```python\n{"claims":["a"]}\n```',
        "```json\n```",
        "```",
        '{"claims":["a"]}{"claims":["a"]}',
        "[" * 100_000,
        '{"claims":' + "9" * 5000 + "}",
    ],
)
def test_bad_extract_replies_are_rejected(reply: str) -> None:
    """Anything but exactly one object with a list of non-empty strings is asked again."""
    assert rejection(ExtractRequest("", ""), reply).reason == "malformed_reply"


@pytest.mark.parametrize("reply", ["{", '{"claims":["a', '{"claims":["a"]'])
def test_an_extraction_that_ends_too_early_is_at_the_output_limit(reply: str) -> None:
    """Whatever finish reason the provider gives with it."""
    assert rejection(ExtractRequest("", ""), reply).reason == "output_limit"


def test_pairs_follow_the_contract_order() -> None:
    """Passages as listed, then the other text, then the claim's own text."""
    assert REQUEST.asked("c1") == ("2", "1", "R", "A")
    assert REQUEST.asked("r1") == ("2", "1", "A", "R")
    unreferenced = VerifyRequest(100, "", {"1": "", "A": ""}, {})
    assert unreferenced.asked("c1") == ("1", "A")
    assert VerifyRequest(100, "", {"A": "", "R": ""}, {}).asked("c1") == ("R", "A")


def test_good_reply_is_read_pair_by_pair() -> None:
    """Verdicts are keyed by document; ``+`` marks support by several passages together."""
    verdicts = REQUEST.read(GOOD)
    assert verdicts["c1"].supported == {"2": False, "1": True, "R": False, "A": True}
    assert [verdicts[name].together for name in verdicts] == [False, True, False]


def test_tokens_are_split_at_any_white_space() -> None:
    """Line ends and tabs between tokens, and white space around the object, are no fault."""
    loose = "\n " + GOOD.replace("2n 1y", r"  2n\n\t1y ") + "\n"
    assert REQUEST.read(loose) == REQUEST.read(GOOD)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        *((f"{opening}\n", "```") for opening in ("```json", "```", "```JSON\r", "\ufeff```json")),
        *((f"{opening}\n", "```") for opening in ("``` json", "```json5", "```jsonc", " \n```\n")),
        ("```json ", "```"),
        ("~~~json\n", "~~~"),
        ("````\n", "````"),
    ],
)
def test_one_code_fence_around_the_whole_object_is_taken_off(opening: str, closing: str) -> None:
    """What stands in it is read as strictly as ever, and fences within strings are theirs."""
    assert REQUEST.read(f"{opening}{GOOD}\n{closing}\n") == REQUEST.read(GOOD)
    claims = ("Write ```json first.", "```")
    reply = json.dumps({"claims": claims})
    assert ExtractRequest("", "").read(f"{opening}{reply}{closing}") == claims
    cut = rejection(REQUEST, opening + GOOD[:20])
    assert (cut.reason, cut.kind) == ("output_limit", "cut")


def test_plus_on_a_reference_claim_is_accepted() -> None:
    """An ``r*`` line may end in ``+`` as in the contract's own example."""
    reply = GOOD.replace('2n 1n Ay Ry"', '2n 1n An Ry +"')
    assert REQUEST.read(reply)["r1"].supported["A"] is False


BAD_KEYS = [
    (GOOD.replace('"n":742', '"n":743'), "742"),
    (GOOD.replace('"n":742', '"n":742.0'), "742"),
    (GOOD.replace('"n":742', '"n":"742"'), "742"),
    (GOOD.replace('"n":742', '"n":true'), "742"),
    (GOOD.replace('"n":742,', ""), "missing keys: n"),
    (GOOD.replace(',"c2":"2n 1n Rn Ay +"', ""), "missing keys: c2"),
    (GOOD.replace('"c2"', '"c3"'), "missing keys: c2, unknown keys: c3"),
    (GOOD.replace('"c2"', '"c1"'), "missing keys: c2, duplicate keys: c1"),
    (GOOD[:-1] + ',"r1":"2n 1n Ay Ry"}', "duplicate keys: r1"),
    (GOOD[:-1] + ',"n":742}', "duplicate keys: n"),
    (GOOD[:-1] + ',"r2":"2n 1n Ay Ry"}', "unknown keys: r2"),
    (GOOD[:-1] + ',"secret":"x"}', "1 keys that are malformed"),
    ('{"n":742,"c2":"2n 1n Rn Ay","c1":"2n 1n Rn Ay","r1":"2n 1n Ay Ry"}', "c1 c2 r1"),
    ('{"c1":"2n 1n Rn Ay","n":742,"c2":"2n 1n Rn Ay","r1":"2n 1n Ay Ry"}', "first key"),
    (f"```json\n{GOOD}\n```\nI hope that helps.", "one JSON object"),
    (f'```json\n{GOOD[:-1]},"r2":"2n 1n Ay Ry"}}\n```', "unknown keys: r2"),
    (f"```json\n{GOOD}\n~~~", "one JSON object"),
    (f"```json Sure:\n{GOOD}\n```", "one JSON object"),
    (f"Sure! {GOOD}", "one JSON object"),
    (GOOD[:-9], "one JSON object"),
]


@pytest.mark.parametrize(("reply", "complaint"), BAD_KEYS)
def test_wrong_keys_are_rejected_by_name(reply: str, complaint: str) -> None:
    """Keys are exactly n and the asked ids in order, once each, with the nonce that was sent."""
    assert complaint in rejection(REQUEST, reply).complaint


KINDS = [
    ("", Complaint.EMPTY),
    ("Sorry, no.", Complaint.NOT_JSON),
    ("[]", Complaint.NOT_JSON),
    (GOOD[:30], Complaint.CUT),
    (GOOD.replace('"c2"', '"c3"'), Complaint.KEYS),
    (GOOD.replace("742", "743"), Complaint.NONCE),
    (GOOD.replace('"2n 1n Ay Ry"', "7"), Complaint.VALUES),
    (GOOD.replace("Rn Ay", "Ay"), Complaint.PAIRS),
    (GOOD.replace("1y Rn Ay", "1y Rn Ay +"), Complaint.PLUS),
]


@pytest.mark.parametrize(("reply", "kind"), KINDS)
def test_a_complaint_is_of_one_of_few_kinds(reply: str, kind: Complaint) -> None:
    """What is wrong with most of the claims, where the claims differ."""
    assert rejection(REQUEST, reply).kind is kind
    assert {kind for _, kind in KINDS} == set(Complaint)


BAD_LINES = [
    ("2n 1y Rn", "missing pairs: A"),
    ("2n 1y Rn Ay 3n", "unknown pairs: 3"),
    ("2n 1y 1n Rn Ay", "duplicate pairs: 1"),
    ("1y 2n Rn Ay", "pairs must stand as: 2 1 R A"),
    ("2n 1y Ay Rn", "pairs must stand as: 2 1 R A"),
    ("2n 1x Rn Ay", "missing pairs: 1, 1 pairs that are malformed"),
    ("2n 1Y Rn Ay", "1 pairs that are malformed"),
    ("2n 1y Rn Ay secret", "1 pairs that are malformed"),
    ("2n,1y,Rn,Ay", "missing pairs: 2 1 R A"),
    ("02n 1y Rn Ay", "missing pairs: 2"),
    ("２n 1y Rn Ay", "missing pairs: 2"),
    ("", "missing pairs: 2 1 R A"),
    ("2n 1y Rn Ay +", "+ is not allowed beside a passage with y"),
    ("2n 1n + Rn Ay", "1 pairs that are malformed"),
    ("2n 1n Rn Ay + +", "1 pairs that are malformed"),
    ("2n 1n Rn Ay+", "missing pairs: A"),
]


@pytest.mark.parametrize(("line", "complaint"), BAD_LINES)
@pytest.mark.parametrize("claim_id", ["c1", "c2"])
def test_wrong_pairs_are_rejected_by_name(claim_id: str, line: str, complaint: str) -> None:
    """Pairs are exactly those asked, in order, once each; the complaint names claim and pairs."""
    body = json.loads(GOOD) | {claim_id: line}
    found = rejection(REQUEST, json.dumps(body)).complaint
    assert f"{claim_id}: " in found
    assert complaint in found


@pytest.mark.parametrize("value", [None, True, ["2n"], {"2": "n"}, 1])
def test_line_that_is_no_string_is_rejected(value: object) -> None:
    """A claim's answer is a string."""
    body = json.loads(GOOD) | {"r1": value}
    assert rejection(REQUEST, json.dumps(body)).complaint == "r1: the value must be a string"


def test_plus_needs_two_passages() -> None:
    """With one passage or none, "together" has no meaning and is rejected."""
    for listed in ({"1": "", "A": ""}, {"A": "", "R": ""}):
        request = VerifyRequest(100, "", listed, {"c1": ""})
        line = " ".join(f"{name}n" for name in request.asked("c1"))
        reply = json.dumps({"n": 100, "c1": f"{line} +"})
        assert "two or more" in rejection(request, reply).complaint


def test_every_bad_line_is_named_at_once() -> None:
    """One complaint names all claims that went wrong, so that one re-ask can mend them."""
    body = json.loads(GOOD) | {"c1": "2n", "r1": "2n 1n Ry Ay"}
    found = rejection(REQUEST, json.dumps(body)).complaint
    assert found == "c1: missing pairs: 1 R A; r1: pairs must stand as: 2 1 A R"


@settings(max_examples=50)
@given(text=st.text(st.sampled_from("SECRET{}\"'人"), min_size=3))
def test_complaints_never_quote_the_reply(text: str) -> None:
    """Neither keys nor values of a bad reply reach the complaint: they may be traffic."""
    secret = f"zq{text}zq"
    for body in (
        {**json.loads(GOOD), secret: "x"},
        {**json.loads(GOOD), "c1": f"{secret} 1n Rn Ay"},
        {**json.loads(GOOD), "n": secret},
    ):
        assert "zq" not in rejection(REQUEST, json.dumps(body)).complaint
    bare = rejection(REQUEST, secret)
    assert "zq" not in bare.complaint
    assert bare.__context__ is None


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12),
    st.integers(0, 6),
    st.booleans(),
    st.data(),
)
def test_every_well_formed_reply_is_read_exactly(
    kinds: list[tuple[bool, bool]], passages: int, referenced: bool, data: st.DataObject
) -> None:
    """For any claims and documents, the verdicts written are the verdicts read."""
    listed = documents("id", ["p"] * passages, "a", "r" if referenced else None)
    claims = {f"{'r' if of_reference else 'c'}{i}": "" for i, (of_reference, _) in enumerate(kinds)}
    claims = {name.replace("0", "99"): "" for name in claims}
    request = VerifyRequest(500, "", listed, claims)
    expected = {}
    reply: dict[str, object] = {"n": 500}
    for name, (_, wants_plus) in zip(claims, kinds, strict=True):
        answers = {asked: data.draw(st.booleans()) for asked in request.asked(name)}
        alone = any(answers[str(j)] for j in range(1, passages + 1))
        plus = wants_plus and passages > 1 and not alone
        expected[name] = (answers, plus)
        line = " ".join(f"{key}{'y' if value else 'n'}" for key, value in answers.items())
        reply[name] = line + " +" * plus
    found = request.read(json.dumps(reply))
    assert {name: (dict(v.supported), v.together) for name, v in found.items()} == expected


def test_nonce_and_order_are_stable_across_processes() -> None:
    """Nonce and permutation depend on the id alone, not on the process's hash seed."""
    code = (
        "from monitor.judge.pipeline.parsing import nonce, passage_order;"
        "print([nonce(str(i)) for i in range(20)], passage_order('会话/7', 9))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = f"{[nonce(str(i)) for i in range(20)]} {passage_order('会话/7', 9)}\n"
    assert {run.decode() for run in runs} == {here}


def test_nonces_fill_their_range() -> None:
    """Nonces of many ids lie in 100…999 and reach both ends' neighbourhood."""
    found = {nonce(f"topic/0/{i}") for i in range(20_000)}
    assert (min(found), max(found)) == (100, 999)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 30))
def test_order_is_a_permutation(interaction_id: str, passages: int) -> None:
    """Every passage is listed once."""
    order = passage_order(interaction_id, passages)
    assert sorted(order) == list(range(1, passages + 1))


def test_order_ignores_rank() -> None:
    """Over many ids each of three passages stands first about as often as the others."""
    first = [passage_order(f"id-{i}", 3)[0] for i in range(3000)]
    assert all(900 < first.count(j) < 1100 for j in (1, 2, 3))


def test_texts_without_letters_or_digits_have_no_words() -> None:
    """Emptiness, white space and punctuation of any script hold no claim; one digit may."""
    assert not any(has_words(text) for text in ("", " \n", "...", "？！。", "—“”"))
    assert all(has_words(text) for text in ("a", "好", "7", "٣", "(ж)", "हिन्दी"))
