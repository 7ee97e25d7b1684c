"""Where there are few interactions, none waits for a block that does not fill.

The blocks' time goes sixty times as fast; with the times as they are it is
``tests/benchmarks/low_traffic.py``.
"""

from __future__ import annotations

from pathlib import Path

from monitor.records import ScoreRecord, read_score_record
from monitor.sampling.blocks import SHORTEST_WAIT_S
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, committed, produce, read_all
from tests.stages.hurried import MODULE, hurried
from tests.stages.plain import encoded, interaction
from tests.stages.process import MonitorProcess, outcomes, total, until
from tests.stages.topics import MakeTopics

TIMES, BLOCK = 60.0, 32


async def test_a_lone_interaction_is_judged_and_committed_without_another(
    kafka_broker: RunningBroker, make_topics: MakeTopics, tmp_path: Path
) -> None:
    """Not at once: after T; then the next few, on one more partition, of which two stay idle."""
    broker, topics = kafka_broker.bootstrap, await make_topics(4)
    inputs, group = topics["kafka__topics__interactions"], topics["kafka__group_id"]

    async def records() -> list[ScoreRecord]:
        read = await read_all(broker, topics["kafka__topics__scores"])
        return [read_score_record(one.value or b"") for one in read]

    async def watermarks(wanted: dict[int, int]) -> bool:
        found = await committed(broker, group, inputs)
        return {p: mark for p, mark in found.items() if mark} == wanted

    with hurried(TIMES):
        scorer = MonitorProcess(
            "score", broker, tmp_path, "scorer", module=MODULE, sampling__block=BLOCK, **topics
        )
    try:
        await scorer.ready()
        await produce(broker, inputs, [Record(encoded(interaction("lone")), partition=1)])
        await until(lambda: watermarks({1: 1}), "the commit of the lone one")
        (lone,) = await records()
        # With the others of its block on one partition, alone of its block on the other.
        more = [Record(encoded(interaction(f"i{n}")), partition=p) for n, p in enumerate([1, 1, 2])]
        await produce(broker, inputs, more)
        await until(lambda: watermarks({1: 3, 2: 1}), "the commit of all")
        page = await scorer.metrics()
    finally:
        await scorer.end()
    assert lone.sampling.m == 1
    waited_s = lone.judged_at.timestamp() - lone.event_time.timestamp()
    assert waited_s >= SHORTEST_WAIT_S / TIMES, "it has not waited for others"
    slots = sorted((s.source.partition, s.sampling.m) for s in await records())
    assert slots == [(1, 1), (1, 2), (2, 1)]
    assert outcomes(page) == {"scored": 3, "not_sampled": 1}
    assert total(page, "rag_monitor_interactions_in_flight") == 0
