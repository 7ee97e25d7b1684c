"""What bounds the scorer's work: places in flight, concurrency, deadlines, record sizes."""

from __future__ import annotations

import time
from itertools import islice, product
from pathlib import Path
from random import Random

import aiohttp

from monitor.records import read_score_record
from tests.servers.judge_server import Fault, FaultPlan, FaultRule, JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, create_topic, produce, read_all
from tests.stages.labelled import Case, all_labels, as_logged, case
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, Samples, asking, outcomes, total, until
from tests.stages.topics import MakeTopics


async def all_ended(scorer: MonitorProcess, cases: list[Case], most_in_flight: int) -> Samples:
    """The page when all have ended; in every scrape before, in flight stays within its bound."""

    async def ended() -> Samples | None:
        samples = await scorer.metrics()
        in_flight = total(samples, "rag_monitor_interactions_in_flight")
        counted = sum(outcomes(samples).values())
        assert in_flight <= most_in_flight
        assert total(samples, "rag_monitor_interactions_consumed_total") == counted + in_flight
        return samples if counted == len(cases) else None

    samples: Samples = await until(ended, "all outcomes", every_s=0.02)
    return samples


async def test_waiting_for_a_place_does_not_count_against_the_deadline(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Judgements of over 2 s, 30 for 2 places, wait longer than the deadline; none fails."""
    rng = Random(3)
    cases = [case(f"w{i:03d}", rng, time.time() - 60, together=True) for i in range(40)]
    topics = await make_topics(partitions=1)
    slow = FaultPlan(rules=(FaultRule(fault=Fault.LATENCY, times=None, seconds=1.0),))
    async with JudgeServer(all_labels(cases), slow) as judge:
        settings = asking(
            judge, judge__concurrency=2, judge__deadline_s=20, ingest__max_in_flight=30, **topics
        )
        scorer = MonitorProcess("score", kafka_broker.bootstrap, tmp_path, "scorer", **settings)
        try:
            await scorer.ready()
            sent = as_logged(cases)
            broker = kafka_broker.bootstrap
            await produce(broker, topics["kafka__topics__interactions"], sent)
            samples = await all_ended(scorer, cases, most_in_flight=30)
        finally:
            await scorer.end()
        # One judgement makes at most two calls at the same time.
        assert judge.counts()["peak_in_flight"] <= 4
    assert outcomes(samples) == {"scored": len(cases)}
    records = await read_all(broker, topics["kafka__topics__scores"])
    waits = [read_score_record(record.value or b"").timings["wait_s"] for record in records]
    assert max(waits) > 20


async def test_a_judge_that_hangs_meets_the_deadline(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """The hanging ones end judge_failed with reason deadline and a record; the rest is scored."""
    rng = Random(4)
    cases = [case(f"h{i:03d}", rng, time.time() - 60, together=True) for i in range(12)]
    topics = await make_topics(partitions=1)
    hang = FaultRule(fault=Fault.TIMEOUT, times=None, containing="[h003]", task="verify_claims")
    async with JudgeServer(all_labels(cases), FaultPlan(rules=(hang,))) as judge:
        settings = asking(judge, judge__deadline_s=20, **topics)
        scorer = MonitorProcess("score", kafka_broker.bootstrap, tmp_path, "scorer", **settings)
        try:
            await scorer.ready()
            sent = as_logged(cases)
            broker = kafka_broker.bootstrap
            await produce(broker, topics["kafka__topics__interactions"], sent)
            samples = await all_ended(scorer, cases, most_in_flight=256)
        finally:
            await scorer.end()
    name = "rag_monitor_interactions_total"
    assert outcomes(samples) == {"scored": 11, "judge_failed": 1}
    assert total(samples, name, outcome="judge_failed", reason="deadline") == 1
    records = await read_all(broker, topics["kafka__topics__scores"])
    found = {r.interaction_id: r for r in (read_score_record(x.value or b"") for x in records)}
    assert (found["h003"].scores, found["h003"].reason) == ({}, "deadline")
    # What was paid for until the deadline is on the bill: the extractions, and what it cut off.
    assert found["h003"].usage.calls == 2 + (cases[3].by_reference is not None)


async def test_records_too_large_lose_texts_and_never_an_outcome(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """A score record sheds passage texts, a dead letter its value; both say so."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs = topics["kafka__topics__interactions"] + "-large"
    await create_topic(broker, inputs, 1, {"max.message.bytes": "20000000"})
    topics["kafka__topics__interactions"] = inputs
    words = map(
        "".join, islice(product("bdfgklmn", "aeiou", "prstvwxz", "aeiou", repeat=2), 120_000)
    )
    passages = ["The warranty lasts 24 months.", " ".join(words)]
    large = interaction("large", retrieved_contexts=passages)
    garbage = b"\xff" + bytes(Random(1).randbytes(3_000_000))
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    try:
        await scorer.ready()
        bad = [Record(garbage, key=b"g"), Record(garbage)]
        await produce(broker, inputs, [Record(encoded(large)), *bad])

        async def ended() -> bool:
            return sum(outcomes(await scorer.metrics()).values()) == 3

        await until(ended, "all outcomes")
        samples = await scorer.metrics()
    finally:
        await scorer.end()
    assert outcomes(samples) == {"scored": 1, "dead_lettered": 2}
    assert total(samples, "rag_monitor_records_truncated_total") == 1
    (record,) = await read_all(broker, topics["kafka__topics__scores"])
    score = read_score_record(record.value or b"")
    assert score.truncated
    assert score.scores["faithfulness"] == 1.0
    letters = await read_all(broker, topics["kafka__topics__dead_letters"])
    assert {(letter.key, letter.value) for letter in letters} == {(b"g", b""), (None, b"")}
    for letter in letters:
        assert dict(letter.headers)["x-error.value_omitted"] == str(len(garbage)).encode()


async def test_exemplars_and_the_lag_of_a_dead_scorer(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """OpenMetrics scrapes carry interaction ids; the exporter sees that nobody consumes."""
    topics, broker = await make_topics(partitions=1), kafka_broker.bootstrap
    inputs = topics["kafka__topics__interactions"]
    scorer = MonitorProcess("score", broker, tmp_path, "scorer", **topics)
    exporter = MonitorProcess("export", broker, tmp_path, "exporter", **topics)
    try:
        await scorer.ready()
        await exporter.ready()
        await produce(broker, inputs, [Record(encoded(interaction("one")))])
        await until(lambda: _lag_is(exporter, 0.0, 1.0), "no lag")
        accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
        async with (
            aiohttp.ClientSession() as session,
            session.get(scorer.url + "/metrics", headers=accept) as answer,
        ):
            page = await answer.text()
        assert '# {interaction_id="one"} 1.0' in page
        assert page.rstrip().endswith("# EOF")
        scorer.kill()
        await produce(broker, inputs, [Record(encoded(interaction(f"x{i}"))) for i in range(5)])
        await until(lambda: _lag_is(exporter, 5.0, 6.0), "a lag of 5")
    finally:
        await scorer.end()
        await exporter.end()


async def _lag_is(exporter: MonitorProcess, lag: float, end: float) -> bool:
    samples = await exporter.metrics()
    ends = total(samples, "rag_monitor_input_end_offset")
    return (total(samples, "rag_monitor_group_lag_records"), ends) == (lag, end)


async def test_the_lag_covers_partitions_not_reached_yet(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """A judge that hangs on the first partition's records hides no other partition's lag."""
    rng = Random(6)
    cases = [case(f"l{i:03d}", rng, time.time() - 60, together=True) for i in range(40)]
    topics, broker = await make_topics(partitions=4), kafka_broker.bootstrap
    inputs = topics["kafka__topics__interactions"]
    sent = [Record(one.value, key=b"k", partition=i % 4) for i, one in enumerate(cases)]
    await produce(broker, inputs, sent)
    hang = FaultPlan(rules=(FaultRule(fault=Fault.TIMEOUT, times=None),))
    async with JudgeServer(all_labels(cases), hang) as judge:
        settings = asking(judge, ingest__max_in_flight=4, ingest__drain_s=1, **topics)
        scorer = MonitorProcess("score", broker, tmp_path, "scorer", **settings)
        try:
            await scorer.ready()
            await until(lambda: _all_lag(scorer, 10), "a lag of 10 on each of 4 partitions")
        finally:
            await scorer.end()


async def _all_lag(scorer: MonitorProcess, lag: float) -> bool:
    samples = await scorer.metrics()
    found = [v for (name, _), v in samples.items() if name == "rag_monitor_consumer_lag_records"]
    return found == [lag] * 4


async def test_waiting_for_requests_a_minute_is_no_failure_and_not_being_stuck(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Judgements wait for ten seconds and more, again and again, where 8 of judging were too many.

    Neither a deadline nor a dead letter comes of it, and /healthz stays 200.
    """
    rng, broker = Random(6), kafka_broker.bootstrap
    cases = [case(f"m{i:03d}", rng, time.time() - 60, together=True) for i in range(4)]
    topics = await make_topics(partitions=1)
    sick: list[int] = []

    async def ended() -> Samples | None:
        samples = await scorer.metrics()
        status, _ = await scorer.get("/healthz")
        sick.extend([status] if status != 200 else [])
        return samples if sum(outcomes(samples).values()) == len(cases) else None

    async with JudgeServer(all_labels(cases)) as judge:
        settings = asking(
            judge,
            limits__requests_per_minute=24,
            judge__deadline_s=8,
            ingest__stuck_after_s=8,
            **topics,
        )
        scorer = MonitorProcess("score", broker, tmp_path, "scorer", **settings)
        try:
            await scorer.ready()
            await produce(broker, topics["kafka__topics__interactions"], as_logged(cases))
            samples = await until(ended, "all outcomes")
        finally:
            await scorer.end()
        assert len(judge.log) > 8, "they have not all been asked at once"
    assert outcomes(samples) == {"scored": len(cases)}
    assert sick == []
    records = await read_all(broker, topics["kafka__topics__scores"])
    judging = [read_score_record(record.value or b"").timings["judge_s"] for record in records]
    assert max(judging) > 9
