"""Avro, Protobuf and JSON behind a real schema registry: the gauges of the native twins."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, create_topic, produce, read_all
from tests.servers.schema_registry import HOW_TO_GET_REGISTRY, SchemaRegistry, missing_registry
from tests.stages.command import rag_monitor
from tests.stages.log_shapes import LoggedTurn
from tests.stages.process import MonitorProcess, Samples, outcomes, until
from tests.stages.registered import (
    JSON_SCHEMA,
    MAPPING,
    PASSAGE,
    PROTO,
    PROTO_PASSAGE,
    Json,
    avro,
    avro_schema,
    framed,
    protobuf,
    turn,
)
from tests.stages.topics import MakeTopics
from tests.stages.twins import gauges
from tests.tools import requires_tool

#: Longer by hand: the registry may be away for a minute.
AWAY_S = float(os.environ.get("REGISTRY_AWAY_SECONDS") or 3)
EACH = 12
KINDS = ("avro", "protobuf", "json")
#: No registry has so many.
NO_SCHEMA = 4_000_000


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistry]:
    """One for both tests."""
    requires_tool("schema registry", missing_registry(), HOW_TO_GET_REGISTRY)
    with SchemaRegistry(tmp_path_factory.mktemp("registry")) as found:
        yield found


def logged(registry: SchemaRegistry) -> dict[str, list[bytes]]:
    """Twelve turns of each kind; Avro's schema has a field more from the seventh on."""
    passage = {"name": "rag.Passage", "subject": "passage", "version": 1}
    registry.register("passage", "AVRO", json.dumps(PASSAGE))
    first, second = (
        registry.register("avro-value", "AVRO", json.dumps(avro_schema(version)), [passage])
        for version in (1, 2)
    )
    registry.register("passage-proto", "PROTOBUF", PROTO_PASSAGE)
    imported = {"name": "passage.proto", "subject": "passage-proto", "version": 1}
    proto = registry.register("protobuf-value", "PROTOBUF", PROTO, [imported])
    plain = registry.register("json-value", "JSON", JSON_SCHEMA)
    half = EACH // 2
    return {
        "avro": [
            *(framed(first, avro(turn(n))) for n in range(half)),
            *(framed(second, avro(turn(n) | {"tenant": "acme"}, 2)) for n in range(half, EACH)),
        ],
        "protobuf": [framed(proto, protobuf(turn(n))) for n in range(EACH)],
        "json": [framed(plain, json.dumps(turn(n)).encode()) for n in range(EACH)],
    }


def twin(kind: str, n: int) -> Record:
    """The same turn in our own JSON."""
    shown = LoggedTurn(n)
    found: Json = {
        "interaction_id": f"{n}",
        "application": f"{kind}-native",
        "user_input": shown.question,
        "response": shown.answer,
        "retrieved_contexts": [{"id": name, "text": text} for name, text in shown.passages],
    }
    return Record(json.dumps(found).encode())


def settings_of(names: dict[str, str], url: str) -> dict[str, Any]:
    """A topic of each kind."""
    sources = [
        {"topic": name, "format": "registry", "mapping": {**MAPPING, "application": f"'{kind}'"}}
        for kind, name in names.items()
    ]
    return {"ingest__sources": json.dumps(sources), "ingest__registry__url": url}


async def test_registered_logs_give_the_gauges_of_their_native_twins_after_an_outage(
    registry: SchemaRegistry, kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """The registry is away when the scorer starts: it waits, says for what, and loses nothing."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=1)
    native = topics["kafka__topics__interactions"]
    names = {kind: f"{native}-{kind}" for kind in KINDS}
    values = await asyncio.to_thread(logged, registry)
    for kind, name in names.items():
        await create_topic(broker, name, 1)
        strange = [framed(NO_SCHEMA, b"x"), b"{}"] if kind == "json" else []
        await produce(broker, name, [Record(value) for value in [*values[kind], *strange]])
        await produce(broker, native, [twin(kind, n) for n in range(EACH)])
    await asyncio.to_thread(registry.stop)
    settings = {**topics, **settings_of(names, registry.url)}
    monitor = MonitorProcess("run", broker, tmp_path, "one", **settings)

    async def ended(count: int) -> Samples | None:
        samples = await monitor.metrics()
        return samples if sum(outcomes(samples).values()) == count else None

    async def shown() -> Samples | None:
        samples = await monitor.metrics()
        key = ("rag_score_samples", "faithfulness", "1h")
        counts = [gauges(samples, f"{k}{end}").get(key) for k in KINDS for end in ("", "-native")]
        return samples if counts == [EACH] * len(counts) else None

    try:
        await monitor.listening()
        # What needs no schema goes on, and what needs one waits, with what stands behind it.
        await until(lambda: ended(EACH * len(KINDS)), "the twins")
        status, body = await monitor.get("/readyz")
        assert status == 503
        assert "records wait for schema" in json.loads(body)["waiting_for"]["registry"]
        await asyncio.sleep(AWAY_S)
        assert await ended(EACH * len(KINDS))
        await asyncio.to_thread(registry.start)
        counted = outcomes(await until(lambda: ended(2 * EACH * len(KINDS) + 2), "all have ended"))
        samples = await until(shown, "all are shown")
        await monitor.ready()
    finally:
        await monitor.end()
        await asyncio.to_thread(registry.ensure)
    assert counted == {"scored": 2 * EACH * len(KINDS), "dead_lettered": 2}
    for kind in KINDS:
        assert gauges(samples, kind).keys() == gauges(samples, f"{kind}-native").keys()
        assert gauges(samples, kind) == pytest.approx(gauges(samples, f"{kind}-native"), abs=1e-9)
    letters = await read_all(broker, topics["kafka__topics__dead_letters"])
    said = {dict(letter.headers)["x-error.message"].decode() for letter in letters}
    assert {each.partition(": ")[2][:40] for each in said} == {
        f"schema {NO_SCHEMA}: the registry has no schema"[:40],
        "found JSON without the id of a schema, expected"[:40],
    }


@pytest.mark.parametrize("kind", KINDS)
async def test_a_registered_log_is_guessed_and_tried(
    kind: str,
    registry: SchemaRegistry,
    kafka_broker: RunningBroker,
    make_topics: MakeTopics,
    tmp_path: Path,
) -> None:
    """Without the registry's address it is asked for; with it the mapping is as for any JSON."""
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=1)
    topic = topics["kafka__topics__interactions"]
    values = await asyncio.to_thread(logged, registry)
    await produce(broker, topic, [Record(value) for value in values[kind]])
    environ = {"RAG_MONITOR_KAFKA__BOOTSTRAP_SERVERS": broker}

    async def ran(*command: str) -> Any:
        return await asyncio.to_thread(rag_monitor, *command, environ=environ)

    blind = await ran("ingest", "guess", "--topic", topic)
    assert blind.returncode == 1
    assert "--set ingest.registry.url=" in blind.stderr
    where = f"ingest.registry.url={registry.url}"
    guess = await ran("ingest", "guess", "--topic", topic, "--set", where)
    assert guess.returncode == 0, guess.stderr
    file = tmp_path / "monitor.yaml"
    file.write_text(guess.stdout, encoding="utf-8")
    dry = await ran("score", "--dry-run", "--json", "--config", str(file))
    assert json.loads(dry.stdout)["outcomes"] == {"scored": EACH}
    tried = await ran("ingest", "try", "--topic", topic, "--config", str(file), "--json")
    found = json.loads(tried.stdout)
    assert found["summary"]["readable"] == EACH
    asked = {each["interaction"]["user_input"] for each in found["records"]}
    assert asked == {turn(n)["question"] for n in range(EACH)}
    assert all(len(each["interaction"]["retrieved_contexts"]) == 2 for each in found["records"])
