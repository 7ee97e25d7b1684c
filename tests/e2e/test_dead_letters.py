"""Dead letters on a real broker: what they carry, and what happens where they find no place."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from monitor.records import read_score_record
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, create_topic, produce, read_all
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, outcomes, total, until
from tests.stages.topics import MakeTopics, Topics

ODD = (("trace", b"1"), ("trace", b"2"), ("nothing", None), ("empty", b""), ("bin", b"\xff\x00"))
#: Room for headers, not for a value; room for neither.
SMALL, ABSURD = 2_000, 100
SLOWLY = "has not taken a dead letter for"


def good(name: str, partition: int) -> Record:
    """A record that is scored."""
    return Record(encoded(interaction(name)), name.encode(), partition)


def bad(partition: int, size: int = 10) -> Record:
    """A record that nobody can read, and no codec makes smaller."""
    return Record(b"\xff" + Random(size).randbytes(size - 1), b"bad", partition)


async def limit(bootstrap: str, topic: str, most_bytes: int) -> None:
    """Set ``max.message.bytes`` of a topic; from its return on the broker goes by it."""
    entry = ConfigEntry(
        "max.message.bytes", str(most_bytes), incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    (done,) = admin.incremental_alter_configs([resource]).values()
    await asyncio.to_thread(done.result, 30)

    def holds() -> bool:
        # The controller has said yes; the broker hears of it a moment later.
        (asked,) = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
        return bool(asked.result(30)["max.message.bytes"].value == str(most_bytes))

    await until(lambda: asyncio.to_thread(holds), f"{most_bytes} bytes on {topic}", every_s=0.02)


async def scored(bootstrap: str, topics: Topics) -> list[str]:
    """The ids that have a score record, in order of writing, once per record."""
    read = await read_all(bootstrap, topics["kafka__topics__scores"])
    return [read_score_record(record.value or b"").interaction_id for record in read]


async def ended(scorer: MonitorProcess, **expected: int) -> None:
    """Wait until exactly these outcomes are counted."""

    async def are_counted() -> bool:
        return outcomes(await scorer.metrics()) == expected

    await until(are_counted, f"outcomes {expected}")


async def test_a_dead_letter_is_the_record_and_says_what_is_wrong_with_it(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Key, value, time and headers to the byte, null and repeated ones too; then ``x-error.*``."""
    topics, broker = await make_topics(partitions=2), kafka_broker.bootstrap
    inputs = topics["kafka__topics__interactions"]
    headers = cast("tuple[tuple[str, bytes], ...]", ODD)
    first = Record(b"\x00\xff{", b"\xfe", 1, 1_700_000_000_123, headers)
    second = Record(b'{"user_input": "", "response": 5}', None, 1, 1_700_000_000_456)
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        await produce(broker, inputs, [first, second])
        await ended(scorer, dead_lettered=2)
    finally:
        await scorer.end()
    letters = await read_all(broker, topics["kafka__topics__dead_letters"])
    found = {letter.timestamp_ms: letter for letter in letters}
    for offset, sent in enumerate((first, second)):
        letter = found[sent.timestamp_ms]
        assert (letter.key, letter.value) == (sent.key, sent.value)
        kept = len(sent.headers)
        assert letter.headers[:kept] == sent.headers
        said = {key: value.decode() for key, value in letter.headers[kept:]}
        assert len(said) == len(letter.headers) - kept  # each once
        assert said.pop("x-error.message")
        assert said.pop("x-error.version")
        assert said.pop("x-error.first_failed_at").endswith("+00:00")
        assert said == {
            "x-error.schema": "rag.dead-letter/1",
            "x-error.topic": inputs,
            "x-error.partition": "1",
            "x-error.offset": str(offset),
            "x-error.timestamp": str(sent.timestamp_ms),
            "x-error.stage": ("decode", "validate")[offset],
            "x-error.class": ("invalid_json", "wrong_value")[offset],
            "x-error.attempts": "1",
            "x-error.group": topics["kafka__group_id"],
        }


async def test_a_time_that_the_topic_refuses_costs_only_the_time(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Too old for the topic of the dead letters: key, value and headers are there all the same."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    dead = f"{topics['kafka__group_id']}-young"
    topics["kafka__topics__dead_letters"] = dead
    await create_topic(broker, dead, 1, {"message.timestamp.before.max.ms": "3600000"})
    sent = Record(b"not JSON", b"key", 0, 1_700_000_000_123, (("origin", b"test"),))
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        await produce(broker, topics["kafka__topics__interactions"], [sent])
        await ended(scorer, dead_lettered=1)
    finally:
        await scorer.end()
    (letter,) = await read_all(broker, dead)
    assert (letter.key, letter.value, letter.headers[0]) == (sent.key, sent.value, sent.headers[0])
    assert dict(letter.headers)["x-error.timestamp"] == b"1700000000123"
    assert "x-error.value_omitted" not in dict(letter.headers)


async def test_a_letter_without_a_place_holds_its_partition_until_there_is_one(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Others go on, readiness names topic, mend and partition; then nothing is lost or doubled."""
    topics, broker = await make_topics(partitions=2), kafka_broker.bootstrap
    inputs, dead = topics["kafka__topics__interactions"], f"{topics['kafka__group_id']}-small"
    topics["kafka__topics__dead_letters"] = dead
    await create_topic(broker, dead, 1, {"max.message.bytes": str(SMALL)})
    settings: dict[str, Any] = {**topics, "ingest__max_in_flight": 8}
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **settings)
    try:
        await scorer.ready()
        await produce(broker, inputs, [bad(0, 2 * SMALL)])
        await ended(scorer, dead_lettered=1)
        await limit(broker, dead, ABSURD)
        # More than there are places: those that wait must take none from the other partition.
        await produce(broker, inputs, [bad(0)] * 20)
        waiting = await until(lambda: _held(scorer), "a partition that is held")
        assert f"topic {dead} takes no dead letter" in waiting
        assert "raise its max.message.bytes" in waiting
        assert waiting.endswith(f"held until then: {inputs}/0")
        # What comes on the held partition stays there; the other one goes on.
        await produce(broker, inputs, [good("held", 0), good("free", 1)])
        await ended(scorer, dead_lettered=1, scored=1)
        assert await scored(broker, topics) == ["free"]
        samples = await scorer.metrics()
        assert 1 <= total(samples, "rag_monitor_dead_letters_waiting") <= 8
        lag = "rag_monitor_consumer_lag_records"
        await until(lambda: _lag(scorer, lag, 21), "a lag of 21 on partition 0")
        assert (await scorer.get("/healthz"))[0] == 200
        await limit(broker, dead, SMALL)
        await ended(scorer, dead_lettered=21, scored=2)
        await scorer.ready()
        assert total(await scorer.metrics(), "rag_monitor_dead_letters_waiting") == 0
    finally:
        await scorer.end()
    assert scorer.exit_code() == 0
    assert sorted(await scored(broker, topics)) == ["free", "held"]
    large, *rest = await read_all(broker, dead)
    assert (large.value, dict(large.headers)["x-error.value_omitted"]) == (b"", b"4000")
    # Between the refusal of a whole letter and its next form, without the value, the topic may have
    # been given its limit back: so it may be for those that waited, and says so.
    bare = [small for small in rest if "x-error.value_omitted" in dict(small.headers)]
    assert len(bare) <= 8
    assert {small.value for small in bare} <= {b""}
    assert {small.value for small in rest if small not in bare} == {bad(0).value}
    assert sorted(int(dict(small.headers)["x-error.offset"]) for small in rest) == [*range(1, 21)]
    hints = [event["hint"] for event in scorer.events() if event["event"] == "partition_held"]
    # A busy machine may take its time for a letter: that is told, too, each time.
    assert len([hint for hint in hints if SLOWLY not in hint]) == 1


async def _held(scorer: MonitorProcess) -> str | None:
    status, body = await scorer.get("/readyz")
    found = str(json.loads(body)["waiting_for"].get("dead_letters", ""))
    assert status == 503 or not found
    return found if SLOWLY not in found else None


async def _lag(scorer: MonitorProcess, name: str, expected: float) -> bool:
    return total(await scorer.metrics(), name, partition="0") == expected


@pytest.mark.parametrize(
    ("limits", "refused"),
    [
        ({"max.message.bytes": "5000", "message.timestamp.after.max.ms": str(2**62)}, set()),
        ({"message.timestamp.after.max.ms": "3600000"}, {b"30"}),
    ],
)
async def test_a_letter_pays_for_no_other_one(
    limits: dict[str, str],
    refused: set[bytes],
    kafka_broker: RunningBroker,
    make_topics: MakeTopics,
    tmp_path: Path,
) -> None:
    """Letters go out in batches, which the broker refuses as a whole: those that fit stay whole."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs, dead = (f"{topics['kafka__group_id']}-{name}" for name in ("in", "dead"))
    topics |= {"kafka__topics__interactions": inputs, "kafka__topics__dead_letters": dead}
    await create_topic(broker, inputs, 1, {"message.timestamp.after.max.ms": str(2**62)})
    await create_topic(broker, dead, 1, limits)
    now = int(time.time() * 1000)
    records = [replace(bad(0, 900), key=b"%d" % i, timestamp_ms=now) for i in range(60)]
    records[30] = replace(records[30], timestamp_ms=now + 10 * 3_600_000)
    await produce(broker, inputs, records)
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics, ingest__circuit__share=0)
    try:
        await scorer.ready()
        await ended(scorer, dead_lettered=60)
    finally:
        await scorer.end()
    letters = await read_all(broker, dead)
    assert len(letters) == 60
    assert [letter for letter in letters if "x-error.value_omitted" in dict(letter.headers)] == []
    times = {record.key: record.timestamp_ms for record in records}
    assert {letter.key for letter in letters} == times.keys()
    changed = {letter.key for letter in letters if letter.timestamp_ms != times[letter.key]}
    assert changed == refused


async def test_a_held_partition_is_handed_over_undone(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Ended while a letter waits, nothing is committed past its record: the next scorer has it."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs, dead = topics["kafka__topics__interactions"], topics["kafka__topics__dead_letters"]
    await limit(broker, dead, ABSURD)
    settings: dict[str, Any] = {**topics, "ingest__drain_s": 1}
    first = MonitorProcess("score", broker, tmp_path, "first", **settings)
    try:
        await first.ready()
        await produce(broker, inputs, [good("before", 0), bad(0), good("after", 0)])
        await until(lambda: _held(first), "a partition that is held")
    finally:
        await first.end()
    assert first.exit_code() == 0
    await limit(broker, dead, SMALL)
    second = MonitorProcess("score", broker, tmp_path, "second", **settings)
    try:
        await second.ready()
        await until(lambda: _letters(broker, dead, 1), "the dead letter")
        await until(lambda: _lag(second, "rag_monitor_consumer_lag_records", 0), "no lag")
    finally:
        await second.end()
    assert set(await scored(broker, topics)) == {"before", "after"}
    (letter,) = await read_all(broker, dead)
    assert letter.value == bad(0).value


async def _letters(broker: str, dead: str, count: int) -> bool:
    return len(await read_all(broker, dead)) == count
