"""Liveness: what is stuck by our own doing is noticed, and what is away is not our doing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.ingest.consumer.assignment import PartitionState
from monitor.ingest.consumer.liveness import Liveness, LivenessLimits, LoopActivity
from monitor.runtime.health import Health
from tests.stages.loop import A, B, Told

FINE = LoopActivity(
    now=0.0, polled_at=0.0, assigned=(), paused=(), draining=False, in_flight=0, ended=0
)


class Hour:
    """An hour in steps of a second, in which the loop looks as ``seen`` says."""

    def __init__(self) -> None:
        self.now = 0.0
        self.consumer, self.health = Told(), Health(lambda: self.now)
        self._liveness = Liveness(self.consumer, self.health, "t", LivenessLimits(1.0, 1_200.0))
        self.committed: str | None = "ok"

    async def passes(
        self, seen: LoopActivity, *, polls: bool = True, seconds: int = 3_600
    ) -> list[str]:
        """The loops that are stuck at its end."""
        for _ in range(seconds):
            self.now += 1
            if polls:
                seen = replace(seen, polled_at=self.now)
                self.health.beat("consumer", needs="kafka")
            await self._liveness.look(replace(seen, now=self.now), self.committed)
        return sorted(self.health.stuck)


async def test_a_loop_that_comes_round_is_not_stuck() -> None:
    """With or without partitions, traffic or work."""
    assert await Hour().passes(FINE) == []


async def test_a_poll_that_never_returns_though_the_group_answers() -> None:
    """The client has lost itself: only a restart helps."""
    hour = Hour()
    await hour.passes(FINE, seconds=5)
    assert await hour.passes(replace(FINE, polled_at=5.0), polls=False) == ["consumer"]


async def test_a_poll_that_waits_for_the_broker_or_for_other_members() -> None:
    """Neither answers while it lasts: that is nobody's fault here."""
    hour = Hour()
    await hour.passes(FINE, seconds=5)
    hour.consumer.answers = False
    assert await hour.passes(replace(FINE, polled_at=5.0), polls=False) == []
    hour.consumer.answers = True
    assert await hour.passes(replace(FINE, polled_at=5.0), polls=False, seconds=50) == []


async def test_a_poll_that_waits_for_our_own_drain() -> None:
    """It is bounded by itself."""
    hour, draining = Hour(), replace(FINE, draining=True)
    assert await hour.passes(draining, polls=False, seconds=600) == []


@pytest.mark.parametrize(
    ("result", "stuck"),
    [("ok", []), (None, []), ("timeout", []), ("error", []), ("rebalance", ["commits"])],
)
async def test_commits_that_are_refused_for_ever(result: str | None, stuck: list[str]) -> None:
    """«A rebalance», while polls return and nothing is revoked: nobody joins again."""
    hour = Hour()
    await hour.passes(FINE, seconds=5)
    hour.committed = result
    assert await hour.passes(FINE) == stuck


async def test_commits_that_are_refused_during_a_rebalance() -> None:
    """Polls wait for it, too."""
    hour = Hour()
    hour.consumer.answers, hour.committed = False, "rebalance"
    assert await hour.passes(FINE, polls=False) == []


async def test_a_position_that_stands_still_though_there_is_more() -> None:
    """As the partition's leader says, so it is there: the fetching has died."""
    hour, seen = Hour(), replace(FINE, assigned=[PartitionState(A), PartitionState(B)])
    hour.consumer.positions_found = {A: (5, 5), B: (7, 9)}
    assert await hour.passes(seen) == ["reading"]


async def test_a_position_that_moves_or_has_nothing_before_it() -> None:
    """However slowly it moves, and however far behind it is."""
    hour, seen = Hour(), replace(FINE, assigned=[PartitionState(A), PartitionState(B)])
    for step in range(60):
        hour.consumer.positions_found = {A: (5, 5), B: (step, 9_000)}
        assert await hour.passes(seen, seconds=30) == []


async def test_a_position_of_a_paused_partition_or_of_a_leader_that_is_away() -> None:
    """Both stand still for good reasons."""
    hour, seen = Hour(), replace(FINE, assigned=[PartitionState(A), PartitionState(B)], paused=[A])
    hour.consumer.positions_found = {A: (7, 9)}
    assert await hour.passes(seen) == []


async def test_work_of_which_nothing_ends() -> None:
    """Past its patience; not while it is known what is waited for, nor while some ends."""
    hour, seen = Hour(), replace(FINE, in_flight=8)
    for ended in range(6):
        assert await hour.passes(replace(seen, ended=ended), seconds=1_000) == []
    hour.health.waits("producer", "topic scores: KafkaTimeoutError")
    assert await hour.passes(replace(seen, ended=5)) == []
    hour.health.ready("producer")
    assert await hour.passes(replace(seen, ended=5), seconds=1_000) == []
    limited = replace(seen, ended=5, waits_for_limits=True)
    assert await hour.passes(limited) == []
    assert await hour.passes(replace(seen, ended=5), seconds=1_000) == []
    assert await hour.passes(replace(seen, ended=5), seconds=1_000) == ["work"]


async def test_nothing_is_stuck_while_the_pulse_says_that_the_broker_is_away() -> None:
    """Whoever watches the broker may say so: then nothing that needs it is expected."""
    hour, seen = Hour(), replace(FINE, assigned=[PartitionState(A)], in_flight=8)
    hour.consumer.positions_found = {A: (7, 9)}
    assert await hour.passes(seen) == ["reading", "work"]
    hour.health.answers("kafka", False)
    assert await hour.passes(seen) == []
