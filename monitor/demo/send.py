"""``rag-monitor traffic``: made-up interactions to a real topic."""

from __future__ import annotations

import asyncio
import json
import math
import time

from monitor.app.connections import connection
from monitor.config import Settings
from monitor.demo.generator import Generator, Writer
from monitor.demo.schedule import Schedule
from monitor.demo.traffic import DemoTraffic
from monitor.kafka import one_shot
from monitor.kafka.metadata import wait_for_topics
from monitor.kafka.producer import Producer
from monitor.kafka.topics import TopicSpec, create_missing
from monitor.runtime.health import Health
from monitor.runtime.shutdown import stop_on_signals, until


class AckWatch:
    """Writes of which one must be acknowledged at least every ``limit_s`` seconds, while any wait.

    ``limit`` passes where that is not so.
    """

    def __init__(self, writer: Writer, limit: asyncio.Timeout, limit_s: float) -> None:
        self._writer, self._limit, self._limit_s = writer, limit, limit_s
        self._waiting = 0
        limit.reschedule(None)

    async def write(self, topic: str, value: bytes, *, key: bytes) -> None:
        """Returns when the record is acknowledged."""
        if self._waiting == 0:
            self._put_off(self._limit_s)
        self._waiting += 1
        try:
            await self._writer.write(topic, value, key=key)
        finally:
            self._waiting -= 1
        self._put_off(self._limit_s if self._waiting else None)

    def _put_off(self, seconds: float | None) -> None:
        if not self._limit.expired():
            now = asyncio.get_running_loop().time()
            self._limit.reschedule(None if seconds is None else now + seconds)


#: For the writes under way when a signal comes.
GRACE_S = 5.0


async def send(
    settings: Settings,
    run_for: float | None,
    seed: int,
    rate: float,
    incident_at: int,
    incident_for: int,
    limit_s: float,
) -> None:
    """Send until ``run_for`` seconds have passed or a signal comes; print a JSON summary.

    Raises ``DependencyRefused``, also where there is no broker or topic for ``limit_s`` seconds, or
    nothing of what was sent is acknowledged for so long.
    """
    stop = asyncio.Event()
    stop_on_signals(stop)
    topic = settings.kafka.topics.interactions[0]
    schedule = Schedule(math.ceil(time.time()), incident_at, incident_for)
    sent = 0

    async def work() -> None:
        nonlocal sent
        where, health = connection(settings), Health(time.monotonic)
        async with one_shot.in_time(where, health, limit_s, "connecting"):
            if settings.kafka.create_topics:
                await create_missing(where, [TopicSpec(topic)], health)
            await wait_for_topics(where, [topic], health, "traffic")
            producer = await Producer.start(where, health)
        traffic = DemoTraffic(seed, schedule.mix_at)
        end = math.inf if run_for is None else schedule.start + run_for
        try:
            async with one_shot.in_time(where, health, limit_s, "writing") as limit:
                writer = AckWatch(producer, limit, limit_s)
                generator = Generator(writer, topic, traffic, rate=rate, clock=time.time)
                try:
                    await generator.run(schedule.start, end, stop)
                finally:
                    sent = generator.acknowledged
        finally:
            await producer.stop()

    await until(stop, work(), grace_s=GRACE_S)
    print(json.dumps({"topic": topic, "acknowledged": sent}), flush=True)
