"""Three thousand hostile records through one running scorer, and what becomes of each of them."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from monitor.records import ScoreRecord, read_score_record
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, create_topic, produce, read_all
from tests.stages.broken import produce_strange_header
from tests.stages.hostile import Hostile, Kind, mixed_with, mixture, one_of
from tests.stages.hostile_kinds import GOOD, KINDS, MB, MOST_DEAD_LETTER_BYTES, UNREADABLE
from tests.stages.hostile_oracle import UNREADABLE_RECORD
from tests.stages.process import MonitorProcess, Samples, outcomes, until
from tests.stages.topics import Topics

HOSTILE, STRANGE, PARTITIONS, SEED = 3_000, 20, 3, 20
#: Hostile ones before each good one: enough of those that reading is not stopped for all that fail.
EVERY = 4
PATIENCE_S = 500.0

Place = tuple[int, int]
Placed = dict[Place, Hostile]


async def test_every_hostile_record_meets_its_fate(
    kafka_broker: RunningBroker, tmp_path: Path
) -> None:
    """3,000 of them: each under its stated cause, none lost, what is dead as it was; it lives."""
    broker, topics = kafka_broker.bootstrap, await _topics(kafka_broker.bootstrap)
    # Their own times are of one day; what is too old for any gauge is judged all the same.
    topics["ingest__start"] = "earliest"
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        topic = topics["kafka__topics__interactions"]
        sent = await _send_strange(broker, topic, STRANGE // 2)
        sent |= await _send(broker, topic, _records())
        sent |= await _send_strange(broker, topic, STRANGE // 2)

        async def ended() -> bool:
            assert scorer.alive(), scorer.log.read_text("utf-8")[-3_000:]
            return sum(outcomes(await scorer.metrics()).values()) >= len(sent)

        await until(ended, "all outcomes", PATIENCE_S, every_s=1)
        await until(lambda: _all_is_committed(broker, topics), "the commit of everything")
        assert [(await scorer.get(path))[0] for path in ("/healthz", "/readyz")] == [200, 200]
        samples = await scorer.metrics()
    finally:
        await scorer.end()
    _check_counters(samples, sent)
    letters = await read_all(broker, topics["kafka__topics__dead_letters"])
    records = await read_all(broker, topics["kafka__topics__scores"])
    scores = [read_score_record(record.value or b"") for record in records]
    _check_fates(letters, scores, sent)
    for letter in letters:
        _check_letter(letter, sent[_place(letter)])
    _check_times(scores, sent)
    assert not [event for event in scorer.events() if event.get("event") == "scorer_bug"]


async def _topics(broker: str) -> Topics:
    run = uuid.uuid4().hex[:8]
    sizes = {"interactions": 8 * MB, "scores": 2 * MB, "dead_letters": MOST_DEAD_LETTER_BYTES}
    for key, most in sizes.items():
        name, most_bytes = f"{key}-{run}", {"max.message.bytes": str(most)}
        await create_topic(broker, name, PARTITIONS, most_bytes)
    settings = {f"kafka__topics__{key}": f"{key}-{run}" for key in sizes}
    return {**settings, "kafka__group_id": f"group-{run}"}


def _records() -> list[Hostile]:
    rng = Random(SEED)
    good = (one_of(GOOD, rng, f"good-{i}") for i in count())
    return mixed_with(good, mixture(KINDS, HOSTILE - STRANGE, SEED), EVERY)


async def _send(broker: str, topic: str, records: Sequence[Hostile]) -> Placed:
    """The records by where they stand; all kinds on all partitions."""
    spread = [
        one._replace(record=replace(one.record, partition=i % PARTITIONS))
        for i, one in enumerate(records)
    ]
    bare = [one for one in spread if one.record.key is None and one.record.value is None]
    whole = [one for one in spread if one.record.key is not None or one.record.value is not None]
    written = await produce(broker, topic, [one.record for one in whole])
    written += await _produce_bare(broker, topic, [one.record for one in bare])
    return {
        (record.partition or 0, record.offset or 0): one._replace(record=record)
        for record, one in zip(written, [*whole, *bare], strict=True)
    }


async def _send_strange(broker: str, topic: str, number: int) -> Placed:
    """Records with a header whose name is no text: nothing of them can be kept but their place."""
    places = [(0, await produce_strange_header(broker, topic, b"lost")) for _ in range(number)]
    return {place: Hostile(Record(b""), UNREADABLE, UNREADABLE_RECORD) for place in places}


async def _produce_bare(broker: str, topic: str, records: Sequence[Record]) -> list[Record]:
    """Records with neither key nor value, which aiokafka writes in batches only."""
    producer = AIOKafkaProducer(bootstrap_servers=broker, acks="all")
    await producer.start()
    written = []
    try:
        for record in records:
            batch = producer.create_batch()
            batch.append(key=None, value=None, timestamp=None, headers=list(record.headers))
            sent = await producer.send_batch(batch, topic, partition=record.partition)
            written.append(replace(record, offset=(await sent).offset))
    finally:
        await producer.stop()
    return written


async def _all_is_committed(broker: str, topics: Topics) -> bool:
    consumer = AIOKafkaConsumer(bootstrap_servers=broker, group_id=topics["kafka__group_id"])
    await consumer.start()
    try:
        topic = topics["kafka__topics__interactions"]
        partitions = [TopicPartition(topic, n) for n in range(PARTITIONS)]
        ends = await consumer.end_offsets(partitions)
        return bool(ends == {each: await consumer.committed(each) for each in partitions})
    finally:
        await consumer.stop()


def _check_counters(samples: Samples, sent: Placed) -> None:
    """Every outcome and reason as often as the fates say; nothing under any other name."""
    ended = {
        (dict(labels)["outcome"], dict(labels)["reason"]): int(value)
        for (name, labels), value in samples.items()
        if name == "rag_monitor_interactions_total" and value
    }
    assert ended == Counter(tuple(one.fate) for one in sent.values())
    assert samples["rag_monitor_interactions_consumed_total", frozenset()] == len(sent)
    assert samples["rag_monitor_interactions_in_flight", frozenset()] == 0
    dead = Counter(
        {
            dict(labels)["cause"]: int(value)
            for (name, labels), value in samples.items()
            if name == "rag_monitor_dead_letters_total" and value
        }
    )
    assert dead == Counter(one.fate.reason for one in sent.values() if one.fate.is_dead)


def _check_fates(letters: list[Record], scores: list[ScoreRecord], sent: Placed) -> None:
    """Kind by kind: a dead letter or a score record with the stated reason, and only one."""
    found = Counter(
        (sent[_place(letter)].kind.name, "dead_lettered", _said(letter)["x-error.class"])
        for letter in letters
    )
    for score in scores:
        kind = sent[score.source.partition, score.source.offset].kind
        found[kind.name, score.outcome.value, score.reason or ""] += 1
    expected = Counter((one.kind.name, *one.fate) for one in sent.values())
    silent = [key for key in expected if key[2] == "tombstone"]  # nothing to judge or to keep
    assert silent
    for key in silent:
        del expected[key]
    assert found == expected
    places = [_place(letter) for letter in letters]
    places += [(score.source.partition, score.source.offset) for score in scores]
    assert len(places) == len(set(places))


def _check_letter(letter: Record, one: Hostile) -> None:
    """Value, key, time and headers as they were; of a value too large, its size."""
    original, said = one.record, _said(letter)
    assert letter.key == original.key, one.kind.name
    assert said["x-error.stage"] in {"decode", "validate"}
    if not one.kind.kept:
        assert int(said["x-error.value_omitted"]) == len(original.value or b"")
        assert not letter.value
        return
    assert letter.value == original.value, one.kind.name
    assert letter.headers[: len(original.headers)] == original.headers, one.kind.name
    added = letter.headers[len(original.headers) :]
    assert all(name.startswith("x-error.") for name, _ in added)
    if original.timestamp_ms is not None:
        assert letter.timestamp_ms == original.timestamp_ms, one.kind.name


def _check_times(scores: list[ScoreRecord], sent: Placed) -> None:
    """A strange time of an interaction gives way to the broker's, which is of this test's run."""
    of_kind: dict[str, list[float]] = {}
    for score in scores:
        kind: Kind = sent[score.source.partition, score.source.offset].kind
        age_s = (score.judged_at - score.event_time).total_seconds()
        of_kind.setdefault(kind.name, []).append(age_s)
    for name in ("strange_timestamp", "nan_timestamp", "good"):
        assert 0 <= min(of_kind[name]) <= max(of_kind[name]) < 2 * PATIENCE_S
    assert min(of_kind["epoch"]) > 1e9  # the producer said so, and nobody knows better


def _said(letter: Record) -> dict[str, str]:
    return {
        name: (value or b"").decode() for name, value in letter.headers if name[:8] == "x-error."
    }


def _place(letter: Record) -> Place:
    said = _said(letter)
    return int(said["x-error.partition"]), int(said["x-error.offset"])
