"""Records on the monitor's own topics that nobody expects: the exporter stays up, and says so."""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from monitor.records import ScoreRecord
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce
from tests.stages.process import MonitorProcess, Samples, total, until
from tests.stages.topics import MakeTopics
from tests.stages.two_exporters import scored

GOOD = 100
NEWER = {"schema": "rag.score/2", "scores": {"faithfulness": {"mean": 0.5}}}


def changed(record: ScoreRecord, **fields: Any) -> bytes:
    """Its line with other fields; what is a mapping is changed within."""
    line = json.loads(record.to_json())
    for name, value in fields.items():
        line[name] = {**line[name], **value} if isinstance(value, dict) and name in line else value
    return json.dumps(line).encode()


def hostile(record: ScoreRecord) -> list[tuple[str, bytes | None]]:
    """How each is counted, and its value."""
    deep = b'{"schema":"rag.score/1","attributes":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001
    huge = changed(record, event_time="9999-12-31T23:59:59Z", usage={"usd": -1e308})
    return [
        ("newer_schema", changed(record, **NEWER)),
        ("newer_schema", b'{"schema":"rag.score/17.3"}'),
        ("newer_minor", changed(record, schema="rag.score/1.9", outcome="enlightened")),
        ("tombstone", None),
        ("malformed", b""),
        ("malformed", b"\xff\xfe"),
        ("malformed", deep),
        ("malformed", b"[" * 100_000),
        ("malformed", changed(record, scores={"faithfulness": 2.0})),
        ("malformed", changed(record, sampling={"m": 10**300})),
        ("malformed", changed(record, event_time="not a time")),
        ("read", huge),  # of a time that never comes: it counts for nothing
        ("read", changed(record, sampling={"m": None, "q": None, "u": None, "forced": True,
                                           "first_offset": None, "last_offset": None})),
    ]  # fmt: skip


async def all_read(exporter: MonitorProcess, records: int) -> Samples:
    """Wait until it has read so many."""

    async def read() -> Samples | None:
        assert exporter.alive(), exporter.log.read_text("utf-8")[-3_000:]
        samples = await exporter.metrics()
        return samples if total(samples, "rag_monitor_score_records_total") == records else None

    samples: Samples = await until(read, f"{records} records were read")
    return samples


async def test_an_exporter_among_hostile_records(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Good ones count, the others are counted by reason; it is up, ready, and names the places."""
    topics, rng, now = await make_topics(), Random(11), time.time()
    good = [scored(i, now - rng.uniform(60, 3_000), rng) for i in range(GOOD)]
    strange = hostile(scored(5_000, now - 100, rng))
    names = [
        scored(10_000 + i, now - 200, rng).model_copy(update={"application": f"session-{i}"})
        for i in range(300)
    ]
    values: list[bytes | None] = [each.to_json() for each in good]
    values += [changed(scored(9_000, now - 90, rng), schema="rag.score/1.2", news=[1])]
    values += [value for _, value in strange] + [each.to_json() for each in names]
    rng.shuffle(values)
    topic = topics["kafka__topics__scores"]
    sent = [Record(value, key=b"k", partition=i % 4) for i, value in enumerate(values)]
    exporter = MonitorProcess(
        "export", kafka_broker.bootstrap, tmp_path, "one", export__windows="1h", **topics
    )
    await produce(kafka_broker.bootstrap, topic, sent)
    control = [
        Record(b'{"schema":"rag.control/2","kind":"baseline"}', b"baseline/bot/llm@1"),
        Record(b'{"schema":"rag.control/1.7","kind":"pause","application":"hr","why":"x"}',
               b"pause/hr"),
    ]  # fmt: skip
    await produce(kafka_broker.bootstrap, topics["kafka__topics__control"], control)
    newer = Record(b'{"schema":"rag.alarm/3"}', b"faithfulness/bot/llm@1")
    await produce(kafka_broker.bootstrap, topics["kafka__topics__alarms"], [newer])
    try:
        await exporter.ready()
        samples = await all_read(exporter, len(sent))
        assert [(await exporter.get(path))[0] for path in ("/healthz", "/readyz")] == [200, 200]
    finally:
        await exporter.end()
    for cause in {cause for cause, _ in strange} - {"read"}:
        number = sum(each == cause for each, _ in strange)
        assert total(samples, "rag_monitor_score_records_total", result=cause) == number, cause
    for kind in ("control", "alarm"):
        name = f"rag_monitor_{kind}_records_total"
        assert total(samples, name, result="newer_schema") == 1
    assert total(samples, "rag_monitor_applications_folded") == 284
    told = [one for one in exporter.events() if one.get("reason") == "newer_schema"]
    assert len(told) == 4
    assert all(isinstance(one["offset"], int) and "partition" in one for one in told)
    assert total(samples, "rag_score_samples", metric="faithfulness") == pytest.approx(
        GOOD + 1 + len(names)
    )
