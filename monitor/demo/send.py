"""``rag-monitor traffic``: made-up interactions to a real topic."""

from __future__ import annotations

import asyncio
import json
import math
import time

from monitor.app import connection, stop_on_signals, until
from monitor.config import Settings
from monitor.demo.generator import Generator
from monitor.demo.schedule import Schedule
from monitor.demo.traffic import Traffic
from monitor.health import Health
from monitor.kafka import errands
from monitor.kafka.metadata import wait_for_topics
from monitor.kafka.producer import Producer

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

    Raises ``DependencyRefused``, also where there is no broker or topic for ``limit_s`` seconds.
    """
    stop = asyncio.Event()
    stop_on_signals(stop)
    topic = settings.kafka.topics.interactions[0]
    schedule = Schedule(math.ceil(time.time()), incident_at, incident_for)
    sent = 0

    async def work() -> None:
        nonlocal sent
        where, health = connection(settings), Health(time.monotonic)
        async with errands.in_time(where, health, limit_s, "connecting"):
            await wait_for_topics(where, [topic], health, "traffic")
            producer = await Producer.start(where, health)
        traffic = Traffic(seed, schedule.mix_at)
        generator = Generator(producer, topic, traffic, rate=rate, clock=time.time)
        end = math.inf if run_for is None else schedule.start + run_for
        try:
            await generator.run(schedule.start, end, stop)
        finally:
            sent = generator.acknowledged
            await producer.stop()

    await until(stop, work(), grace_s=GRACE_S)
    print(json.dumps({"topic": topic, "acknowledged": sent}), flush=True)
