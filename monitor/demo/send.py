"""``rag-monitor traffic``: made-up interactions to a real topic."""

from __future__ import annotations

import asyncio
import json
import math
import time

from monitor.app import connection, stop_on_signals
from monitor.config import Settings
from monitor.demo.generator import Generator
from monitor.demo.schedule import Schedule
from monitor.demo.traffic import Traffic
from monitor.health import Health
from monitor.kafka.metadata import wait_for_topics
from monitor.kafka.producer import Producer


async def send(
    settings: Settings,
    run_for: float | None,
    seed: int,
    rate: float,
    incident_at: int,
    incident_for: int,
) -> None:
    """Send until ``run_for`` seconds have passed or a signal comes; print a JSON summary."""
    stop, health = asyncio.Event(), Health(time.monotonic)
    stop_on_signals(stop)
    topic, where = settings.kafka.topics.interactions, connection(settings)
    await wait_for_topics(where, [topic], health, "traffic")
    producer = await Producer.start(where, health)
    schedule = Schedule(math.ceil(time.time()), incident_at, incident_for)
    generator = Generator(
        producer, topic, Traffic(seed, schedule.mix_at), rate=rate, clock=time.time
    )
    try:
        end = math.inf if run_for is None else schedule.start + run_for
        await generator.run(schedule.start, end, stop)
    finally:
        await producer.stop()
    print(json.dumps({"topic": topic, "acknowledged": generator.acknowledged}), flush=True)
