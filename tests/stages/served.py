"""The page of an exporter that has read everything."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import aiohttp

from monitor.app.process import Monitor
from monitor.config import load
from tests.stages.process import until
from tests.stages.topics import Topics


async def served_page(
    broker: str, topics: Topics, clock: Callable[[], float] = time.time, **more: str
) -> str:
    """``/metrics`` of a fresh exporter whose clock is ``clock``; ``more`` settings, by path."""
    flags = {key.replace("__", "."): value for key, value in {**topics, **more}.items()}
    settings = load({}, flags={"kafka.bootstrap_servers": broker, "http.port": 0, **flags})
    monitor, stop = Monitor(settings, clock), asyncio.Event()
    running = asyncio.create_task(monitor.run(["export"], stop))
    try:
        await until(lambda: monitor.port and not monitor.shared.health.waiting, "readiness")
        url = f"http://127.0.0.1:{monitor.port}/metrics"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return await answer.text()
    finally:
        stop.set()
        await running
