"""Sends made-up interactions to a topic at a steady rate; the truth stays behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from monitor.demo.traffic import Traffic


class Writer(Protocol):
    """What is needed of a producer."""

    async def write(self, topic: str, value: bytes, *, key: bytes) -> None:
        """Returns when the record is acknowledged."""


class Generator:
    """``clock`` gives epoch seconds; ``rate`` is interactions a second.

    An interaction happens when it is due, however late it can be sent: so a busy machine moves none
    out of its second, and out of the incident.
    """

    def __init__(
        self,
        producer: Writer,
        topic: str,
        traffic: Traffic,
        *,
        rate: float,
        clock: Callable[[], float],
    ) -> None:
        self._producer, self._topic, self._traffic = producer, topic, traffic
        self._rate, self._clock = rate, clock
        self.acknowledged = 0
        self._writes: set[asyncio.Task[None]] = set()

    async def run(self, start: float, end: float, stop: asyncio.Event) -> None:
        """Send from ``start`` to ``end`` (epoch seconds), or until ``stop``; wait for the rest."""
        index = 0
        while not stop.is_set():
            due = start + index / self._rate
            if due >= end:
                break
            wait = due - self._clock()
            if wait > 0:
                await _sleep_or_stop(wait, stop)
                continue
            self._send(index, due)
            index += 1
            if index % 50 == 0:
                await asyncio.sleep(0)
        if self._writes:
            await asyncio.gather(*self._writes)

    def _send(self, index: int, due: float) -> None:
        event_time = datetime.fromtimestamp(due, UTC)
        interaction = self._traffic.interaction(index, event_time).json
        write = asyncio.create_task(self._write(interaction["interaction_id"], interaction))
        self._writes.add(write)
        write.add_done_callback(self._writes.discard)

    async def _write(self, key: str, interaction: dict[str, object]) -> None:
        value = json.dumps(interaction, ensure_ascii=False).encode()
        await self._producer.write(self._topic, value, key=key.encode())
        self.acknowledged += 1


async def _sleep_or_stop(seconds: float, stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass
