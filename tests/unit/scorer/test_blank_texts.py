"""Passages and references without words are none: a reason in place of a number, and no call."""

from __future__ import annotations

import json

import pytest

from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, Judgement, ScoreRecord, read_score_record
from monitor.scorer.judging import judge_input
from tests.stages.producers import Memory
from tests.stages.scoring import run

ANSWER = "The warranty lasts 24 months."


class Hearing(OfflineJudge):
    """The offline judge, which remembers what it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Interaction] = []

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        self.heard.append(interaction)
        return await super().judge(interaction, cost_meter, claims)


async def recorded(
    judge: OfflineJudge, passages: list[str], reference: str | None
) -> tuple[ScoreRecord, dict[str, object]]:
    """The record, and why metrics have no value on it."""
    logged = {
        "user_input": "How long is the warranty?",
        "response": ANSWER,
        "retrieved_contexts": passages,
        "reference": reference,
    }
    written = Memory()
    await run(json.dumps(logged).encode(), judge, written)
    ((_, line),) = written.values
    record = read_score_record(line or b"")
    return record, {
        name: getattr(score, "unscored", score) for name, score in record.scores.items()
    }


@pytest.mark.parametrize("blank", ["", "  \n", "…", "---"])
async def test_blank_passages_are_no_passages(blank: str) -> None:
    """Some log an empty text where nothing was retrieved: that is no unfaithful answer."""
    record, scores = await recorded(Hearing(), [blank, blank], ANSWER)
    assert scores["faithfulness"] == scores["context_precision"] == "NO_CONTEXTS"
    assert scores["incorrect_claims"] == 0.0
    assert record.interaction["retrieved_contexts"]  # as it was logged


@pytest.mark.parametrize("blank", ["", "?!"])
async def test_a_blank_reference_is_no_reference(blank: str) -> None:
    """No claim is incorrect because the reference was left empty, and no such score is missing."""
    record, scores = await recorded(Hearing(), [ANSWER], blank)
    assert record.sampling.kind == "without_reference"
    assert scores["incorrect_claims"] == scores["context_recall"] == "NO_REFERENCE"
    assert scores["faithfulness"] == 1.0


async def test_one_blank_passage_among_others_stays() -> None:
    """Passages keep their numbers, and nothing else is changed."""
    judge = Hearing()
    _, scores = await recorded(judge, ["", ANSWER], ANSWER)
    (heard,) = judge.heard
    assert [passage.text for passage in heard.retrieved_contexts] == ["", ANSWER]
    assert scores["context_precision"] == 0.5
    assert judge_input(heard) is heard
