"""A running scorer on a real broker: outcomes, sampling, dead letters, a graceful end."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from random import Random

from monitor.records import read_score_record
from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.stages.labelled import all_labels, as_logged, case
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, asking, outcomes, total, until
from tests.stages.topics import MakeTopics

SECRET = "the moon landing was sponsored by Acme"


async def test_every_kind_of_record_ends_in_its_outcome(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Scored, unscorable, tombstone, dead letter: each counted once; no text is logged."""
    topics = await make_topics(partitions=1)
    broker, inputs = kafka_broker.bootstrap, topics["kafka__topics__interactions"]
    bad = Record(
        b'{"user_input": 1, "response": "x"}', b"k", 0, 1_700_000_000_000, (("tenant", b"acme"),)
    )
    records = [
        Record(encoded(interaction("ok"))),
        Record(encoded(interaction("empty", response=" … "))),
        Record(encoded(interaction("nothing", retrieved_contexts=[], reference=None))),
        Record(encoded(interaction("secret", response=SECRET))),
        Record(encoded(interaction("old", timestamp="2001-01-01T00:00:00Z"))),
        Record(None, b"tombstone"),
        bad,
        Record(b"\xff\xfe not json"),
    ]
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        await produce(broker, inputs, records)

        async def ended() -> bool:
            return sum(outcomes(await scorer.metrics()).values()) == len(records)

        await until(ended, "all outcomes")
        samples = await scorer.metrics()
    finally:
        await scorer.end()
    assert outcomes(samples) == {"scored": 3, "unscorable": 3, "dead_lettered": 2}
    name = "rag_monitor_interactions_total"
    assert total(samples, name, outcome="unscorable", reason="tombstone") == 1
    assert total(samples, name, outcome="unscorable", reason="no_claims") == 1
    assert total(samples, name, outcome="unscorable", reason="no_contexts") == 1
    assert total(samples, name, outcome="dead_lettered", reason="wrong_value") == 1
    assert total(samples, name, outcome="dead_lettered", reason="invalid_json") == 1
    assert total(samples, "rag_monitor_timestamps_replaced_total", reason="implausible") == 1
    assert total(samples, "rag_monitor_timestamps_replaced_total", reason="missing") == 4
    assert SECRET not in scorer.log.read_text("utf-8")
    letters = await read_all(broker, topics["kafka__topics__dead_letters"])
    (letter,) = [letter for letter in letters if letter.key == b"k"]
    assert (letter.value, letter.timestamp_ms) == (bad.value, bad.timestamp_ms)
    headers = dict(letter.headers)
    assert headers["tenant"] == b"acme"
    assert headers["x-error.topic"].decode() == inputs
    assert headers["x-error.offset"] == b"6"
    assert headers["x-error.stage"] == b"validate"
    message = headers["x-error.message"]
    assert message.startswith(b"user_input: found a number, expected a valid string")
    assert b"retrieved_contexts" in message  # what else is wrong stands there, too
    await _check_records(broker, topics["kafka__topics__scores"])


async def _check_records(broker: str, topic: str) -> None:
    found = {}
    for record in await read_all(broker, topic):
        score = read_score_record(record.value or b"")
        assert record.key == score.key.encode()
        found[score.interaction_id] = score
    assert set(found) == {"ok", "empty", "nothing", "secret", "old"}
    assert found["ok"].scores["faithfulness"] == 1.0
    assert found["nothing"].outcome == "unscorable"
    assert found["old"].event_time.timestamp() > time.time() - 3_600
    sampling = found["ok"].sampling
    assert (sampling.m, sampling.q, sampling.u, sampling.kind) == (1, 1.0, 1.0, "with_reference")


async def test_the_hash_decides_who_is_judged_on_every_replica(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Judged are exactly the ids whose BLAKE2b lies below q, and q is on their records."""
    topics = await make_topics()
    broker, names = kafka_broker.bootstrap, [f"interaction-{i}" for i in range(400)]
    scorers = [
        MonitorProcess("score", broker, tmp_path, f"s{i}", sampling__rate=0.3, **topics)
        for i in range(2)
    ]
    try:
        for scorer in scorers:
            await scorer.ready()
        sent = [Record(encoded(interaction(name)), key=name.encode()) for name in names]
        await produce(broker, topics["kafka__topics__interactions"], sent)

        async def ended() -> bool:
            pages = [outcomes(await scorer.metrics()) for scorer in scorers]
            return sum(n for page in pages for n in page.values()) >= len(names)

        await until(ended, "all outcomes")
    finally:
        for scorer in scorers:
            await scorer.end()
    read = await read_all(broker, topics["kafka__topics__scores"])
    scores = [read_score_record(record.value or b"") for record in read]
    expected = {
        name
        for name in names
        if int.from_bytes(hashlib.blake2b(name.encode()).digest()[:8], "big") / 2**64 < 0.3
    }
    assert {score.interaction_id for score in scores} == expected
    assert {score.sampling.q for score in scores} == {0.3}


async def test_sigterm_drains_commits_and_hands_over_the_rest(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """What ends within the drain is recorded once; the next scorer does exactly the rest."""
    rng = Random(5)
    cases = [case(f"t{i:03d}", rng, time.time() - 60) for i in range(60)]
    topics = await make_topics(partitions=2)
    broker = kafka_broker.bootstrap
    slow = FaultPlan(rules=(FaultRule(fault=Fault.LATENCY, times=None, seconds=0.3),))
    async with JudgeServer(all_labels(cases), slow) as judge:
        settings = asking(judge, judge__concurrency=4, ingest__drain_s=2, **topics)
        first = MonitorProcess("score", broker, tmp_path, "first", **settings)
        try:
            await first.ready()
            sent = as_logged(cases)
            await produce(broker, topics["kafka__topics__interactions"], sent)
            await judge.until_logged(40)
        finally:
            await first.end()
        done = len(await read_all(broker, topics["kafka__topics__scores"]))
        assert 0 < done < len(cases)
        second = MonitorProcess("score", broker, tmp_path, "second", **settings)
        try:
            await second.ready()
            await until(lambda: _records(broker, topics, len(cases)), "the rest")
        finally:
            await second.end()
    read = await read_all(broker, topics["kafka__topics__scores"])
    ids = [read_score_record(record.value or b"").interaction_id for record in read]
    assert set(ids) == {one.id for one in cases}
    assert [event["event"] for event in first.events()][-1] == "stopped"


async def _records(broker: str, topics: dict[str, str], count: int) -> bool:
    read = await read_all(broker, topics["kafka__topics__scores"])
    return len({record.key for record in read}) == count
