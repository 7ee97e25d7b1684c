"""Score records are built for every pick, and made to fit."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.records import (
    Claims,
    Interaction,
    Judgement,
    Outcome,
    Passage,
    SamplingRecord,
    ScoreRecord,
    Source,
    Unscored,
    UnscoredMark,
    Usage,
    Verdicts,
)
from monitor.records.forgetting import ForgettingRequest
from monitor.scorer.score_records import JudgingResult, build, segment_of, shrink
from tests.stages.records import JUDGE, NOON, score_records

INTERACTION = Interaction(
    interaction_id="i",
    event_time=NOON,
    application="bot",
    user_input="question",
    response="answer",
    retrieved_contexts=(Passage(id="d", text="passage", score=0.5), Passage(text="other")),
    attributes={"tenant": "acme", "tier": 2, "trial": False, "none": None},
    source=Source(topic="t", partition=1, offset=9),
)
JUDGEMENT = Judgement(
    claims=Claims(response=("claim",)),
    passages=2,
    has_reference=False,
    verdicts=Verdicts(response_by_passage=((True, False),), response_by_context=(True,)),
    judge=JUDGE,
)
SCORED = JudgingResult(
    Outcome.SCORED,
    None,
    JUDGE,
    Usage(calls=2),
    JUDGEMENT,
    {"faithfulness": 1.0, "hallucination": Unscored.NO_REFERENCE},
    {"judge_s": 0.5},
)


def built(result: JudgingResult = SCORED, rate: float = 0.25) -> ScoreRecord:
    """The record of the interaction above."""
    return build(INTERACTION, result, rate=rate, segment_by=["tenant"], now=NOON)


def test_a_scored_pick_carries_its_slot_its_evidence_and_its_texts() -> None:
    """One interaction is one slot: m = u = 1, q is the rate, both offsets are its own."""
    record = built()
    assert record.sampling == SamplingRecord(
        first_offset=9,
        last_offset=9,
        kind="without_reference",
        m=1,
        q=0.25,
        u=1.0,
        segments={"acme": 1},
    )
    assert (record.claims, record.verdicts) == (JUDGEMENT.claims, JUDGEMENT.verdicts)
    assert record.scores == {
        "faithfulness": 1.0,
        "hallucination": UnscoredMark(unscored="NO_REFERENCE"),
    }
    assert record.interaction == {
        "user_input": "question",
        "response": "answer",
        "reference": None,
        "retrieved_contexts": [{"id": "d", "text": "passage", "score": 0.5}, {"text": "other"}],
    }
    assert (record.segment, record.truncated) == ("acme", False)


def test_a_failed_pick_leaves_a_record_without_scores() -> None:
    """Its slot and texts are there; nothing is derived from what the judge did not say."""
    failed = JudgingResult(Outcome.JUDGE_FAILED, "deadline", JUDGE, Usage(), None, {}, {})
    record = built(failed)
    assert (record.scores, record.claims, record.verdicts) == ({}, Claims(), Verdicts())
    assert (record.outcome, record.reason) == (Outcome.JUDGE_FAILED, "deadline")
    assert record.sampling == built().sampling


@pytest.mark.parametrize(
    ("attribute", "segment"),
    [
        ("tenant", "acme"),
        ("tier", "2"),
        ("trial", "False"),
        ("none", ""),
        ("missing", ""),
        ("", ""),
        ("tenant,tier", "tenant=acme, tier=2"),
        ("missing,tier", "tier=2"),
        ("missing,none", ""),
    ],
)
def test_the_segment_is_the_raw_value_of_an_attribute(attribute: str, segment: str) -> None:
    """Empty where the attribute is absent or null, and without a configured one.

    Several name themselves, and leave out what is absent.
    """
    assert segment_of(INTERACTION, attribute.split(",") if attribute else ()) == segment


TEXTS = ("interaction", "attributes", "evidence")


def size_without_texts(record: ScoreRecord) -> int:
    """The bytes of a record without anything that the numbers do not need."""
    texts: dict[str, object] = {key: {} for key in (*TEXTS, "probabilities")}
    bare = {**texts, "claims": Claims(), "truncated": True}
    return len(record.model_copy(update=bare).to_json())


def numbers(record: ScoreRecord) -> dict[str, Any]:
    """Everything that gauges, evidence and counts are computed from."""
    gone = {*TEXTS, "probabilities", "claims", "truncated"}
    return record.model_dump(exclude=gone)


@given(score_records(), st.floats(0, 1.2))
def test_shrinking_fits_and_keeps_the_numbers(record: ScoreRecord, share: float) -> None:
    """At any limit: verdicts, scores, slot and outcome stay; and it fits whenever that can be."""
    whole = record.to_json()
    limit = int(share * len(whole))
    found, line = shrink(record, limit)
    assert line == found.to_json()
    assert numbers(found) == numbers(record)
    assert len(line) <= limit or len(line) == size_without_texts(record) > limit
    assert found.truncated == (found != record)
    if limit >= len(whole):
        assert found == record


def test_quotes_go_with_the_passages_that_they_are_of() -> None:
    """Evidence stands on the record, and leaves it with the first texts; none is no key."""
    judgement = JUDGEMENT.model_copy(update={"evidence": {"c1": {"1": "passage"}}})
    record = built(SCORED._replace(judgement=judgement))
    assert json.loads(record.to_json())["evidence"] == {"c1": {"1": "passage"}}
    found, line = shrink(record, len(record.to_json()) - 1)
    assert found.verdicts == record.verdicts
    assert "evidence" not in json.loads(line)
    assert "evidence" not in json.loads(built().to_json())


def test_probabilities_go_with_the_evidence() -> None:
    """They stand on the record, and leave it with the first texts; none is no key."""
    judgement = JUDGEMENT.model_copy(update={"probabilities": {"c1": {"1": 0.25, "+": 0.5}}})
    record = built(SCORED._replace(judgement=judgement))
    assert json.loads(record.to_json())["probabilities"] == {"c1": {"1": 0.25, "+": 0.5}}
    found, line = shrink(record, len(record.to_json()) - 1)
    assert found.verdicts == record.verdicts
    assert "probabilities" not in json.loads(line)
    assert "probabilities" not in json.loads(built().to_json())


def test_a_person_is_found_on_a_record_that_was_cut() -> None:
    """Long attributes go with the claims, short ones only where nothing else is left to cut."""
    attributes: dict[str, Any] = {"user_id": "ann", "trace": "long " * 2_000}
    interaction = INTERACTION.model_copy(update={"attributes": attributes})
    record = build(interaction, SCORED, rate=1.0, segment_by=(), now=NOON)
    found, line = shrink(record, 4_000)
    assert (found.attributes, len(line) <= 4_000) == ({"user_id": "ann"}, True)
    assert ForgettingRequest("ann", "user_id").names(found)
    assert shrink(record, 1)[0].attributes == {}


@given(st.integers(0, 300))
def test_first_the_passage_texts_go(cut: int) -> None:
    """Ids and SHA-256 of the passages stay, and so do question, answer, claims, attributes."""
    long = Passage(id="doc-7#3", text="中" * 500, score=0.25)
    interaction = INTERACTION.model_copy(update={"retrieved_contexts": (long,)})
    record = build(interaction, SCORED, rate=1.0, segment_by=(), now=NOON)
    found, line = shrink(record, len(record.to_json()) - 1 - cut)
    assert found.truncated
    assert found.claims == record.claims
    assert found.attributes == record.attributes
    assert json.loads(line)["interaction"] == {
        "user_input": "question",
        "response": "answer",
        "reference": None,
        "retrieved_contexts": [
            {
                "id": "doc-7#3",
                "score": 0.25,
                "sha256": hashlib.sha256(("中" * 500).encode()).hexdigest(),
            }
        ],
    }


def test_then_all_texts_go() -> None:
    """Where the question itself is too long, only the passages' ids and hashes are left."""
    interaction = INTERACTION.model_copy(update={"user_input": "x" * 10_000})
    record = build(interaction, SCORED, rate=1.0, segment_by=(), now=NOON)
    found, line = shrink(record, 5_000)
    assert len(line) <= 5_000
    assert (list(found.interaction), found.attributes) == (
        ["retrieved_contexts"],
        record.attributes,
    )
    assert "x" * 100 not in line.decode()
    assert found.claims == Claims()
    assert found.truncated
