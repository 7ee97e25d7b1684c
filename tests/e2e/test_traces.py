"""Spans of two real frameworks on a real broker: the gauges of the same turns in our own JSON."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from monitor.ingest.formats.otlp import json_spans
from monitor.ingest.formats.traces import by_trace, root_of
from monitor.records import read_score_record
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, create_topic, produce, read_all
from tests.stages import otlp_spans
from tests.stages.command import environ_of, rag_monitor
from tests.stages.otlp_spans import FRAMEWORKS, TURNS, Json, copied, cut, moved, recorded
from tests.stages.process import KILLED, MonitorProcess, Samples, until
from tests.stages.topics import MakeTopics
from tests.stages.twins import gauges

KILLS, MOST_SPANS = 4, 9
#: How often each turn is asked, once before each kill and once after the last.
TIMES = KILLS + 1
FORMATS = {"langchain": "otlp_json", "llama_index": "otlp_proto"}


def encoded(framework: str, whole: Json) -> bytes:
    """As the collector is set to write."""
    as_json = FORMATS[framework] == "otlp_json"
    return otlp_spans.as_json(whole) if as_json else otlp_spans.as_proto(whole)


def twins(framework: str, whole: Json) -> list[Record]:
    """The turns of all traces in our own JSON, at the times at which their roots ended."""
    found = []
    for trace_id, spans in by_trace(json_spans(otlp_spans.as_json(whole))).items():
        root = root_of(spans)
        assert root is not None
        n = int(str(root.attributes["input.value"]).split()[8])
        turn = otlp_spans.native(n, f"{FRAMEWORKS[framework]}-native", ids=framework != "langchain")
        logged = turn | {"interaction_id": f"native-{trace_id}", "timestamp": root.ended_ns}
        found.append(Record(json.dumps(logged).encode()))
    return found


async def test_spans_give_the_gauges_of_their_native_twins_whatever_is_killed(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Cut over records, shuffled, some twice, and the scorer killed four times: to 1e-9."""
    broker, topics, random = kafka_broker.bootstrap, await make_topics(), Random(23)
    native, now_ns = topics["kafka__topics__interactions"], time.time_ns() - 60 * 10**9
    names = {framework: f"{native}-{framework}" for framework in FRAMEWORKS}
    whole = {f: [copied(moved(recorded(f), now_ns), n) for n in range(TIMES)] for f in FRAMEWORKS}
    for framework, name in names.items():
        await create_topic(broker, name, 1)
        for each in whole[framework]:
            await produce(broker, native, twins(framework, each))
    sources = [{"topic": names[f], "format": FORMATS[f]} for f in FRAMEWORKS]
    settings: dict[str, Any] = {
        **topics,
        **KILLED,
        "ingest__sources": json.dumps(sources),
        "ingest__trace_quiet_s": 2,
    }
    exporter = MonitorProcess("export", broker, tmp_path, "export", **settings)
    scorer = MonitorProcess("score", broker, tmp_path, "s0", **settings)

    async def shown() -> Samples | None:
        samples = await exporter.metrics()
        key = ("rag_score_samples", "faithfulness", "1h")
        counts = [
            gauges(samples, f"{name}{end}").get(key)
            for name in FRAMEWORKS.values()
            for end in ("", "-native")
        ]
        return samples if counts == [TURNS * TIMES] * 4 else None

    try:
        await exporter.ready()
        for kill in range(KILLS + 1):
            await scorer.ready()
            for framework, name in names.items():
                part = cut(whole[framework][kill], MOST_SPANS, random)
                await produce(broker, name, [Record(encoded(framework, one)) for one in part])
            if kill < KILLS:
                await asyncio.sleep(1.0 + 0.7 * kill)  # gathering, judging, or just done
                scorer.kill()
                scorer = MonitorProcess("score", broker, tmp_path, f"s{kill + 1}", **settings)
        samples = await until(shown, "all are shown")
    finally:
        for process in (scorer, exporter):
            await process.end()
    for name in FRAMEWORKS.values():
        found = gauges(samples, name)
        assert found.keys() == gauges(samples, f"{name}-native").keys()
        assert found == pytest.approx(gauges(samples, f"{name}-native"), abs=1e-9)
    scores = await read_all(broker, topics["kafka__topics__scores"])
    traced = [read_score_record(one.value or b"") for one in scores]
    ids = {one.interaction_id for one in traced if one.source.spans}
    assert len(ids) == TURNS * TIMES * len(FRAMEWORKS)
    assert all(one.interaction_id == one.source.trace_id for one in traced if one.source.spans)
    assert not await read_all(broker, topics["kafka__topics__dead_letters"])


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_topic_of_spans_is_recognised_tried_and_looked_at(
    framework: str, kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """From the topic to its interactions in two commands; and doctor says what is split."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=2)
    topic = topics["kafka__topics__interactions"]
    whole = moved(recorded(framework), time.time_ns())
    parts = cut(whole, MOST_SPANS, Random(1))
    await produce(broker, topic, [Record(encoded(framework, one)) for one in parts])
    environ = environ_of(broker, topics)

    async def ran(*command: str) -> Any:
        return await asyncio.to_thread(rag_monitor, *command, environ=environ)

    guess = await ran("ingest", "guess", "--topic", topic)
    assert f"format: {FORMATS[framework]}" in guess.stdout
    file = tmp_path / "monitor.yaml"
    file.write_text(guess.stdout, encoding="utf-8")
    tried = await ran("ingest", "try", "-n", "100", "--config", str(file), "--json")
    found = json.loads(tried.stdout)
    assert found["summary"]["readable"] == TURNS
    assert found["summary"]["traces"] == {
        "traces": TURNS,
        "without_root": 0,
        "other_work": 0,
        "split": found["summary"]["traces"]["split"],
        "linked": 0,
        "records": len(parts),
        "overlooked": {},
    }
    asked = {each["interaction"]["user_input"] for each in found["records"]}
    assert asked == {otlp_spans.question(n) for n in range(TURNS)}
    shown = await ran("ingest", "try", "-n", "100", "--config", str(file))
    assert f"{TURNS} of {TURNS} traces are interactions" in shown.stdout
    assert "partition_traces_by_id" in shown.stdout
    trace_id = found["records"][0]["interaction"]["interaction_id"]
    why = await ran("why", trace_id, "--config", str(file))
    assert "and it has not ended yet" in why.stdout
    assert f"logged at {topic}/" in why.stdout
    doctor = await ran("doctor", "--config", str(file))
    (line,) = (row for row in doctor.stdout.splitlines() if " traces " in row and "WARN" in row)
    assert f"{TURNS} traces in {len(parts)} records" in line
