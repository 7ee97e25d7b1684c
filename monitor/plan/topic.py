"""What the real traffic is like: read without a group, and nothing is committed or asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from monitor.app.inspection import TrafficAccess
from monitor.errors import TooLarge
from monitor.ingest.formats.gathered import Gathering
from monitor.judge.llm.dry_run import DryRunJudge
from monitor.kafka import one_shot
from monitor.kafka.record import KafkaRecord
from monitor.plan.plan import Takes
from monitor.records import Interaction, Usage
from monitor.scorer.judging import judge_input

#: Interactions that a judgement is rehearsed for: the mean of more would hardly be another one.
MOST_DRY_RUN: Final = 200
#: Kept of a topic while it is read: every nth, and n doubles when there are too many.
_MOST_KEPT: Final = 2 * MOST_DRY_RUN


class MeasuredTraffic(NamedTuple):
    """Interactions a minute that filters let through, and what a judgement of them takes."""

    per_minute: float
    takes: Takes


class Thinned:
    """Evenly spread over what comes, at most 400, however much that is."""

    def __init__(self) -> None:
        self.kept: list[Interaction] = []
        self.count, self._every = 0, 1

    def add(self, interaction: Interaction) -> None:
        """One more."""
        if self.count % self._every == 0:
            self.kept.append(interaction)
        self.count += 1
        if len(self.kept) > _MOST_KEPT:
            self.kept, self._every = self.kept[::2], 2 * self._every


async def measured(access: TrafficAccess, now: float, minutes: float) -> MeasuredTraffic | None:
    """The last ``minutes`` of the topics, by the broker's time; ``now`` is epoch seconds.

    None where nothing was sent in them that could be judged. Raises ``DependencyRefused``.
    """
    seen = await _read(access, now, minutes)
    if not seen.count:
        return None
    return MeasuredTraffic(seen.count / minutes, await _takes(access.judge, seen.kept))


async def _read(access: TrafficAccess, now: float, minutes: float) -> Thinned:
    seen, start_ms = Thinned(), int((now - 60 * minutes) * 1000)
    scan = await one_shot.scan(access.inputs, access.health, access.limit_s)
    gathering = Gathering(access.formats)

    def see(records: Iterable[KafkaRecord]) -> None:
        for found in map(access.formats.interaction_of, records):
            if found is not None and access.let_through.against(found) is None:
                seen.add(found)

    try:
        for topic in access.interactions:
            async for record in scan.records(topic, start_ms=start_ms, strictly=True):
                if record.timestamp >= start_ms:
                    await access.formats.prepare([record])
                    see(gathering.add(record))
    finally:
        await scan.stop()
    see(gathering.finish())
    return seen


async def _takes(judge: DryRunJudge | None, kept: Sequence[Interaction]) -> Takes:
    if judge is None:
        return Takes(0.0, 0.0, 0.0, 0.0, "the offline judge costs nothing")
    chosen = kept[:: math.ceil(len(kept) / MOST_DRY_RUN)]
    total, too_large = Usage(), 0
    for interaction in chosen:
        try:
            total += (await judge.judge(judge_input(interaction))).usage
        except TooLarge as error:  # what was asked before that was known is paid for
            total += error.usage or Usage()
            too_large += 1
    n = len(chosen)
    return Takes(
        total.calls / n,
        total.prompt_tokens / n,
        total.completion_tokens / n,
        total.usd / n,
        f"estimated from {n} interactions of the topic",
        too_large / n,
    )
