"""A scorer that commits its position instead of the watermark: what it must not do.

``python -m tests.stages.chaos.naive score`` takes the settings of ``rag-monitor score``. It is the
product but for one method: it commits how far it has read, as auto-commit does, and not how far
all work is done. The harness must catch it losing records, or the harness proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from monitor.__main__ import main
from monitor.app.process import Monitor
from monitor.app.score_role import ScoreRole
from monitor.kafka.group import GroupConsumer
from monitor.kafka.record import Partition
from tests.stages.altered import serve


class PositionConsumer(GroupConsumer):
    """Commits where the next read begins."""

    async def commit(self, offsets: Mapping[Partition, int]) -> str:
        """The offsets given are left alone, and only say which partitions are meant."""
        positions = await self.positions(list(offsets))
        if not positions:  # the broker is away
            return "error"
        return await super().commit({p: position for p, (position, _) in positions.items()})


class NaiveRole(ScoreRole):
    """The scorer's, with another member of the group."""

    member = PositionConsumer


class NaiveMonitor(Monitor):
    """The composition of the product with another scorer."""

    score_role = NaiveRole


def score() -> None:
    """Run it until a signal ends it."""
    serve(NaiveMonitor, ["score"])


if __name__ == "__main__":
    main(score)
