"""A dead letter that finds no place holds its partition, and only that one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry

from monitor.errors import DependencyRefused, MessageRejected
from monitor.health import Health
from monitor.ingest import dead_letters
from monitor.ingest.circuit import CircuitLimits
from monitor.ingest.dead_letters import DeadLetters
from monitor.ingest.gate import Gate
from monitor.kafka.connection import Connection
from monitor.kafka.producer import Producer, RecordRefused
from monitor.kafka.record import Partition
from monitor.telemetry import ScorerTelemetry
from tests.unit.ingest.letters import Record

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
WRONG = MessageRejected("response: found nothing", stage="validate", cause="missing_field")
HERE, THERE = Partition("rag.interactions.v1", 3), Partition("rag.interactions.v1", 4)


class Refusing(Producer):
    """Says no until it is ``willing``."""

    def __init__(self, refusal: Exception) -> None:
        super().__init__(Connection("127.0.0.1:1"), None, Health(lambda: 0.0), lambda _topic: None)
        self._refusal = refusal
        self.willing = False
        self.taken: list[bytes | None] = []

    async def write(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> None:
        if not self.willing:
            raise self._refusal
        self.taken.append(value)


def prepared(refusal: Exception) -> tuple[Refusing, DeadLetters, Health]:
    """Dead letters on a topic that refuses."""
    health = Health(lambda: 0.0)
    gate = Gate(CircuitLimits(), ScorerTelemetry(CollectorRegistry()), health, lambda: 0.0)
    producer = Refusing(refusal)
    return producer, DeadLetters(producer, "dead", gate, group="g", version="1"), health


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
    burying = asyncio.create_task(letters.bury(Record(), WRONG, NOW))
    waiting = await held(letters, health)
    assert said in waiting
    assert waiting.endswith("held until then: rag.interactions.v1/3")
    producer.willing = True
    await burying
    assert producer.taken == [b"{"]
    assert letters.gate.room(HERE) is None
    assert health.waiting == {}


async def test_a_refusal_is_still_said_when_it_has_lasted(monkeypatch: pytest.MonkeyPatch) -> None:
    """That nothing has been taken for a while says less than why."""
    monkeypatch.setattr(dead_letters, "SLOW_S", 0.05)
    _, letters, health = prepared(RecordRefused("MessageSizeTooLargeError"))
    burying = asyncio.create_task(letters.bury(Record(), WRONG, NOW))
    said = await held(letters, health)
    await asyncio.sleep(0.15)
    assert health.waiting["dead_letters"] == said
    burying.cancel()
    await asyncio.gather(burying, return_exceptions=True)


async def test_it_is_held_until_the_last_letter_has_a_place() -> None:
    """Of two that wait, one given up (the partition is revoked) leaves the other waiting."""
    producer, letters, health = prepared(RecordRefused("too large"))
    first = asyncio.create_task(letters.bury(Record(offset=1), WRONG, NOW))
    second = asyncio.create_task(letters.bury(Record(offset=2), WRONG, NOW))
    await settled()
    assert letters.gate.waiting == 2
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert letters.gate.room(HERE) == 0
    assert "dead_letters" in health.waiting
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert (letters.gate.room(HERE), letters.gate.waiting) == (None, 0)
    assert health.waiting == {}
    assert producer.taken == []
