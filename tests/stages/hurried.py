"""A scorer whose blocks live faster than its clock, or are never of one length for long.

``python -m tests.stages.hurried score`` takes the settings of ``rag-monitor score``, and from the
environment: ``BLOCKS_TIMES``, how many seconds pass for blocks and their pace in one; and
``BLOCKS_LENGTHS`` (``8,32,64``) and ``BLOCKS_SHARES`` (``0.3,1.0``), of which it takes others
every two seconds. It is the product but for what time it is there, and who sets the plan.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

from monitor.__main__ import main
from monitor.app.process import Monitor
from monitor.app.score_role import ScoreRole
from monitor.sampling.blocks import BlockPlan
from monitor.sampling.meters import Meters
from monitor.sampling.pace import Pace
from monitor.sampling.slot_buffer import SlotBuffer
from monitor.scorer.picking import Member
from monitor.scorer.slots import Slots
from tests.stages.altered import serve

#: Of the environment; the monitor itself would take one with its own prefix for a setting.
TIMES, LENGTHS, SHARES = "BLOCKS_TIMES", "BLOCKS_LENGTHS", "BLOCKS_SHARES"
MODULE = "tests.stages.hurried"
EVERY_S = 2.0


@contextmanager
def hurried(
    times: float = 1.0, lengths: Sequence[int] = (), shares: Sequence[float] = ()
) -> Iterator[None]:
    """For the processes that start meanwhile."""
    told = {
        TIMES: str(times),
        LENGTHS: ",".join(map(str, lengths)),
        SHARES: ",".join(map(str, shares)),
    }
    os.environ.update(told)
    try:
        yield
    finally:
        for name in told:
            del os.environ[name]


class HurriedRole(ScoreRole):
    """The scorer's, with other blocks."""

    def _blocks(self, *parts: Any) -> Slots | None:
        blocks = super()._blocks(*parts)
        if blocks is None:
            raise RuntimeError("sampling.block: without blocks there is nothing to hurry")
        return _hurried(blocks, float(os.environ[TIMES]))


class HurriedMonitor(Monitor):
    """The composition of the product with another scorer."""

    score_role = HurriedRole


def _hurried(blocks: Slots, times: float) -> Slots:
    lengths = [int(each) for each in os.environ[LENGTHS].split(",") if each]
    shares = [float(each) for each in os.environ[SHARES].split(",") if each]

    def now() -> float:
        return times * time.monotonic()

    slot_buffer = SlotBuffer[Member](_Restless(blocks.pace, lengths, shares), now)
    return replace(
        blocks, slot_buffer=slot_buffer, meters=_Slower(blocks.meters, times), monotonic=now
    )


class _Restless:
    """Another plan every few seconds."""

    def __init__(self, pace: Pace, lengths: Sequence[int], shares: Sequence[float]) -> None:
        self._pace, self._lengths, self._shares = pace, lengths, shares

    @property
    def plan(self) -> BlockPlan:
        """Of the lengths and shares, any; the pace's own where there are none."""
        chance = Random(f"{os.getpid()}/{int(time.monotonic() / EVERY_S)}")
        length, share = self._pace.plan
        return BlockPlan(
            chance.choice(self._lengths) if self._lengths else length,
            chance.choice(self._shares) if self._shares else share,
        )


class _Slower(Meters):
    """In one of the faster minutes there is room for fewer judgements."""

    def __init__(self, meters: Meters, times: float) -> None:
        super().__init__([])
        self._whole, self._times = meters, times

    def judged(self) -> None:
        """One more judgement has ended."""
        self._whole.judged()

    def affordable(self, share: float) -> float | None:
        """Judgements in a faster minute."""
        found = self._whole.affordable(share)
        return None if found is None else found / self._times


def score() -> None:
    """Run it until a signal ends it."""
    serve(HurriedMonitor, ["score"])


if __name__ == "__main__":
    main(score)
