"""Offending claims: they are what the metric counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from monitor.metrics.catalogue import CATALOGUE, score_all
from monitor.metrics.offending_claims import OFFENDS, PassageOrigin, offending
from monitor.records import (
    Claims,
    Judgement,
    Outcome,
    SamplingRecord,
    ScoreRecord,
    Source,
    UnscoredMark,
)
from tests.stages.judgements import judgements
from tests.stages.records import NOON


def record(judgement: Judgement, **fields: Any) -> ScoreRecord:
    """The score record of a judgement; passage 1 has an id."""
    scores: dict[str, Any] = {
        name: score if isinstance(score, float) else UnscoredMark(unscored=score.value)
        for name, score in score_all(judgement).items()
    }
    passages = [{"id": "doc-1", "text": "t"}, *["t"] * (judgement.passages - 1)]
    given: dict[str, Any] = {
        "application": "bot",
        "interaction_id": "1",
        "event_time": NOON,
        "judged_at": NOON,
        "source": Source(topic="t", partition=0, offset=0),
        "judge": judgement.judge,
        "sampling": SamplingRecord(first_offset=0, last_offset=0, kind="with_reference"),
        "interaction": {"retrieved_contexts": passages},
        "claims": judgement.claims,
        "verdicts": judgement.verdicts,
        "scores": scores,
        "outcome": Outcome.SCORED,
    }
    return ScoreRecord(**{**given, **fields})


def test_every_share_of_response_claims_with_a_direction_names_its_claims() -> None:
    """A metric that can raise an alarm can say which claims did, if it is about such claims."""
    about_others = {
        *("claim_recall", "claim_f1", "context_recall", "context_precision"),
        *("context_utilization", "answered", "retrieved", "answer_relevance"),
    }
    directed = {name for name, m in CATALOGUE.items() if m.higher_is_better is not None}
    assert set(OFFENDS) == directed - about_others


@given(judgements())
def test_the_share_of_offending_claims_is_the_score(judgement: Judgement) -> None:
    """As many claims are named as the metric counted against the response."""
    found = record(judgement)
    for name in OFFENDS:
        metric = CATALOGUE[name]
        share = len(offending(found, name)) / len(judgement.claims.response)
        score = found.scores[name]
        if isinstance(score, UnscoredMark):
            assert not offending(found, name)
        else:
            assert score == pytest.approx(1.0 - share if metric.higher_is_better else share)


@given(judgements())
def test_passages_are_those_that_support_the_claim(judgement: Judgement) -> None:
    """Their numbers are the true columns of the claim's row; only the first has an id here."""
    rows = judgement.verdicts.response_by_passage
    for claim in offending(record(judgement), "incorrect_claims"):
        row = rows[claim.number - 1]
        assert [origin.number for origin in claim.passages] == [
            j + 1 for j, supports in enumerate(row) if supports
        ]
        assert {o.passage_id for o in claim.passages} <= {"doc-1", None}


def example() -> Judgement:
    """Claim 2 is wrong and stands in passage 2, which supports no claim of the reference."""
    return Judgement.model_validate(
        {
            "claims": {"response": ["right", "wrong"], "reference": ["right"]},
            "passages": 2,
            "has_reference": True,
            "verdicts": {
                "response_by_passage": [[True, False], [False, True]],
                "response_by_context": [True, True],
                "response_by_reference": [True, False],
                "reference_by_passage": [[True, False]],
                "reference_by_response": [True],
            },
            "judge": dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], "x"),
        }
    )


def test_a_claim_with_its_text_and_passage() -> None:
    """The number, the text, and the irrelevant passage that it was taken from."""
    (claim,) = offending(record(example()), "noise_sensitivity_irrelevant")
    assert (claim.number, claim.text) == (2, "wrong")
    assert claim.passages == (PassageOrigin(2, None, False),)


def test_a_record_without_texts_still_names_the_claims() -> None:
    """Cut down to size, numbers stay and texts are None."""
    bare = record(example(), claims=Claims(), interaction={}, truncated=True)
    (claim,) = offending(bare, "noise_sensitivity_irrelevant")
    assert (claim.number, claim.text, claim.passages) == (2, None, (PassageOrigin(2, None, False),))


def test_without_a_value_no_claim_offends() -> None:
    """Unscored, or a metric that is not known here: nothing is named."""
    unscored = record(example(), scores={"hallucination": UnscoredMark(unscored="NO_CLAIMS")})
    assert offending(unscored, "hallucination") == ()
    assert offending(record(example()), "self_knowledge") == ()
