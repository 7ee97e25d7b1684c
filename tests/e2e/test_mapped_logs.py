"""Six logs of other shapes on a real broker: the same gauges as their native twins."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, create_topic, produce, read_all
from tests.stages.command import rag_monitor
from tests.stages.log_shapes import SHAPES, LogShape
from tests.stages.process import MonitorProcess, Samples, outcomes, until
from tests.stages.topics import MakeTopics
from tests.stages.twins import gauges

#: Records of each shape, and so many more with a field moved.
EACH, MOVED = 12, 2


def application(shape: LogShape) -> str:
    """The name under which a shape is counted."""
    return shape.name.replace(" ", "-")


def source(topic: str, shape: LogShape) -> dict[str, Any]:
    """The settings of a shape's topic; its times are those of the broker, as its twins' are."""
    mapping = {name: place for name, place in shape.mapping.items() if name != "timestamp"}
    return {
        "topic": topic,
        "format": "json",
        "mapping": mapping | {"application": f"'{application(shape)}'"},
    }


def twin(shape: LogShape, n: int) -> bytes:
    """The same turn in the native format."""
    named = {"interaction_id": f"{n}", "application": f"{application(shape)}-native"}
    return json.dumps(shape.native(n) | named).encode()


async def test_mapped_logs_give_the_gauges_of_their_native_twins(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """To 1e-9, for every metric and window; a moved field is a dead letter that names its path."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=1)
    native = topics["kafka__topics__interactions"]
    names = {shape.name: f"{native}-{application(shape)}" for shape in SHAPES}
    now_ms = int(time.time() * 1000) - 60_000
    for shape in SHAPES:
        await create_topic(broker, names[shape.name], 1)
        logged = [Record(shape.value(n), timestamp_ms=now_ms + n) for n in range(EACH)]
        moved = [Record(shape.moved_value(n), timestamp_ms=now_ms + n) for n in range(MOVED)]
        await produce(broker, names[shape.name], [*logged, *moved])
        twins = [Record(twin(shape, n), timestamp_ms=now_ms + n) for n in range(EACH)]
        await produce(broker, native, twins)
    sources = json.dumps([source(names[shape.name], shape) for shape in SHAPES])
    monitor = MonitorProcess("run", broker, tmp_path, "one", ingest__sources=sources, **topics)
    count = len(SHAPES) * (2 * EACH + MOVED)

    async def finished() -> Samples | None:
        samples = await monitor.metrics()
        return samples if sum(outcomes(samples).values()) == count else None

    async def shown() -> Samples | None:
        samples = await monitor.metrics()
        complete = [
            gauges(samples, f"{application(shape)}{end}").get(
                ("rag_score_samples", "faithfulness", "1h")
            )
            for shape in SHAPES
            for end in ("", "-native")
        ]
        return samples if complete == [EACH] * len(complete) else None

    try:
        await monitor.ready()
        ended = outcomes(await until(finished, "all have ended"))
        samples = await until(shown, "all are shown")
    finally:
        await monitor.end()
    assert ended["dead_lettered"] == len(SHAPES) * MOVED
    for shape in SHAPES:
        mapped = gauges(samples, application(shape))
        other = gauges(samples, f"{application(shape)}-native")
        assert mapped.keys() == other.keys()
        assert mapped == pytest.approx(other, abs=1e-9)
    letters = await read_all(broker, topics["kafka__topics__dead_letters"])
    said = {dict(letter.headers)["x-error.message"].decode() for letter in letters}
    assert said == {shape.error for shape in SHAPES}


async def test_a_log_is_guessed_and_tried_before_anything_is_judged(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """From the topic to settings that read it; and no group has come to be."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=2)
    topic, shape = topics["kafka__topics__interactions"], SHAPES[0]
    await produce(broker, topic, [Record(shape.value(n)) for n in range(30)])
    environ = {"RAG_MONITOR_KAFKA__BOOTSTRAP_SERVERS": broker}

    async def ran(*command: str) -> Any:
        return await asyncio.to_thread(rag_monitor, *command, environ=environ)

    before = await ran("ingest", "try", "--topic", topic)
    assert before.returncode == 1
    assert "rag-monitor ingest guess" in before.stderr
    guess = await ran("ingest", "guess", "--topic", topic)
    assert guess.returncode == 0, guess.stderr
    file = tmp_path / "monitor.yaml"
    file.write_text(guess.stdout, encoding="utf-8")
    tried = await ran("ingest", "try", "--topic", topic, "--config", str(file), "--json")
    found = json.loads(tried.stdout)
    assert found["summary"]["readable"] == found["summary"]["records"] == 20
    assert found["summary"]["languages"] == {"English": 20}
    asked = {each["interaction"]["user_input"] for each in found["records"]}
    # The newest of each partition.
    assert len(asked) == 20
    assert asked < {shape.native(n)["user_input"] for n in range(30)}
    missing = await ran("ingest", "try", "--topic", "no-such-topic")
    assert missing.returncode != 0
    assert "no-such-topic does not exist" in missing.stderr
