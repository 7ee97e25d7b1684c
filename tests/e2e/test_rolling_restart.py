"""Three scorers restarted one after the other under steady traffic, as a deployment does it."""

from __future__ import annotations

from pathlib import Path

from tests.servers.kafka_broker import HOW_TO_GET_KAFKA, missing_kafka
from tests.stages.chaos.acts import rolling_restart
from tests.stages.chaos.run import Setup, run
from tests.tools import requires_tool

MOST_JUDGED_TWICE = 0.01


async def test_a_rolling_restart_loses_nothing_and_judges_next_to_nothing_twice(
    tmp_path: Path,
) -> None:
    """Twice round: no interaction lost, at most 1 % judged twice, every exit code 0."""
    requires_tool("kafka", missing_kafka(), HOW_TO_GET_KAFKA)
    # Nobody is killed: who stands still on a busy machine keeps its partitions.
    stays = {"kafka__session_timeout_s": 120.0}
    setup = Setup(4_000, seed=3, judge_latency_s=0.3, settings=stays)
    figures = await run(
        setup, tmp_path, lambda stage: rolling_restart(stage, rounds=2, per_second=10)
    )
    print(figures)
    assert figures.faults() == []
    assert figures.topic.judged_again <= MOST_JUDGED_TWICE * figures.interactions
    assert len(figures.ends.exits) == 2 * 3 + 3
