"""A pace that nothing moves."""

from __future__ import annotations

from typing import NamedTuple

from monitor.sampling.blocks import BlockPlan


class FixedPace(NamedTuple):
    """Blocks are always as ``plan`` says."""

    plan: BlockPlan
