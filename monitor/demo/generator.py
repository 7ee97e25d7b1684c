"""Sends made-up interactions to a topic at a steady rate; the truth stays behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Protocol

from monitor.demo.traffic import DemoTraffic

#: Writes that wait at the same time: on a machine that is too slow for the rate, each one more
#: makes all of them slower.
MOST_WRITES: Final = 1_000


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
        traffic: DemoTraffic,
        *,
        rate: float,
        clock: Callable[[], float],
    ) -> None:
        self._producer, self._topic, self._traffic = producer, topic, traffic
        self._rate, self._clock = rate, clock
        self.acknowledged = 0
        self._writes: set[asyncio.Task[None]] = set()
        self._failed: BaseException | None = None
        self._room = asyncio.Semaphore(MOST_WRITES)

    async def run(self, start: float, end: float, stop: asyncio.Event) -> None:
        """Send from ``start`` to ``end`` (epoch seconds), or until ``stop``; wait for the rest.

        Raises what a write has failed with. Nobody goes on writing once it has ended.
        """
        try:
            await self._send_all(start, end, stop)
            if self._writes:
                await asyncio.wait(self._writes)
        finally:
            for write in self._writes:
                write.cancel()
        if self._failed is not None:
            raise self._failed

    async def _send_all(self, start: float, end: float, stop: asyncio.Event) -> None:
        index = 0
        while not stop.is_set():
            due = start + index / self._rate
            if due >= end:
                break
            wait = due - self._clock()
            if wait > 0:
                await _sleep_or_stop(wait, stop)
                continue
            await self._room.acquire()
            if self._failed is not None:
                break
            self._send(index, due)
            index += 1
            if index % 50 == 0:
                await asyncio.sleep(0)

    def _send(self, index: int, due: float) -> None:
        event_time = datetime.fromtimestamp(due, UTC)
        interaction = self._traffic.interaction(index, event_time).json
        write = asyncio.create_task(self._write(interaction["interaction_id"], interaction))
        self._writes.add(write)
        write.add_done_callback(self._written)

    def _written(self, write: asyncio.Task[None]) -> None:
        self._writes.discard(write)
        if not write.cancelled():
            self._failed = self._failed or write.exception()
        self._room.release()

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
