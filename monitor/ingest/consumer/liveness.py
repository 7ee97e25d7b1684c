"""Is the consuming loop stuck by its own doing? Never because a broker, a group or a judge is away.

Four loops beat in ``Health``: ``consumer`` (polls return), ``commits`` (the loop that commits comes
round, and is not refused for ever), ``reading`` (positions move while there is something to read)
and ``work`` (what is under way ends). Where a beat is missing, the broker is asked first.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from monitor.ingest.consumer.assignment import PartitionState
from monitor.kafka.group import GroupConsumer
from monitor.kafka.record import Partition
from monitor.runtime.health import STUCK_AFTER_S, Health

KAFKA = "kafka"
LOOPS = ("consumer", "commits", "reading", "work")
#: A poll that has not returned for so long is looked into.
SLOW_POLL_S = 10.0
#: How often partitions are asked for their ends.
LOOK_S = 10.0
#: A position that stands still for so long, though there is more, makes ``reading`` miss its beats.
STILL_S = 30.0


@dataclass(frozen=True)
class LoopActivity:
    """What the loop does at the moment; ``now`` and ``polled_at`` are monotonic seconds."""

    now: float
    polled_at: float
    assigned: Collection[PartitionState]
    paused: Collection[Partition]
    draining: bool
    in_flight: int
    ended: int
    waits_for_limits: bool = False


class LivenessLimits(NamedTuple):
    """Seconds: between two looks, and for how long nothing of what is under way may end."""

    look_s: float
    work_s: float


class Liveness:
    """Beats for the loops that are fine. Any of the topics that are read stands for the group."""

    def __init__(
        self, consumer: GroupConsumer, health: Health, topic: str, limits: LivenessLimits
    ) -> None:
        self._consumer, self._health, self._topic = consumer, health, topic
        self._limit_s = STUCK_AFTER_S + 2 * limits.look_s
        self._work_limit_s = limits.work_s + 2 * limits.look_s
        self._still: dict[Partition, tuple[int, float]] = {}
        self._looked_at = 0.0
        self._ended = 0
        for loop in LOOPS:  # what never beats is never missed
            self._beat(loop)

    async def look(self, seen: LoopActivity, committed: str | None) -> None:
        """Beat for every loop that is fine; ``committed`` is the result of the last commit."""
        slow = seen.now - seen.polled_at > SLOW_POLL_S
        if slow and (seen.draining or not await self._consumer.group_answers(self._topic)):
            self._beat("consumer")
        # Refused while polls return: nobody joins again. Else a rebalance is going on.
        if slow or seen.draining or committed != "rebalance":
            self._beat("commits")
        if slow:
            self._still.clear()
            self._beat("reading")
        elif seen.now - self._looked_at >= LOOK_S:
            self._looked_at = seen.now
            if await self._reads_on(seen):
                self._beat("reading")
        if self._works_on(seen):
            self._beat("work")

    def finished(self) -> None:
        """Nothing is expected any more."""
        for loop in LOOPS:
            self._health.finished(loop)

    async def _reads_on(self, seen: LoopActivity) -> bool:
        """Whether no partition stands still that has more, as its leader says."""
        asked = [one.partition for one in seen.assigned if one.partition not in seen.paused]
        positions = await self._consumer.positions(asked) if asked else {}
        before, self._still = self._still, {}
        for partition, (position, end) in positions.items():
            if position < end:
                last = before.get(partition)
                moved = last is None or last[0] != position
                self._still[partition] = (position, seen.now if moved or not last else last[1])
        return all(seen.now - since <= STILL_S for _, since in self._still.values())

    def _works_on(self, seen: LoopActivity) -> bool:
        """Whether work ends, or there is none, or we know what it waits for."""
        ended, self._ended = seen.ended != self._ended, seen.ended
        waits = seen.waits_for_limits or bool(self._health.waiting)
        return ended or not seen.in_flight or waits

    def _beat(self, loop: str) -> None:
        limit_s = self._work_limit_s if loop == "work" else self._limit_s
        self._health.beat(loop, needs=KAFKA, limit_s=limit_s)
