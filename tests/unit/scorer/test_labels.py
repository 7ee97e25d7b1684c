"""Labels of relevance in the log: from the interaction to the score record."""

from __future__ import annotations

import json

from monitor.judge.offline.judge import OfflineJudge
from monitor.metrics.offending_claims import PassageOrigin, offending
from monitor.records import ScoreRecord, UnscoredMark, read_score_record
from tests.stages.producers import Memory
from tests.stages.scoring import run


async def scored(*labels: bool | None) -> ScoreRecord:
    """The record of a response of two sentences, the second from the second passage only."""
    texts = ["The warranty lasts 24 months.", "Returning an item costs 5 euros."]
    logged = {
        "user_input": "How long is the warranty?",
        "response": " ".join(texts),
        "retrieved_contexts": [
            {"text": text, "relevant": label} for text, label in zip(texts, labels, strict=True)
        ],
    }
    written = Memory()
    assert await run(json.dumps(logged).encode(), OfflineJudge(), written) == "scored"
    ((_, line),) = written.values
    assert line is not None
    return read_score_record(line)


async def test_labels_stand_in_for_a_reference() -> None:
    """Half of the response stands only in what is labelled irrelevant; the record says which."""
    record = await scored(True, False)
    assert record.scores["irrelevant_context_reliance"] == 0.5
    assert record.verdicts.relevant_to_question == (True, False)
    assert record.verdicts.relevant_by_label == ()
    (claim,) = offending(record, "irrelevant_context_reliance")
    assert (claim.number, claim.passages) == (2, (PassageOrigin(2, None, False),))


async def test_a_missing_label_is_no_label() -> None:
    """Nobody guesses whether the other passage is relevant."""
    record = await scored(True, None)
    assert record.scores["irrelevant_context_reliance"] == UnscoredMark(unscored="NO_RELEVANCE")
    assert record.verdicts.relevant_to_question == (True, None)


async def test_without_labels_a_record_is_what_it_was() -> None:
    """The fields of the labels are left out of the line."""
    record = await scored(None, None)
    assert b"relevant_to_question" not in record.to_json()
    assert b"relevant_by_label" not in record.to_json()
