"""The labelled sets of the cost benchmark, and the rivals' dialects that its server speaks."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from monitor.records import Judgement
from tests.benchmarks.judging.cases import all_labels, long_set, primer, short_set
from tests.benchmarks.judging.client_ours import shifted
from tests.benchmarks.judging.dialects import Polyglot
from tests.benchmarks.judging.truth import compare, scores, true_judgement
from tests.servers.judge_request import BadRequest, shipped_prompts
from tests.tokens import count_tokens

SHORT = short_set()


def test_the_short_set_is_what_it_says() -> None:
    """200 interactions, about half of them Chinese, 20 with a claim that needs two passages."""
    assert len(SHORT) == 200
    chinese = [case for case in SHORT if "。" in case.interaction["response"]]
    assert 90 <= len(chinese) <= 110
    assert sum(case.together is not None for case in SHORT) == 20
    for case in SHORT:
        needing = [
            i
            for i, (row, together) in enumerate(
                zip(*_response_verdicts(true_judgement(case)), strict=True)
            )
            if together and not any(row)
        ]
        assert len(needing) == (case.together is not None)


def _response_verdicts(found: Judgement) -> tuple[tuple[tuple[bool, ...], ...], tuple[bool, ...]]:
    return found.verdicts.response_by_passage, found.verdicts.response_by_context


def test_no_two_texts_have_the_same_claims_to_extract() -> None:
    """Questions with texts are unique, primers aside: nothing is in the cache by accident."""
    keys = Counter(key for case in SHORT for key in case.labels().claims)
    assert max(keys.values()) == 1
    assert not {(c.interaction["user_input"], primer(c).interaction["response"]) for c in SHORT} & {
        (c.interaction["user_input"], c.interaction["response"]) for c in SHORT
    }


def test_the_long_set_has_long_passages() -> None:
    """5 passages of 400 tokens, give or take a sentence, and claims that fit one call."""
    for case in long_set(count_tokens):
        sizes = [count_tokens(text) for text in case.interaction["retrieved_contexts"]]
        assert len(sizes) == 5
        assert all(395 <= size <= 425 for size in sizes), sizes
        assert len(case.response) + len(case.reference) <= 12


def test_scores_of_the_set_differ_when_verdicts_shift() -> None:
    """The comparison finds nothing between equals, and finds a client that reads one place off."""
    truth = {case.id: scores(true_judgement(case)) for case in SHORT}
    moved = {case.id: scores(shifted(true_judgement(case))) for case in SHORT}
    assert compare(truth, truth).different == 0
    assert compare(truth, moved).different > 100


RAGAS = 'Judge.\ninput: {"context": %s, "statements": %s}\nOutput: '
RAGCHECKER = (
    'as ("subject", "predicate", "object").\n\n### Question:\n%s\n\n### Reference:\n%s\n\n'
    "### Claims:\n%s\n\n\nYour answer should"
)


def test_all_dialects_give_the_same_verdicts() -> None:
    """ragas and RAGChecker are told about (claim, text) exactly what the labels say."""
    labels = all_labels(SHORT)
    server = Polyglot(labels, shipped_prompts())
    for case in SHORT[:40]:
        claims = [said.text for said in case.response]
        for text, _ in case.texts:
            truth = [(claim, text) in labels.supported for claim in claims]
            prompt = RAGAS % (json.dumps(text), json.dumps(claims))
            answer = json.loads(_asked(server, prompt))
            assert [bool(one["verdict"]) for one in answer["statements"]] == truth
            triplets = "\n".join('("{}", "{}", "{}")'.format(*server.triplet_of(c)) for c in claims)
            lines = _asked(server, RAGCHECKER % ("?", text, triplets)).splitlines()
            assert [line == "Entailment" for line in lines] == truth


def _asked(server: Polyglot, prompt: str) -> str:
    return server.answer({"messages": [{"role": "user", "content": prompt}]}).text


def test_unknown_claims_are_refused() -> None:
    """What no label knows gets no verdict."""
    server = Polyglot(all_labels(SHORT[:1]), shipped_prompts())
    with pytest.raises(BadRequest, match="no label"):
        _asked(server, RAGAS % (json.dumps("text"), json.dumps(["never said"])))
