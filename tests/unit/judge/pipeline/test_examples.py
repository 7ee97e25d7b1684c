"""Worked examples of any shape: balanced, true to the format, and the same for equal shapes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b

import pytest

from monitor.judge.pipeline.examples import (
    largest_examples,
    quote_example,
    relevance_example,
    turns_for,
    verify_example,
)
from monitor.judge.pipeline.parsing import ClaimVerdict, ExtractRequest, VerifyRequest
from monitor.judge.ports import Turn

TEXTS: tuple[tuple[str, ...], ...] = ((), ("A",), ("R",), ("A", "R"))


def shapes(passages: range, claims: range) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Documents and claims: passages in falling order, both texts or one, claims of one or both."""
    for p in passages:
        for own in TEXTS:
            documents = (*(str(i) for i in range(p, 0, -1)), *own)
            for c in claims if documents else ():
                yield documents, tuple(f"c{i + 4}" for i in range(c))
                yield documents, (*(f"c{i + 1}" for i in range(c - 1)), "r1")


def read(turn: Turn) -> dict[str, ClaimVerdict]:
    """The verdicts of an example; raises where it breaks the format."""
    body = json.loads(turn.user)
    request = VerifyRequest(body["n"], body["question"], body["documents"], body["claims"])
    assert request.message() == turn.user
    return request.read(turn.reply)


@pytest.mark.parametrize("passages", [range(4), range(4, 13)], ids=["few", "many"])
def test_every_shape_has_a_balanced_example_with_its_own_names(passages: range) -> None:
    """As many y as n, to one; documents and claims are those asked, in their order."""
    for documents, claims in shapes(passages, range(1, 13)):
        turns = verify_example(documents, claims)
        verdicts = [verdict for turn in turns for verdict in read(turn).values()]
        said = [held for verdict in verdicts for held in verdict.supported.values()]
        assert abs(2 * sum(said) - len(said)) <= 1, (documents, claims)
        for turn in turns:
            body = json.loads(turn.user)
            assert (tuple(body["documents"]), tuple(body["claims"])) == (documents, claims)


def test_the_last_token_is_not_always_y_and_never_a_plus() -> None:
    """Whatever is seen last is no pattern to copy: tokens vary, ``+`` stands in a first line."""
    for documents, claims in shapes(range(1, 5), range(2, 6)):
        (turn,) = verify_example(documents, claims)
        lines = list(json.loads(turn.reply).values())[1:]
        assert {line.removesuffix(" +")[-1] for line in lines} == {"y", "n"}, (documents, claims)
        assert not any(line.endswith("+") for line in lines[1:])


def test_a_plus_is_shown_once_where_several_passages_allow_it() -> None:
    """From three claims on; neither of the two passages with a part supports the claim alone."""
    (turn,) = verify_example(("2", "1", "A"), ("c1", "c2", "c3"))
    assert [verdict.together for verdict in read(turn).values()] == [True, False, False]
    assert all(
        not v.together for t in verify_example(("1", "A"), ("c1",)) for v in read(t).values()
    )


def test_a_single_claim_is_shown_both_verdicts() -> None:
    """Three turns of one claim each; two where there is a single document, as often y as n."""
    for documents, said in (
        (("1", "A"), ["1y An", "1n Ay", "1y An"]),
        (("2", "1", "A"), ["2y 1n Ay", "2n 1y An", "2n 1n Ay"]),
        (("1",), ["1n", "1y"]),
        (("2",), ["2y", "2n"]),
    ):
        turns = verify_example(documents, ("c7",))
        assert [json.loads(turn.reply)["c7"] for turn in turns] == said


def test_replies_of_one_shape_and_of_another_end_with_y_and_with_n() -> None:
    """What is always said last is copied."""
    last = Counter(
        verify_example(documents, claims)[-1].reply.removesuffix('"}')[-1]
        for documents, claims in shapes(range(13), range(1, 13))
    )
    assert set(last) == {"y", "n"}
    assert 0.4 < last["n"] / last.total() < 0.6


def test_relevance_has_n_in_the_middle() -> None:
    """Of a single document both verdicts; of several as many y as n."""
    assert [turn.reply for turn in relevance_example(("4",))] == [
        '{"n":318,"relevant":"4y"}',
        '{"n":318,"relevant":"4n"}',
    ]
    (turn,) = relevance_example(("3", "1", "2", "4"))
    assert turn.reply == '{"n":318,"relevant":"3y 1n 2n 4y"}'


def test_quotes_stand_word_for_word_in_their_documents() -> None:
    """Of every pair asked, in order."""
    (turn,) = quote_example((("c9", "3"), ("c11", "1")))
    body, reply = json.loads(turn.user), json.loads(turn.reply)
    assert list(reply) == ["n", "c9 3", "c11 1"]
    assert all(reply[pair] in body["documents"][pair.split()[1]] for pair in body["pairs"])


def test_what_is_larger_than_the_bank_has_no_example_of_its_own() -> None:
    """Those of the instructions are left; texts that are split have no shape."""
    many = tuple(str(i) for i in range(1, 30))
    assert verify_example((*many, "A"), ("c1",)) == ()
    assert relevance_example(many) == ()
    assert all(relevance_example(many[:passages]) for passages in range(1, 13))
    assert turns_for(ExtractRequest("?", "text")) == ()
    for documents, claims in shapes(range(13), range(1, 13)):
        shown = sum(len(text) for turn in verify_example(documents, claims) for text in turn)
        assert shown <= 1.01 * len(largest_examples("verify_claims", 12, 12))


def test_a_new_example_is_a_new_bank() -> None:
    """Examples are as they were published: another builder needs another version of the file."""
    turns = [verify_example(*shape) for shape in shapes(range(13), range(1, 13))]
    assert blake2b(repr(turns).encode(), digest_size=8).hexdigest() == "b27250f193f2c70c"
