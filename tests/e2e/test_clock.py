"""A scorer on a machine with a wrong clock: said, nothing lost, and over as soon as it is right."""

from __future__ import annotations

import asyncio
import time
import uuid
from pathlib import Path

import pytest

from monitor.kafka.clock import BrokerClock
from monitor.kafka.connection import Connection
from monitor.kafka.producer import Producer
from monitor.runtime.health import Health
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, create_topic, produce, read_all
from tests.stages.clocked import CLOCK, MACHINE, set_to
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, outcomes, total, until
from tests.stages.topics import MakeTopics

OFFSET, AHEAD_S = "rag_monitor_clock_offset_seconds", 7_200


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The clock of the machines that are started meanwhile: two hours ahead."""
    found = tmp_path / "clock"
    set_to(found, time.time() + AHEAD_S)
    monkeypatch.setenv(CLOCK, str(found))
    monkeypatch.setenv(MACHINE, "1")
    return found


async def test_a_scorer_two_hours_ahead_waits_for_its_clock(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path, clock: Path
) -> None:
    """No broker takes what it has judged: it holds it, says why, and goes on by itself; not one
    dead letter comes of it."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    names = {f"i{n}" for n in range(20)}
    sent = [Record(encoded(interaction(name))) for name in names]
    await produce(broker, topics["kafka__topics__interactions"], sent)
    scorer = MonitorProcess(
        "score", broker, tmp_path, "scorer", module="tests.stages.clocked", **topics
    )
    try:
        await scorer.listening()

        async def both_say_so() -> bool:
            status, body = await scorer.get("/readyz")
            said = body.count("this clock is 2 h ahead of the broker")
            return status == 503 and "takes no record with the time" in body and said == 2

        await until(both_say_so, "the clock in /readyz")
        samples = await scorer.metrics()
        assert abs(total(samples, OFFSET) + AHEAD_S) < 300
        assert total(samples, "rag_monitor_kafka_problem", kind="clock") == 1
        assert outcomes(samples) == {}
        set_to(clock, time.time())
        await scorer.ready()
        await until(lambda: _all_are_scored(scorer), "all scores")
    finally:
        await scorer.end()
    assert await read_all(broker, topics["kafka__topics__dead_letters"]) == []
    assert len(await read_all(broker, topics["kafka__topics__scores"])) == len(names)
    events = [event["event"] for event in scorer.events()]
    assert (events.count("clock_off"), events.count("clock_right")) == (1, 1)
    assert not [event for event in scorer.events() if "max.message.bytes" in str(event)]


async def _all_are_scored(scorer: MonitorProcess) -> bool:
    return outcomes(await scorer.metrics()) == {"scored": 20}


async def test_without_a_controller_that_tells_a_refusal_does(kafka_broker: RunningBroker) -> None:
    """The write waits, as the clock's fault, and ends when the clock is right."""
    topic, ahead = f"times-{uuid.uuid4().hex[:8]}", [AHEAD_S]
    await create_topic(kafka_broker.bootstrap, topic)
    own = BrokerClock(lambda: time.time() + ahead[0])
    connection, health = Connection(kafka_broker.bootstrap, clock=own), Health(time.monotonic)
    producer = await Producer.start(connection, health)
    try:
        writing = asyncio.create_task(producer.write(topic, b"value"))
        await until(lambda: "producer" in health.waiting, "what the writer waits for")
        assert "this clock is at least 60 min ahead of the broker" in health.waiting["producer"]
        assert own.is_off(300)
        assert not writing.done()
        ahead[0] = 0
        await writing
        assert health.waiting == {}
        assert own.offset_s is None
    finally:
        await producer.stop()
    (written,) = await read_all(kafka_broker.bootstrap, topic)
    assert abs((written.timestamp_ms or 0) / 1000 - time.time()) < 300


async def test_a_topic_with_the_brokers_times_tells_them(kafka_broker: RunningBroker) -> None:
    """Such a topic takes any time; its answer says what time it is."""
    topic = f"times-{uuid.uuid4().hex[:8]}"
    config = {"message.timestamp.type": "LogAppendTime"}
    await create_topic(kafka_broker.bootstrap, topic, config=config)
    own = BrokerClock(lambda: time.time() + AHEAD_S)
    connection = Connection(kafka_broker.bootstrap, clock=own)
    producer = await Producer.start(connection, Health(time.monotonic))
    try:
        await producer.write(topic, b"value")
    finally:
        await producer.stop()
    assert own.offset_s is not None
    assert abs(own.offset_s + AHEAD_S) < 10
    assert abs(own.now() - time.time()) < 10
