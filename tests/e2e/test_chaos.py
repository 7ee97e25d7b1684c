"""Scorers and a broker killed at random moments: nothing lost, nothing counted twice.

The long form, with 20,000 interactions and 55 strikes, is ``tests/benchmarks/chaos.py``.
"""

from __future__ import annotations

from pathlib import Path

from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, missing_kafka
from tests.stages.chaos.acts import chaos
from tests.stages.chaos.run import Setup, run
from tests.stages.chaos.strikes import Blows, Kind
from tests.stages.hurried import MODULE, hurried
from tests.tools import requires_tool


async def test_chaos_loses_nothing_and_counts_everything_once(tmp_path: Path) -> None:
    """After 11 strikes every interaction has its record, and every gauge counts it once.

    In every scrape meanwhile consumed = outcomes + in flight, and each SIGTERM ends with code 0.
    """
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    blows = Blows(kills=6, terms=4, broker_kills=1, broker_stops=0, bursts=4, spread_s=6)
    figures = await run(Setup(3_000, seed=1), tmp_path, lambda stage: chaos(stage, blows))
    print(figures)
    assert figures.faults() == []
    assert figures.struck == {Kind.KILL: 6, Kind.TERM: 4, Kind.BROKER_KILL: 1}


async def test_chaos_with_blocks_counts_every_offset_once(tmp_path: Path) -> None:
    """Whoever reads takes blocks of another length every two seconds, and may die in any of them.

    No offset below the watermark is in two counted slots, or in none; m is what stands in the slot,
    estimates are near the truth, and in every scrape the counts are even. One overlap drops up to
    32 offsets: 1 in 100 of a run this short, where the long one holds to 1 in 1,000.
    """
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    blows = Blows(kills=4, terms=3, broker_kills=1, broker_stops=0, bursts=3, spread_s=6)
    setup = Setup(3_000, seed=3, module=MODULE, blocks=(32,), most_dropped=0.011)
    with hurried(lengths=(16, 32, 64)):
        figures = await run(setup, tmp_path, lambda stage: chaos(stage, blows))
    print(figures)
    assert figures.faults() == []
    assert figures.slots is not None
    assert figures.slots.counted < 400


async def test_chaos_with_spans_counts_every_trace_once(tmp_path: Path) -> None:
    """Of 20 kills most strike in the midst of traces; each is judged whole, and counted once.

    Who dies may leave a part of a trace to the next owner, who judges that: it must not count.
    """
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    blows = Blows(kills=20, terms=4, broker_kills=1, broker_stops=0, bursts=6, spread_s=6)
    settings = {
        "ingest__format": "otlp_json",
        "ingest__trace_quiet_s": 1.0,
        "ingest__trace_wait_s": 10.0,
    }
    setup = Setup(3_000, seed=5, settings=settings, spans=True)
    figures = await run(setup, tmp_path, lambda stage: chaos(stage, blows))
    print(figures)
    assert figures.faults() == []
    assert figures.struck == {Kind.KILL: 20, Kind.TERM: 4, Kind.BROKER_KILL: 1}


async def test_the_same_harness_catches_a_scorer_that_commits_its_position(tmp_path: Path) -> None:
    """Killed in the same way, a scorer that commits how far it has read loses records.

    The judge takes its time, so that a hundred records are read, committed and not yet judged when
    a kill comes.
    """
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    blows = Blows(kills=2, terms=1, broker_kills=0, broker_stops=0, bursts=2, spread_s=4)
    naive = Setup(450, seed=2, judge_latency_s=0.3, module="tests.stages.chaos.naive")
    figures = await run(naive, tmp_path, lambda stage: chaos(stage, blows))
    print(figures)
    assert figures.topic.lost
    assert any(fault.startswith("lost") for fault in figures.faults())
