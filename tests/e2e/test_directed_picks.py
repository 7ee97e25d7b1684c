"""From uniform picks to directed ones: learned by the exporter, read by the scorer, on Kafka."""

from __future__ import annotations

import random
from pathlib import Path

from monitor.records import read_score_record
from monitor.records.control import CalibrationRecord, calibration_key, read_control_record
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.plain import WARRANTY, encoded, interaction
from tests.stages.process import MonitorProcess, total, until
from tests.stages.topics import MakeTopics

BLOCK = 8
WRONG = "The warranty lasts 36 months."


def traffic(first: int, count: int) -> list[Record]:
    """A quarter of it is wrong, wholly or in part."""
    found = []
    for number in range(first, first + count):
        rng = random.Random(number)
        response = rng.choice([WARRANTY] * 6 + [WRONG, f"{WARRANTY} {WRONG}"])
        value = encoded(interaction(f"i{number}", response=response))
        found.append(Record(value, f"i{number}".encode(), partition=number % 2))
    return found


async def test_the_screen_is_calibrated_once_and_then_directs_the_picks(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """The first slots are uniform; then every record says what was expected, and u is not 1."""
    topics = await make_topics(2)
    broker = kafka_broker.bootstrap
    process = MonitorProcess(
        "run",
        broker,
        tmp_path,
        "run",
        sampling__block=BLOCK,
        drift__learn_slots=60,
        drift__learn_for="0s",
        drift__learn_wait="1s",
        drift__settle="1s",
        **topics,
    )
    try:
        await process.ready()
        await produce(broker, topics["kafka__topics__interactions"], traffic(0, 64 * BLOCK))

        async def calibrated() -> bool:
            samples = await process.metrics()
            return total(samples, "rag_monitor_calibration_records_total", result="read") > 0

        await until(calibrated, "a calibration")
        samples = await process.metrics()
        assert total(samples, "rag_monitor_slots_total", pick="directed") == 0
        await produce(
            broker, topics["kafka__topics__interactions"], traffic(64 * BLOCK, 32 * BLOCK)
        )

        async def directed() -> bool:
            samples = await process.metrics()
            return total(samples, "rag_monitor_slots_total", pick="directed") == 32

        await until(directed, "directed picks")
    finally:
        await process.end()
    control = await read_all(broker, topics["kafka__topics__control"])
    read = [read_control_record(each.key, each.value) for each in control]
    (found,) = [each for each in read if isinstance(each, CalibrationRecord)]
    scores = [
        read_score_record(each.value or b"")
        for each in await read_all(broker, topics["kafka__topics__scores"])
    ]
    assert found.key == calibration_key("bot", scores[0].judge.label)
    assert found.expected["faithfulness"][0] < found.expected["faithfulness"][-1]
    late = [one.sampling for one in scores if int(one.interaction_id[1:]) >= 64 * BLOCK]
    early = [one.sampling for one in scores if int(one.interaction_id[1:]) < 64 * BLOCK]
    assert {(one.u, one.m) for one in early} == {(1.0, BLOCK)}
    assert all(one.signal is not None and not one.expected for one in early)
    assert all("faithfulness" in one.expected and one.signal is not None for one in late)
    assert any(one.u != 1.0 for one in late)
