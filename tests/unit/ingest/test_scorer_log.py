"""Whatever becomes of an interaction, no text of it stands in the log."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pytest
from prometheus_client import CollectorRegistry

from monitor.errors import JudgeFailed
from monitor.health import Health
from monitor.ingest.circuit import CircuitLimits
from monitor.ingest.dead_letters import DeadLetters
from monitor.ingest.gate import Gate
from monitor.ingest.sampling import Sampler
from monitor.intake import Traffic
from monitor.judge.limits import Limits
from monitor.judge.offline import OfflineJudge
from monitor.judge.protocol import Bill, Judge
from monitor.judging import Treatment
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement, Verdicts
from monitor.scorer import Scorer, ScorerSettings
from monitor.telemetry import ScorerTelemetry
from tests.unit.cli.captured_log import captured_log
from tests.unit.ingest.producers import Memory, at_most
from tests.unit.records.made import JUDGE

MARKER = "kidney-stone-4711"
TEXTS = {
    "user_input": f"What about the {MARKER}?",
    "response": f"The {MARKER} weighs 5 grams.",
    "retrieved_contexts": [f"A {MARKER} weighs 5 grams."],
    "reference": f"The {MARKER} weighs 6 grams.",
}


class Record(NamedTuple):
    """A consumed record."""

    value: bytes | None
    topic: str = "rag.interactions.v1"
    partition: int = 0
    offset: int = 7
    timestamp: int = 1_795_176_000_000
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


class Raising:
    """A judge that quotes the interaction in an error."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error

    @property
    def identity(self) -> JudgeIdentity:
        return JUDGE

    async def judge(self, interaction: Interaction, bill: Bill | None = None) -> Judgement:
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

    async def judge(self, interaction: Interaction, bill: Bill | None = None) -> Judgement:
        if bill is not None:
            bill.refused.update({"pairs": 1, "keys": 3})
        return await super().judge(interaction, bill)


class WrongShape(Raising):
    """A judge whose bug is found by the judgement itself; such an error quotes its input."""

    async def judge(self, interaction: Interaction, bill: Bill | None = None) -> Judgement:
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


async def run(value: bytes, judge: Judge, written: Memory) -> str:
    """Bring one record to its end; the outcome."""
    registry = CollectorRegistry()
    telemetry = ScorerTelemetry(registry)
    gate = Gate(CircuitLimits(), telemetry, Health(lambda: 0.0), lambda: 0.0)
    scorer = Scorer(
        ScorerSettings("scores", 1_000_000),
        Traffic(Treatment(Sampler(1.0), judge, Limits(1, 60.0))),
        written,
        DeadLetters(written, "dead", gate, group="g", version="1"),
        telemetry,
        lambda: 1_795_176_000.0,
    )
    work = scorer.begin(Record(value))
    if work is not None:
        await work
    ended = [
        sample.labels["outcome"]
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "rag_monitor_interactions_total"
    ]
    assert len(ended) == 1
    return ended[0]


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
