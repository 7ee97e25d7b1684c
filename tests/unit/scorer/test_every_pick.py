"""Refusals and empty retrieval: two values on every judged pick, whatever else can be compared."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monitor.exporter.scores.aggregator import ScoreAggregator, SeriesKey
from monitor.judge.llm.judge import LlmJudge, LlmSettings
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.pipeline.pipeline import MOST_UNASKED
from monitor.records import REDACTED_TEXT, ScoreRecord, UnscoredMark, read_score_record
from tests.servers.judge_labels import Labels
from tests.servers.judge_server import JudgeServer
from tests.stages.producers import Memory
from tests.stages.scoring import run

ANSWER = "The warranty lasts 24 months."
REFUSAL = "I am sorry, I cannot help you with that."
LOGGED: dict[str, Any] = {
    "user_input": "How long is the warranty?",
    "response": ANSWER,
    "retrieved_contexts": [ANSWER],
    "reference": None,
}


async def recorded(**changed: Any) -> tuple[str, ScoreRecord]:
    """The outcome, and the record."""
    written = Memory()
    outcome = await run(json.dumps({**LOGGED, **changed}).encode(), OfflineJudge(), written)
    ((_, line),) = written.values
    return outcome, read_score_record(line or b"")


@pytest.mark.parametrize(
    ("changed", "outcome", "answered", "retrieved"),
    [
        ({}, "scored", 1.0, 1.0),
        ({"response": REFUSAL}, "unscorable", 0.0, 1.0),
        ({"response": ""}, "unscorable", 0.0, 1.0),
        ({"response": "…!"}, "unscorable", 0.0, 1.0),
        ({"retrieved_contexts": []}, "unscorable", 1.0, 0.0),
        ({"retrieved_contexts": ["", "…"]}, "unscorable", 1.0, 0.0),
        ({"retrieved_contexts": ["", ANSWER]}, "scored", 1.0, 1.0),
        ({"retrieved_contexts": [], "reference": ANSWER}, "scored", 1.0, 0.0),
        ({"retrieved_contexts": [], "response": REFUSAL}, "unscorable", 0.0, 0.0),
    ],
)
async def test_both_have_a_value_and_the_outcome_is_what_it_was(
    changed: dict[str, Any], outcome: str, answered: float, retrieved: float
) -> None:
    """1 or 0; an interaction is scored by the other metrics only."""
    ended, record = await recorded(**changed)
    assert (ended, record.outcome) == (outcome, outcome)
    assert (record.scores["answered"], record.scores["retrieved"]) == (answered, retrieved)
    others = {name: s for name, s in record.scores.items() if name not in ("answered", "retrieved")}
    is_scored = any(isinstance(score, float) for score in others.values())
    assert is_scored == (outcome == "scored")


async def test_what_is_hidden_is_not_guessed() -> None:
    """A hidden passage may be one without words; beside one that is seen it says nothing new."""
    _, record = await recorded(retrieved_contexts=[REDACTED_TEXT], reference=ANSWER)
    assert record.scores["retrieved"] == UnscoredMark(unscored="REDACTED")
    assert record.scores["answered"] == 1.0
    _, record = await recorded(retrieved_contexts=[REDACTED_TEXT, ANSWER], reference=ANSWER)
    assert record.scores["retrieved"] == 1.0
    _, record = await recorded(response=REDACTED_TEXT)
    assert record.scores["retrieved"] == record.scores["answered"]
    assert record.scores["answered"] == UnscoredMark(unscored="REDACTED")


async def test_an_unscorable_pick_counts_once_with_its_weight() -> None:
    """One of four that its slot stands for; sent twice it counts once."""
    _, good = await recorded()
    _, refused = await recorded(response=REFUSAL)
    aggregator = ScoreAggregator({"1h": 3_600}, 86_400)
    records = [_placed(good, 1, 1), _placed(refused, 2, 4), _placed(refused, 2, 4)]
    for record in records:
        aggregator.add(record, record.to_json())
    aggregator.advance(records[0].event_time.timestamp() + 1.0)
    found = {one.key: one.estimate for one in aggregator.estimates()}
    of = {key.metric: estimate for key, estimate in found.items() if isinstance(key, SeriesKey)}
    assert of["answered"].value == pytest.approx(1 / 5)
    assert of["retrieved"].value == 1.0
    assert of["faithfulness"].value == 1.0
    assert of["answered"].samples == pytest.approx(25 / 17)
    assert of["answered"].missing_ratio == 0.0


async def test_without_anything_to_verify_against_no_model_is_asked() -> None:
    """The rules of the offline judge say whether it claims anything, of its beginning."""
    async with JudgeServer(Labels()) as server:
        judge = LlmJudge(LlmSettings("openai/m", api_base=server.url, api_key="k"))
        for response, answered in ((ANSWER, 1.0), (REFUSAL, 0.0), ("Hi! " * MOST_UNASKED, 0.0)):
            written = Memory()
            logged = {**LOGGED, "retrieved_contexts": [], "response": response}
            await run(json.dumps(logged).encode(), judge, written)
            ((_, line),) = written.values
            record = read_score_record(line or b"")
            assert (record.outcome, record.reason) == ("unscorable", "no_contexts")
            assert (record.scores["answered"], record.scores["retrieved"]) == (answered, 0.0)
            assert record.usage.calls == 0
        await judge.aclose()
        assert not server.log


def _placed(record: ScoreRecord, number: int, m: int) -> ScoreRecord:
    """The record at another place of the topic, for a slot of ``m``."""
    sampling = record.sampling.model_copy(
        update={"first_offset": 10 * number, "last_offset": 10 * number + m - 1, "m": m}
    )
    return record.model_copy(update={"interaction_id": f"i{number}", "sampling": sampling})
