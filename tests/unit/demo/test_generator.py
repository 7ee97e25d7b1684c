"""Sending made-up traffic: every interaction happens when it is due, however late it is sent."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from datetime import datetime

import pytest

from monitor.demo.generator import MOST_WRITES, Generator
from monitor.demo.mix import NORMAL
from monitor.demo.send import AckWatch
from monitor.demo.traffic import DemoTraffic

START = 1_795_176_000.0


class Topic:
    """Keeps what is written; acknowledging takes as long as the clock says it does."""

    def __init__(self) -> None:
        self.written: list[tuple[bytes, dict[str, str]]] = []

    async def write(self, topic: str, value: bytes, *, key: bytes) -> None:
        """Keep a record."""
        self.written.append((key, json.loads(value)))

    def seconds(self) -> list[float]:
        """The event times, in seconds after the start."""
        times = [datetime.fromisoformat(value["timestamp"]) for _, value in self.written]
        return [round(time.timestamp() - START, 6) for time in times]


async def sent(clock_s: float, seconds: float, *, stopped: bool = False) -> tuple[Topic, Generator]:
    """What is sent when the clock stands at so many seconds after the start."""
    topic, stop = Topic(), asyncio.Event()
    traffic = DemoTraffic(seed=1, mix_at=lambda _: NORMAL)
    generator = Generator(topic, "t", traffic, rate=4, clock=lambda: START + clock_s)
    if stopped:
        stop.set()
    await generator.run(START, START + seconds, stop)
    return topic, generator


async def test_late_traffic_keeps_its_event_times() -> None:
    """A machine that is ten seconds late sends what was due, none of it moved out of its second."""
    topic, generator = await sent(clock_s=12.0, seconds=2)
    assert topic.seconds() == [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75]
    assert generator.acknowledged == 8


async def test_the_key_is_the_id() -> None:
    """So that an interaction stays on its partition."""
    topic, _ = await sent(clock_s=12.0, seconds=1)
    assert [key.decode() for key, _ in topic.written] == [
        value["interaction_id"] for _, value in topic.written
    ]


async def test_nothing_is_sent_after_a_stop() -> None:
    """Ctrl-C before the first one."""
    topic, generator = await sent(clock_s=12.0, seconds=2, stopped=True)
    assert (topic.written, generator.acknowledged) == ([], 0)


class Slow(Topic):
    """Acknowledges nothing before it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.acknowledging, self.full = asyncio.Event(), asyncio.Event()

    async def write(self, topic: str, value: bytes, *, key: bytes) -> None:
        """Keep a record, and wait."""
        await super().write(topic, value, key=key)
        if len(self.written) == MOST_WRITES:
            self.full.set()
        await self.acknowledging.wait()


async def test_a_slow_broker_is_not_buried_in_writes() -> None:
    """So many wait at the same time; the others follow, and none is left out."""
    topic, stop = Slow(), asyncio.Event()
    traffic = DemoTraffic(seed=1, mix_at=lambda _: NORMAL)
    generator = Generator(topic, "t", traffic, rate=1_000, clock=lambda: START + 10.0)
    running = asyncio.create_task(generator.run(START, START + 2.0, stop))
    await topic.full.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(topic.written) == MOST_WRITES
    topic.acknowledging.set()
    await running
    assert generator.acknowledged == len(topic.written) == 2_000


class Refusing(Topic):
    """Takes three records, and no more."""

    async def write(self, topic: str, value: bytes, *, key: bytes) -> None:
        """Keep a record, or refuse it."""
        if len(self.written) == 3:
            raise OSError("too large")
        await super().write(topic, value, key=key)


async def test_a_write_that_fails_ends_the_traffic_with_its_error() -> None:
    """Or the demo would wait for ever for what nobody has taken."""
    topic, stop = Refusing(), asyncio.Event()
    traffic = DemoTraffic(seed=1, mix_at=lambda _: NORMAL)
    generator = Generator(topic, "t", traffic, rate=100, clock=lambda: START + 60.0)
    with pytest.raises(OSError, match="too large"):
        await generator.run(START, START + 60.0, stop)
    assert generator.acknowledged == 3
    assert len(topic.written) == 3


async def test_nobody_goes_on_writing_once_it_is_cancelled() -> None:
    """A write to a broker that is away is tried again for ever."""
    topic, before = Slow(), asyncio.all_tasks()
    traffic = DemoTraffic(seed=1, mix_at=lambda _: NORMAL)
    generator = Generator(topic, "t", traffic, rate=1_000, clock=lambda: START + 10.0)
    running = asyncio.create_task(generator.run(START, START + 2.0, asyncio.Event()))
    await topic.full.wait()
    writes = asyncio.all_tasks() - before - {running}
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.wait(writes)
    assert len(writes) == MOST_WRITES
    assert all(write.cancelled() for write in writes)
    assert generator.acknowledged == 0


class Turn(Topic):
    """Acknowledges when it is told to, in the order of the writes."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = deque[asyncio.Future[None]]()

    async def write(self, topic: str, value: bytes, *, key: bytes) -> None:
        """Wait for the acknowledgement."""
        self.waiting.append(asyncio.get_running_loop().create_future())
        await self.waiting[-1]


async def test_silence_is_borne_only_while_somebody_waits_and_from_the_last_word_on() -> None:
    """Neither a slow rate nor a long run is the broker's silence."""
    topic, loop, due = Turn(), asyncio.get_running_loop(), list[float | None]()
    writes = []
    async with asyncio.timeout(60.0) as limit:
        writer = AckWatch(topic, limit, 3_600.0)
        due.append(limit.when())
        for key in (b"a", b"b"):
            writes.append(asyncio.create_task(writer.write("t", b"", key=key)))
            await asyncio.sleep(0)
            due.append(limit.when())
        for _ in range(2):
            topic.waiting.popleft().set_result(None)
            await asyncio.wait(writes, return_when="FIRST_COMPLETED")
            writes = [write for write in writes if not write.done()]
            due.append(limit.when())
    idle, first, second, acknowledged, ended = due
    assert idle is ended is None
    assert first is not None
    assert second is not None
    assert acknowledged is not None
    assert loop.time() + 3_000 < first == second < acknowledged
