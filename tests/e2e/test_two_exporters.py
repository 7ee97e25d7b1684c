"""Two exporter processes on the same topics serve the same series; so does one that comes later."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import produce
from tests.stages.clocked import set_to
from tests.stages.process import until
from tests.stages.topics import MakeTopics
from tests.stages.two_exporters import (
    DAY,
    HOUR,
    agreed,
    all_read,
    clocked_by,
    on_topic,
    pages,
    running,
    scored,
)


async def test_at_one_clock_they_say_the_same(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Learning, then over a midnight with late records; a third that starts then agrees, too."""
    topics, rng, clock = await make_topics(), Random(7), tmp_path / "clock"
    midnight = time.time() // DAY * DAY
    before = [scored(i, midnight - rng.uniform(120, 40 * HOUR), rng) for i in range(500)]
    after = [scored(i, midnight - rng.uniform(-60, 20 * HOUR), rng) for i in range(500, 600)]
    scores, sent = topics["kafka__topics__scores"], on_topic(before, rng)
    module = "tests.stages.clocked"
    set_to(clock, midnight - 60)
    with clocked_by(clock):
        await produce(kafka_broker.bootstrap, scores, sent)
        async with running(kafka_broker, topics, tmp_path, ["one", "two"], module) as two:

            async def learned() -> bool:
                return all("rag_drift_evidence{" in str(page) for page in await pages(two))

            await until(learned, "a baseline on both")
            await all_read(two, len(sent))
            first = await agreed(two)
            assert [line for line in first if 'application="other"' in line]
            assert [line for line in first if 'segment="other"' in line]
            late = on_topic(after, rng)
            await produce(kafka_broker.bootstrap, scores, late)
            set_to(clock, midnight + 120)
            await all_read(two, len(sent) + len(late))
            second = await agreed(two)
            assert second != first
            async with running(kafka_broker, topics, tmp_path, ["three"], module) as third:
                await agreed([*two, *third])


async def test_at_the_clock_on_the_wall_they_say_the_same(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """``rag-monitor export`` twice, asked in one minute, when the traffic is quiet."""
    topics, rng, now = await make_topics(), Random(8), time.time()
    sent = on_topic([scored(i, now - rng.uniform(200, HOUR), rng) for i in range(300)], rng)
    await produce(kafka_broker.bootstrap, topics["kafka__topics__scores"], sent)
    async with running(kafka_broker, topics, tmp_path, ["one", "two"], "monitor") as two:
        await all_read(two, len(sent))
        found = await agreed(two)
        assert len([line for line in found if line.startswith("rag_score{")]) >= 10
