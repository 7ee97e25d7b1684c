"""Whatever becomes of an interaction, no text of it stands in the log."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest

from monitor.errors import JudgeFailed
from monitor.judge.offline.judge import OfflineJudge
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement, Verdicts
from tests.stages.captured_log import captured_log
from tests.stages.producers import Memory, at_most
from tests.stages.records import JUDGE
from tests.stages.scoring import MARKER, TEXTS, run


class Raising:
    """A judge that quotes the interaction in an error."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error

    @property
    def identity(self) -> JudgeIdentity:
        return JUDGE

    async def judge(
        self, interaction: Interaction, cost_meter: CostMeter | None = None
    ) -> Judgement:
        if self._error is JudgeFailed:
            raise JudgeFailed(f"said: {interaction.response}", reason="malformed_reply")
        if self._error is ExceptionGroup:
            raise ExceptionGroup(interaction.response, [ValueError(interaction.response)])
        try:
            raise KeyError(interaction.user_input)
        except KeyError as error:
            raise self._error(interaction.response) from error

    async def prepare(self) -> None:
        return

    async def aclose(self) -> None:
        return


class Refused(Raising):
    """A judge whose model has kept to no format."""

    async def judge(
        self, interaction: Interaction, cost_meter: CostMeter | None = None
    ) -> Judgement:
        if cost_meter is not None:
            cost_meter.refused.update({"pairs": 1, "keys": 3})
        return await super().judge(interaction, cost_meter)


class WrongShape(Raising):
    """A judge whose bug is found by the judgement itself; such an error quotes its input."""

    async def judge(
        self, interaction: Interaction, cost_meter: CostMeter | None = None
    ) -> Judgement:
        return Judgement(
            claims=Claims(response=(interaction.response,)),
            passages=1,
            has_reference=True,
            verdicts=Verdicts(),
            judge=JUDGE,
        )


@pytest.fixture(params=["json", "console"])
def log(request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """Reads the log, in either format."""
    with captured_log("debug", request.param) as read:
        yield read


@pytest.mark.parametrize(
    ("error", "outcome", "event"),
    [
        (JudgeFailed, "judge_failed", "judge_failed"),
        (ValueError, "dead_lettered", "scorer_bug"),
        (ExceptionGroup, "dead_lettered", "scorer_bug"),
        (None, "dead_lettered", "scorer_bug"),
    ],
)
async def test_an_error_of_the_judge_is_logged_without_its_words(
    error: type[Exception] | None,
    outcome: str,
    event: str,
    log: Callable[[], str],
) -> None:
    """An exception may quote what it could not handle: its type and place are enough."""
    judge = WrongShape(ValueError) if error is None else Raising(error)
    assert await run(json.dumps(TEXTS).encode(), judge, Memory()) == outcome
    said = log()
    assert event in said
    assert MARKER not in said
    if event == "scorer_bug":
        assert "test_scorer_log.py" in said


@pytest.mark.parametrize(
    "value",
    [
        json.dumps({**TEXTS, "response": [MARKER]}).encode(),
        json.dumps({**TEXTS, "timestamp": MARKER}).encode(),
        json.dumps({**TEXTS, "retrieved_contexts": {MARKER: MARKER}}).encode(),
        json.dumps(TEXTS).encode()[:-1],
        f'"{MARKER}"'.encode(),
        MARKER.encode(),
    ],
)
async def test_a_dead_letter_is_logged_without_its_texts(
    value: bytes, log: Callable[[], str]
) -> None:
    """Path, what was expected and the length; the record itself is among the dead letters."""
    written = Memory()
    assert await run(value, OfflineJudge(), written) == "dead_lettered"
    assert written.values == [("dead", value)]
    said = log()
    assert "dead_letter" in said
    assert MARKER not in said


async def test_a_record_too_large_is_logged_without_its_texts(
    log: Callable[[], str],
) -> None:
    """Neither as it is nor without texts does the broker take it: dead letter, in one event."""
    value = json.dumps(TEXTS).encode()
    assert await run(value, OfflineJudge(), Memory(at_most(10, "scores"))) == "dead_lettered"
    said = log()
    assert "max.message.bytes" in said
    assert MARKER not in said


async def test_a_failed_judgement_is_logged_with_its_commonest_complaint(
    log: Callable[[], str],
) -> None:
    """By its kind, of which there are few; a failure of another sort has none."""
    assert await run(json.dumps(TEXTS).encode(), Refused(JudgeFailed), Memory()) == "judge_failed"
    (line,) = log().splitlines()
    assert "judge_failed" in line
    assert re.search("complaint.{1,12}keys", line)
    assert await run(json.dumps(TEXTS).encode(), Raising(JudgeFailed), Memory()) == "judge_failed"
    assert "complaint" not in log().splitlines()[-1]


async def test_a_scored_interaction_is_not_logged(log: Callable[[], str]) -> None:
    """Its texts go to the score record, and there alone."""
    written = Memory()
    assert await run(json.dumps(TEXTS).encode(), OfflineJudge(), written) == "scored"
    assert log() == ""
    ((topic, line),) = written.values
    assert topic == "scores"
    assert line is not None
    assert MARKER.encode() in line
