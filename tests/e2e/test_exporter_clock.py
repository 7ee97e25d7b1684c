"""An exporter whose clock leaps goes on or begins anew by itself, as if it were fresh."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce
from tests.stages.clocked import MACHINE, set_to
from tests.stages.process import MonitorProcess, until
from tests.stages.topics import MakeTopics
from tests.stages.two_exporters import (
    DAY,
    HOUR,
    SETTINGS,
    agreed,
    all_read,
    clocked_by,
    lines,
    on_topic,
    running,
    scored,
)

MODULE = "tests.stages.clocked"


def events(exporter: MonitorProcess, name: str) -> int:
    """How often it has been logged."""
    return sum(event.get("event") == name for event in exporter.events())


async def not_ready_for(exporter: MonitorProcess, part: str) -> None:
    """Wait until it says so."""

    async def waits() -> bool:
        status, text = await exporter.get("/readyz")
        return status == 503 and part in text

    await until(waits, f"not ready for {part}")


async def test_three_days_ahead_and_back_empties_nothing(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Gauges go on meanwhile, /readyz says why; afterwards a fresh exporter says the same bits."""
    topics, rng, clock = await make_topics(), Random(9), tmp_path / "clock"
    now = time.time()
    sent = on_topic([scored(i, now - rng.uniform(60, 20 * HOUR), rng) for i in range(200)], rng)
    scores = topics["kafka__topics__scores"]
    set_to(clock, now)
    with clocked_by(clock):
        await produce(kafka_broker.bootstrap, scores, sent)
        async with running(kafka_broker, topics, tmp_path, ["one"], MODULE) as (one,):
            await all_read([one], len(sent))
            before = await lines(one)
            assert len([line for line in before if line.startswith("rag_score{")]) >= 10
            set_to(clock, now + 3 * DAY)
            await not_ready_for(one, "exporter_clock")
            during = await lines(one)
            assert [line for line in during if line.startswith("rag_score{")]
            assert events(one, "clock_not_believed") == 1
            late = on_topic([scored(200 + i, now - i, rng) for i in range(20)], rng)
            await produce(kafka_broker.bootstrap, scores, late)
            await all_read([one], len(sent) + len(late))
            set_to(clock, now + 120)
            await one.ready()
            async with running(kafka_broker, topics, tmp_path, ["fresh"], MODULE) as (fresh,):
                await all_read([fresh], len(sent) + len(late))
                assert len(await agreed([one, fresh])) >= len(before)


async def test_a_clock_that_was_ahead_from_the_start_and_goes_back(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Nothing counts three days ahead; set right, it replays by itself and says all of it."""
    topics, rng, clock = await make_topics(), Random(10), tmp_path / "clock"
    now = time.time()
    sent = on_topic([scored(i, now - rng.uniform(60, 20 * HOUR), rng) for i in range(200)], rng)
    set_to(clock, now + 3 * DAY)
    with clocked_by(clock):
        await produce(kafka_broker.bootstrap, topics["kafka__topics__scores"], sent)
        async with running(kafka_broker, topics, tmp_path, ["one"], MODULE) as (one,):
            assert not [line for line in await lines(one) if line.startswith("rag_score{")]
            set_to(clock, now)

            async def replayed() -> bool:
                found = await lines(one)
                return any(line.startswith("rag_score{") for line in found)

            await until(replayed, "the replay")
            assert events(one, "replay_begins_anew") == 1
            async with running(kafka_broker, topics, tmp_path, ["fresh"], MODULE) as (fresh,):
                await all_read([fresh], len(sent))
                await agreed([one, fresh])
                await one.ready()


@pytest.mark.parametrize("off_days", [3, -3])
async def test_a_clock_that_was_off_from_the_start_while_brokers_tell(
    kafka_broker: RunningBroker,
    make_topics: MakeTopics,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    off_days: int,
) -> None:
    """The brokers' is gone by before it is set right, it is told, and then all is as it should."""
    topics, rng, clock = await make_topics(), Random(11), tmp_path / "clock"
    now = time.time()
    sent = on_topic([scored(i, now - rng.uniform(600, 20 * HOUR), rng) for i in range(100)], rng)
    set_to(clock, now + off_days * DAY)
    monkeypatch.setenv(MACHINE, "1")
    await produce(kafka_broker.bootstrap, topics["kafka__topics__scores"], sent)
    with clocked_by(clock):
        one = MonitorProcess(
            "export", kafka_broker.bootstrap, tmp_path, "one", module=MODULE, **topics, **SETTINGS
        )
        try:
            await one.listening()
            await not_ready_for(one, "exporter_clock")

            async def shown() -> bool:
                return any(line.startswith("rag_score{") for line in await lines(one))

            await until(shown, "gauges by the brokers' clock")
            assert events(one, "clock_not_believed") == 1
            set_to(clock, time.time())
            await one.ready()
            assert events(one, "clock_believed") == 1
            assert events(one, "replay_begins_anew") == (off_days > 0)
            assert await shown()
        finally:
            await one.end()
