"""``__REDACTED__`` in place of a text: nobody is asked about what nobody can see."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.protocol import CostMeter
from monitor.metrics.catalogue import CATALOGUE
from monitor.metrics.redacted import redacted_metrics, without_redacted
from monitor.records import (
    REDACTED_TEXT,
    Claims,
    Interaction,
    Judgement,
    ScoreRecord,
    UnscoredMark,
    read_score_record,
)
from monitor.scorer.judging import JudgingInput
from tests.stages.producers import Memory
from tests.stages.records import attributed
from tests.stages.scoring import run

SHOWN: dict[str, Any] = {
    "user_input": "How long?",
    "response": "The warranty lasts 24 months.",
    "retrieved_contexts": ["The warranty lasts 24 months.", "Returning is free."],
    "reference": "The warranty lasts 24 months.",
}


class Asked(OfflineJudge):
    """Keeps what it is asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Interaction] = []

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        self.asked.append(interaction)
        return await super().judge(interaction, cost_meter, claims)


async def scored(**changed: Any) -> tuple[str, ScoreRecord, list[Interaction]]:
    """Outcome, score record, and what the judge was asked about."""
    written, judge = Memory(), Asked()
    outcome = await run(json.dumps({**SHOWN, **changed}).encode(), judge, written)
    ((_, line),) = written.values
    assert line is not None
    return outcome, read_score_record(line), judge.asked


@pytest.mark.parametrize("field", ["user_input", "response"])
async def test_without_question_or_response_nobody_is_asked(field: str) -> None:
    """Unscorable with the reason, for every metric, on a score record of its own."""
    outcome, record, asked = await scored(**{field: f" {REDACTED_TEXT}\n"})
    assert (outcome, record.reason, asked) == ("unscorable", "redacted", [])
    assert record.scores == dict.fromkeys(CATALOGUE, UnscoredMark(unscored="REDACTED"))
    assert record.usage.calls == 0


async def test_a_hidden_reference_leaves_what_needs_none() -> None:
    """The judge is not shown the placeholder, and takes it for no claim."""
    outcome, record, (asked,) = await scored(reference=REDACTED_TEXT)
    assert (outcome, asked.reference) == ("scored", None)
    assert record.scores["faithfulness"] == 1.0
    assert record.scores["incorrect_claims"] == UnscoredMark(unscored="REDACTED")
    assert record.sampling.kind == "with_reference"


async def test_a_hidden_passage_leaves_what_needs_none() -> None:
    """What the passages support cannot be said when one of them is hidden."""
    hidden = ["The warranty lasts 24 months.", {"text": REDACTED_TEXT}]
    outcome, record, (asked,) = await scored(retrieved_contexts=hidden)
    assert (outcome, asked.retrieved_contexts) == ("scored", ())
    assert record.scores["incorrect_claims"] == 0.0
    assert record.scores["faithfulness"] == UnscoredMark(unscored="REDACTED")


async def test_nothing_is_left_without_passages_and_reference() -> None:
    """Hidden passages and no reference: nobody is asked."""
    both: dict[str, object] = {"retrieved_contexts": [REDACTED_TEXT], "reference": REDACTED_TEXT}
    outcome, record, asked = await scored(**both)
    assert (outcome, record.reason, asked) == ("unscorable", "redacted", [])


def test_a_text_about_the_word_is_no_hidden_text() -> None:
    """Only the whole content counts."""
    shown = attributed().model_copy(update={"response": f"It says {REDACTED_TEXT}."})
    assert redacted_metrics(shown) == frozenset()
    assert without_redacted(shown) is shown


def test_a_text_that_is_replaced_is_looked_at_anew() -> None:
    """What the log hides is that of the texts which the judge would be shown."""
    logged = attributed()
    found = JudgingInput(logged)
    assert found.of(logged.model_copy()) is found
    hidden = logged.model_copy(update={"response": REDACTED_TEXT})
    assert (found.redacted, found.of(hidden).redacted) == (frozenset(), frozenset(CATALOGUE))
