"""A dead letter that finds no place holds its partition, and only that one."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from monitor.errors import DependencyRefused, MessageRejected
from monitor.ingest.dead_letters.circuit_breaker import CircuitLimits
from monitor.ingest.dead_letters.gate import DeadLetterGate
from monitor.ingest.dead_letters.writer import SLOW_S, DeadLetters
from monitor.ingest.work import Work, Works, WorkState
from monitor.kafka.producer import RecordRefused
from monitor.kafka.record import Partition
from monitor.runtime.health import Health
from monitor.telemetry import ScorerTelemetry
from tests.stages.dead_letters import Record
from tests.stages.producers import Memory

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
WRONG = MessageRejected("response: found nothing", stage="validate", cause="missing_field")
HERE, THERE = Partition("rag.interactions.v1", 3), Partition("rag.interactions.v1", 4)


def prepared(refusal: Exception, slow_s: float = SLOW_S) -> tuple[Memory, DeadLetters, Health]:
    """Dead letters on a topic that refuses."""
    health = Health(lambda: 0.0)
    gate = DeadLetterGate(
        CircuitLimits(), ScorerTelemetry(CollectorRegistry()), health, lambda: 0.0
    )
    producer = Memory(lambda _sent: refusal)
    letters = DeadLetters(producer, "dead", gate, group="g", version="1", slow_s=slow_s)
    return producer, letters, health


def buried(letters: DeadLetters, record: Record, works: Works | None = None) -> Work:
    """The work on a record that becomes a dead letter."""

    async def bury(work: Work) -> None:
        await letters.bury(record, WRONG, NOW, work)

    return Work(record, bury, works or Works())


async def settled() -> None:
    """All tasks have come as far as they come without time passing."""
    for _ in range(100):
        await asyncio.sleep(0)


async def held(letters: DeadLetters, health: Health) -> str:
    """What readiness says once the partition is held."""
    await settled()
    assert letters.gate.room(HERE) == 0
    assert letters.gate.room(THERE) is None
    return health.waiting["dead_letters"]


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (RecordRefused("MessageSizeTooLargeError"), "raise its max.message.bytes"),
        (DependencyRefused("no right to write"), "takes no dead letter: no right to write"),
    ],
)
async def test_a_refusal_is_waited_out(refusal: Exception, said: str) -> None:
    """Too large or not allowed: held and said, tried again, and released with the whole record."""
    producer, letters, health = prepared(refusal)
    burying = buried(letters, Record()).start()
    waiting = await held(letters, health)
    assert said in waiting
    assert waiting.endswith("held until then: rag.interactions.v1/3")
    producer.refuse = lambda _sent: None
    await burying
    assert producer.values == [("dead", b"{")]
    assert letters.gate.room(HERE) is None
    assert health.waiting == {}


async def test_a_refusal_is_still_said_when_it_has_lasted() -> None:
    """That nothing has been taken for a while, here for no time at all, says less than why."""
    _, letters, health = prepared(RecordRefused("MessageSizeTooLargeError"), slow_s=0.0)
    burying = buried(letters, Record()).start()
    assert "MessageSizeTooLargeError" in await held(letters, health)
    burying.cancel()
    await asyncio.gather(burying, return_exceptions=True)


def test_what_the_topic_says_is_told_after_a_guess_and_is_hidden_by_none() -> None:
    """Each once: that nothing was taken for a while, then why; another letter's guess is none."""
    health = Health(lambda: 0.0)
    telemetry = ScorerTelemetry(CollectorRegistry())
    gate = DeadLetterGate(CircuitLimits(), telemetry, health, lambda: 0.0)
    with capture_logs() as logs:
        gate.hold(HERE, "slow", first=True, is_guess=True)
        assert health.waiting["dead_letters"].startswith("slow; ")
        gate.hold(HERE, "too large", first=False, is_guess=False)
        gate.hold(HERE, "too large", first=True, is_guess=False)
        gate.hold(THERE, "slow", first=True, is_guess=True)
        assert health.waiting["dead_letters"].startswith("too large; ")
    said = [(line["partition"], line["hint"]) for line in logs]
    assert said == [(3, "slow"), (3, "too large"), (4, "slow")]
    gate.release(HERE)
    gate.release(HERE)
    gate.release(THERE)
    gate.hold(HERE, "slow again", first=True, is_guess=True)
    assert health.waiting["dead_letters"].startswith("slow again; ")


async def test_it_is_held_until_the_last_letter_has_a_place() -> None:
    """Of two that wait, one given up (the partition is revoked) leaves the other waiting."""
    producer, letters, health = prepared(RecordRefused("too large"))
    works = Works()
    first = buried(letters, Record(offset=1), works).start()
    second = buried(letters, Record(offset=2), works).start()
    await settled()
    assert works.count(WorkState.HELD) == 2
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert letters.gate.room(HERE) == 0
    assert "dead_letters" in health.waiting
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert (letters.gate.room(HERE), works.count(WorkState.HELD)) == (None, 0)
    assert health.waiting == {}
    assert producer.sent == []


def test_a_probe_is_of_every_partition() -> None:
    """What fails on one is not taken for all; after a moment whoever has something may go on."""
    now = [0.0]
    limits = CircuitLimits(least=20, probe=10, wait_s=1.0)
    telemetry = ScorerTelemetry(CollectorRegistry())
    gate = DeadLetterGate(limits, telemetry, Health(lambda: 0.0), lambda: now[0])
    for _ in range(20):
        gate.failed("invalid_json")
    assert [gate.room(HERE), gate.room(THERE)] == [0, 0]
    now[0] = 1.5
    gate.turn()
    for _ in range(5):
        gate.begun(HERE)
        gate.failed("invalid_json")
    assert [gate.room(HERE), gate.room(THERE)] == [0, 5]
    now[0] = 2.0
    gate.turn()
    assert gate.room(HERE) == 0
    now[0] = 2.6
    assert gate.room(HERE) == 5, "nothing came of the other: the probe has an end all the same"
    gate.begun(THERE)
    gate.circuit.fine()
    assert gate.room(HERE) is None
