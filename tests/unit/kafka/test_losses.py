"""What readers have missed is counted by topic, whoever comes to count when."""

from __future__ import annotations

from collections import Counter

from monitor.kafka.losses import Losses
from monitor.kafka.record import Partition


def test_losses_and_beginnings_are_counted_apart() -> None:
    """Every topic that is read is there with 0, for those who count later, too."""
    losses, early, late = (
        Losses(),
        (Counter[str](), Counter[str]()),
        (Counter[str](), Counter[str]()),
    )

    def into(lost: Counter[str], back: Counter[str]) -> None:
        losses.counted_by(
            lambda topic, number: lost.update({topic: number}),
            lambda topic, number: back.update({topic: number}),
        )

    into(*early)
    losses.follows("a")
    losses.follows("a")
    losses.lost(Partition("a", 0), 3, 10)
    losses.went_back(Partition("a", 0), 40, 0)
    losses.went_back(Partition("a", 1), 7, 0)
    into(*late)
    losses.follows("b")
    assert early == late == ({"a": 7, "b": 0}, {"a": 2, "b": 0})
