"""A broker that freezes or dies for a while: nothing is lost, and nobody has to lend a hand.

``OUTAGE_SECONDS`` is how long it is away (default 15; 60 and more also shows that the consumer's
session may end meanwhile, and that the loops keep beating). ``pytest -s`` prints the figures.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest
from confluent_kafka import KafkaError, Message, Producer

from monitor.records import read_score_record
from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, KafkaBroker, missing_kafka
from tests.servers.kafka_topics import create_topic, read_all
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, Samples, total, until
from tests.stages.topics import Topics
from tests.tools import requires_tool

OUTAGE_S = float(os.environ.get("OUTAGE_SECONDS") or 15)
MOST_LINES = 10
TOPICS: Topics = {
    "kafka__topics__interactions": "interactions",
    "kafka__topics__scores": "scores",
    "kafka__topics__dead_letters": "dead_letters",
    "kafka__topics__control": "control",
    "kafka__topics__alarms": "alarms",
}


class Traffic:
    """Writes interactions that are known to be on the broker; patient while it is away."""

    def __init__(self, broker: str) -> None:
        self.acknowledged: set[str] = set()
        self._numbers = count()
        self._producer = Producer(
            {
                "bootstrap.servers": broker,
                "message.timeout.ms": 0,  # never gives up
                "socket.timeout.ms": 5_000,
                "reconnect.backoff.max.ms": 1_000,
                "log_level": 0,
            }
        )

    def send(self, number: int = 1) -> None:
        """Hand some to the client, without waiting."""
        for _ in range(number):
            name = f"i{next(self._numbers):05d}"
            self._producer.produce(
                TOPICS["kafka__topics__interactions"],
                encoded(interaction(name)),
                key=name,
                on_delivery=self._delivered,
            )
        self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        self.acknowledged.add((message.key() or b"").decode())

    async def all_written(self) -> None:
        """Wait until the broker has them all."""
        await until(lambda: self._producer.flush(0.2) == 0, "all acknowledged")

    @asynccontextmanager
    async def flowing(self, every_s: float = 0.05) -> AsyncIterator[None]:
        """One every so often, meanwhile."""

        async def flow() -> None:
            while True:
                self.send()
                await asyncio.sleep(every_s)

        task = asyncio.create_task(flow())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[KafkaBroker]:
    """A broker of one's own, with the topics."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    running = KafkaBroker(tmp_path)
    await asyncio.to_thread(running.start)
    for name in TOPICS.values():
        await create_topic(running.bootstrap, name, 2)
    yield running
    await asyncio.to_thread(running.stop)


@pytest.mark.timeout(900 + 2 * OUTAGE_S)
@pytest.mark.parametrize("load", ["traffic", "idle"])
@pytest.mark.parametrize("how", ["frozen", "killed"])
async def test_an_outage_is_told_survived_and_over(
    how: Literal["frozen", "killed"], load: str, broker: KafkaBroker, tmp_path: Path
) -> None:
    """Not ready while it lasts, alive and brief in the log; then ready, and nothing is missing."""
    traffic = Traffic(broker.bootstrap)
    monitor = MonitorProcess("run", broker.bootstrap, tmp_path, "monitor", **TOPICS)
    try:
        await monitor.ready()
        traffic.send(20)
        await traffic.all_written()
        await until(lambda: _outcomes(monitor, 20), "20 outcomes")
        if load == "traffic":
            async with traffic.flowing():
                figures = await _outage(broker, monitor, how)
                traffic.send(20)
        else:
            figures = await _outage(broker, monitor, how)
            traffic.send(20)
        await traffic.all_written()
        await until(lambda: _scored(broker, traffic.acknowledged), "a score record for each")
        samples = await monitor.metrics()
    finally:
        await monitor.end()
    assert total(samples, "rag_monitor_kafka_problem", kind="broker_away") == 0
    said = [event["event"] for event in monitor.events() if "kafka_problem" in event["event"]]
    # A frozen broker's port takes no more connections after a while: that is worth a line, too.
    assert said[0] == "kafka_problem"
    assert said.index("kafka_problem_over") == len(said) - 1
    assert len(said) <= 2 + OUTAGE_S / 60
    most = most_lines_a_minute(monitor.log, figures.pop("from"))
    figures |= {"interactions": len(traffic.acknowledged), "lines_a_minute": most}
    print(f"\n{how}, {load}, {OUTAGE_S:g} s: {json.dumps(figures)}")
    assert most <= MOST_LINES


async def _outage(broker: KafkaBroker, monitor: MonitorProcess, how: str) -> dict[str, float]:
    """The broker goes away and comes back; seconds until readiness knew of both."""
    gone, at = time.monotonic(), time.time()
    await asyncio.to_thread(broker.freeze if how == "frozen" else broker.kill)
    await until(lambda: _readiness(monitor, 503), "not ready")
    told = time.monotonic() - gone
    _, body = await monitor.get("/readyz")
    assert broker.bootstrap in body
    await until(lambda: _shown(monitor), "the gauge")
    while time.monotonic() - gone < OUTAGE_S:
        assert await _readiness(monitor, 503)
        assert (await monitor.get("/healthz"))[0] == 200
        await asyncio.sleep(0.5)
    await asyncio.to_thread(broker.thaw if how == "frozen" else broker.start)
    back = time.monotonic()
    await until(lambda: _readiness(monitor, 200), "ready again")
    ready = time.monotonic() - back
    return {"told_after_s": round(told, 1), "ready_after_s": round(ready, 1), "from": at}


async def _readiness(monitor: MonitorProcess, status: int) -> bool:
    assert monitor.alive()
    return (await monitor.get("/readyz"))[0] == status


async def _shown(monitor: MonitorProcess) -> bool:
    samples: Samples = await monitor.metrics()
    return total(samples, "rag_monitor_kafka_problem", kind="broker_away") == 1


async def _outcomes(monitor: MonitorProcess, least: int) -> bool:
    return total(await monitor.metrics(), "rag_monitor_interactions_total") >= least


async def _scored(broker: KafkaBroker, sent: set[str]) -> bool:
    records = await read_all(broker.bootstrap, TOPICS["kafka__topics__scores"])
    return {read_score_record(record.value or b"").interaction_id for record in records} == sent


def most_lines_a_minute(log: Path, since: float) -> int:
    """The most lines in any 60 seconds of a log; a line that is no event counts with the last.

    ``since`` is in epoch seconds: starting has its own things to say.
    """
    times: list[float] = []
    for line in log.read_text("utf-8").splitlines():
        try:
            event: dict[str, Any] = json.loads(line)
            times.append(datetime.fromisoformat(event["timestamp"]).timestamp())
        except (ValueError, TypeError, KeyError):
            times.append(times[-1] if times else 0.0)
    told = [at for at in times if at >= since]
    return max(sum(start <= at < start + 60 for at in told) for start in told)
