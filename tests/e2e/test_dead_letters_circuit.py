"""Nearly everything fails: reading pauses, says so, probes, and goes on by itself."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, Samples, outcomes, total, until
from tests.stages.topics import MakeTopics

OPEN = "rag_monitor_dead_letter_circuit_open"
NEVER = 1_000_000
BAD = [Record(b'{"user_input": %d}' % i) for i in range(100)]


def good(count: int) -> list[Record]:
    """Records that are scored."""
    return [Record(encoded(interaction(f"good-{i}"))) for i in range(count)]


async def page_where(scorer: MonitorProcess, name: str, value: float) -> Samples:
    """The first scrape in which a metric has this value."""

    async def has_it() -> Samples | None:
        samples = await scorer.metrics()
        return samples if total(samples, name) == value else None

    found: Samples = await until(has_it, f"{name} {value}")
    return found


async def test_reading_pauses_and_the_records_stay_for_a_mended_scorer(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Of 100 bad ones 20 are dead letters; the rest waits, and comes out once in the next run."""
    topics, broker = await make_topics(partitions=3), kafka_broker.bootstrap
    inputs, dead = topics["kafka__topics__interactions"], topics["kafka__topics__dead_letters"]
    settings: dict[str, Any] = {
        **topics,
        "ingest__circuit__least": 20,
        "ingest__circuit__wait_s": NEVER,
        "ingest__circuit__longest_wait_s": NEVER,
    }
    scorer = MonitorProcess("score", broker, tmp_path, "stopped", **settings)
    try:
        await scorer.ready()
        await produce(broker, inputs, BAD)
        samples = await page_where(scorer, OPEN, 1)
        status, body = await scorer.get("/readyz")
        assert status == 503
        said = json.loads(body)["waiting_for"]["dead_letter_circuit"]
        assert "became dead letters, most of them wrong_value" in said
        assert "Check kafka.topics.interactions, the settings of ingest" in said
        assert (await scorer.get("/healthz"))[0] == 200
        samples = await page_where(scorer, "rag_monitor_consumer_lag_records", 80)
        assert outcomes(samples) == {"dead_lettered": 20}
    finally:
        await scorer.end()
    assert len(await read_all(broker, dead)) == 20
    mended = MonitorProcess("score", broker, tmp_path, "mended", ingest__circuit__share=0, **topics)
    try:
        await mended.ready()

        async def all_ended() -> bool:
            return outcomes(await mended.metrics()) == {"dead_lettered": 80}

        await until(all_ended, "the rest")
    finally:
        await mended.end()
    found = sorted(record.value or b"" for record in await read_all(broker, dead))
    assert found == sorted(record.value or b"" for record in BAD)


async def test_probes_get_through_an_all_bad_topic_and_close_it_on_good_records(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """All 100 bad ones are dead letters once, the good ones behind them are scored."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs, dead = topics["kafka__topics__interactions"], topics["kafka__topics__dead_letters"]
    settings: dict[str, Any] = {
        **topics,
        "ingest__circuit__least": 20,
        "ingest__circuit__wait_s": 0.2,
        "ingest__circuit__longest_wait_s": 0.5,
    }
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **settings)
    try:
        await scorer.ready()
        await produce(broker, inputs, BAD)
        await until(lambda: _logged(scorer, "dead_letter_circuit_open"), "an open circuit")
        await produce(broker, inputs, good(30))

        async def all_ended() -> bool:
            return outcomes(await scorer.metrics()) == {"dead_lettered": 100, "scored": 30}

        await until(all_ended, "all outcomes")
        await scorer.ready()
        assert total(await scorer.metrics(), OPEN) == 0
    finally:
        await scorer.end()
    events = [event["event"] for event in scorer.events()]
    lines = [event for event in events if event.startswith("dead_letter_circuit")]
    assert lines == ["dead_letter_circuit_open", "dead_letter_circuit_closed"]
    assert len(await read_all(broker, dead)) == 100


async def test_a_poisonous_share_does_not_open_the_default_circuit(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Three of four records are bad, in any order: all are done, and nothing pauses."""
    topics, broker = await make_topics(partitions=2), kafka_broker.bootstrap
    records = [*BAD * 9, *good(300)]
    Random(1).shuffle(records)
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        await produce(broker, topics["kafka__topics__interactions"], records)

        async def all_ended() -> bool:
            return outcomes(await scorer.metrics()) == {"dead_lettered": 900, "scored": 300}

        await until(all_ended, "all outcomes")
    finally:
        await scorer.end()
    assert not _logged(scorer, "dead_letter_circuit_open")


def _logged(scorer: MonitorProcess, event: str) -> bool:
    return any(found.get("event") == event for found in scorer.events())
