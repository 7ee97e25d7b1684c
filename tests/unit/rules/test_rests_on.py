"""What an alert says is worth nothing, where a judge guesses verdicts of one kind."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from monitor.judge.canaries import KINDS
from monitor.metrics.catalogue import score_all
from monitor.records import Judgement
from monitor.rules.judge import RESTS_ON


def guessed(kind: str, rng: Random) -> dict[str, Any]:
    """Verdicts of a kind by chance: on three claims of a response, two of a reference."""

    def flags(*shape: int) -> list[Any]:
        if len(shape) == 1:
            return [rng.random() < 0.5 for _ in range(shape[0])]
        return [flags(*shape[1:]) for _ in range(shape[0])]

    if kind == "passage":
        return {"response_by_passage": flags(3, 2), "reference_by_passage": flags(2, 2)}
    if kind == "reference":
        return {"response_by_reference": flags(3)}
    return {"reference_by_response": flags(2)}


def values(verdicts: dict[str, Any]) -> dict[str, Any]:
    """Every metric of these verdicts; together the passages support what one of them does."""
    together = [any(row) for row in verdicts["response_by_passage"]]
    judge = dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], "")
    judgement = {
        "claims": {"response": ["a", "b", "c"], "reference": ["d", "e"]},
        "passages": 2,
        "has_reference": True,
        "verdicts": {**verdicts, "response_by_context": together},
        "judge": judge,
    }
    return dict(score_all(Judgement.model_validate(judgement)))


def test_kinds_are_those_of_canaries() -> None:
    """Of another one the alert would name nothing."""
    assert list(RESTS_ON) == list(KINDS)


@pytest.mark.parametrize("kind", RESTS_ON)
def test_named_are_the_metrics_that_change_with_the_verdicts(kind: str) -> None:
    """All of them, and no other."""
    rng, changed = Random(1), set[str]()
    for _ in range(400):
        verdicts = {key: row for each in KINDS for key, row in guessed(each, rng).items()}
        before, after = values(verdicts), values({**verdicts, **guessed(kind, rng)})
        changed |= {name for name, value in before.items() if value != after[name]}
    assert set(RESTS_ON[kind]) == changed
