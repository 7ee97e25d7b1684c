"""The scorer with its cache in Redis and all of its traffic judged twice, over Kafka and HTTP."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from random import Random

from monitor.records import ScoreRecord, read_score_record
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce, read_all
from tests.servers.redis_server import HOW_TO_GET_REDIS, RedisServer, missing_redis
from tests.stages.labelled import Case, all_labels, as_logged, case
from tests.stages.process import MonitorProcess, Samples, asking, outcomes, total, until
from tests.stages.topics import MakeTopics
from tests.tools import requires_tool

COUNT = 12


def again(one: Case) -> Case:
    """The same texts under another id."""
    return replace(one, interaction={**one.interaction, "interaction_id": f"{one.id}-again"})


async def ended(scorer: MonitorProcess, count: int) -> Samples:
    """The page when so many interactions, and what they led to, have come to an end."""

    async def all_done() -> Samples | None:
        samples = await scorer.metrics()
        done = sum(outcomes(samples).values()) == count
        second = total(samples, "rag_monitor_judge_rechecks_total")
        return samples if done and second == count else None

    samples: Samples = await until(all_done, f"{count} ended")
    return samples


async def test_the_cache_goes_away_and_no_score_feels_it(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """With Redis the same texts are extracted once, without it again; the records are the same."""
    requires_tool("redis", missing_redis(), HOW_TO_GET_REDIS)
    rng = Random(5)
    made = (case(f"c{i:03d}", rng, time.time() - 60, together=True) for i in range(COUNT * 3))
    cases = [one for one in made if one.by_reference is not None][:COUNT]
    broker, topics = kafka_broker.bootstrap, await make_topics(partitions=1)
    cache = RedisServer(tmp_path)
    # A request that waits half a second for the processor would count as an error.
    patient = {"judge__cache__timeout_s": 20}
    settings = {"judge__cache__kind": "redis", "judge__cache__url": cache.url, **patient, **topics}
    async with JudgeServer(all_labels(cases)) as judge:
        asked = asking(judge, **settings) | {"judge__recheck_rate": 1}
        scorer = MonitorProcess("score", broker, tmp_path, "scorer", **asked)
        try:
            with cache:
                await scorer.ready()
                inputs = topics["kafka__topics__interactions"]
                await produce(broker, inputs, as_logged(cases))
                cold = await ended(scorer, COUNT)
                await produce(broker, inputs, as_logged(map(again, cases)))
                warm = await ended(scorer, 2 * COUNT)
            others = [again(again(one)) for one in cases]
            await produce(broker, inputs, as_logged(others))
            without = await ended(scorer, 3 * COUNT)
        finally:
            await scorer.end()
    lookups = "rag_monitor_judge_cache_lookups_total"
    assert total(cold, lookups, result="hit") == 0
    assert total(warm, lookups, result="hit") == 2 * COUNT
    assert total(without, lookups, result="hit") == total(warm, lookups, result="hit")
    assert total(warm, "rag_monitor_judge_cache_errors_total") == 0
    assert total(without, "rag_monitor_judge_cache_errors_total") > 0
    _same_scores(await read_all(broker, topics["kafka__topics__scores"]))
    for kind in ("passage", "context", "reference", "response"):
        assert total(without, "rag_monitor_judge_agreement", kind=kind) == 1.0
        assert total(without, "rag_monitor_judge_agreement_lower", kind=kind) < 1.0
    assert total(without, "rag_monitor_judge_rechecks_total", result="done") >= COUNT
    assert total(without, "rag_monitor_judge_recheck_misses_total") == 0


def _same_scores(found: list[Record]) -> None:
    by_case: dict[str, list[ScoreRecord]] = {}
    for each in found:
        record = read_score_record(each.value or b"")
        by_case.setdefault(record.interaction_id.split("-")[0], []).append(record)
    assert len(by_case) == COUNT
    for records in by_case.values():
        assert [record.outcome for record in records] == ["scored"] * 3
        assert len({record.verdicts for record in records}) == 1
        assert all(record.scores == records[0].scores for record in records)
