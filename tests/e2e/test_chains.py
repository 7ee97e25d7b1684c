"""Chains of values in a record: one letter or one score each, and nothing else is held up."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, outcomes, until
from tests.stages.topics import MakeTopics

ORDINARY = 100
#: What stood still for minutes, or for ever, when each pass over a text found one value more.
POISON = {
    "cards_20": ("4111111111111111,", 20_000),
    "phones_49": ("+49 30 901820", 49_000),
    **{f"brackets_200_{n}": ("030 901820(", 200_000) for n in range(6)},
}
#: Ten times what a page takes that nothing holds up, on a machine that has other things to do.
SLOWEST_S = 10.0


def poison(name: str) -> Record:
    unit, size = POISON[name]
    return Record(encoded(interaction(name, response=unit * (size // len(unit)))))


async def test_poison_records_end_and_hold_up_nothing(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """All ordinary ones are scored, each record ends once, pages are served, SIGTERM is heeded."""
    topics = await make_topics(partitions=2)
    broker, inputs = kafka_broker.bootstrap, topics["kafka__topics__interactions"]
    ordinary = [Record(encoded(interaction(f"ok-{n}"))) for n in range(ORDINARY)]
    half = ORDINARY // 2
    records = [*ordinary[:half], *map(poison, POISON), *ordinary[half:]]
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", sampling__block=1, **topics)
    try:
        await scorer.ready()
        await produce(broker, inputs, records)
        slowest = 0.0

        async def ended() -> bool:
            nonlocal slowest
            began = time.monotonic()
            status, _ = await scorer.get("/healthz")
            slowest = max(slowest, time.monotonic() - began)
            assert status == 200
            return sum(outcomes(await scorer.metrics()).values()) >= len(records)

        await until(ended, "all outcomes")
        await asyncio.sleep(1)
        found = outcomes(await scorer.metrics())
    finally:
        began = time.monotonic()
        await scorer.end()
    assert time.monotonic() - began < 30
    assert sum(found.values()) == len(records)
    assert slowest < SLOWEST_S
    written = await read_all(broker, topics["kafka__topics__scores"])
    scored = [json.loads(one.value or b"{}") for one in written]
    names = [one["interaction_id"] for one in scored if one["outcome"] == "scored"]
    assert {f"ok-{n}" for n in range(ORDINARY)} <= set(names)
    assert len(names) == len(set(names))
    assert "901820" not in json.dumps(scored)
    assert "4111111111111111" not in json.dumps(scored)
