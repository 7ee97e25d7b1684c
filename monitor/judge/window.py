"""How many judgements a provider bears at once: found out by trying. Pure."""

from __future__ import annotations

FIRST = 4


class Window:
    """Additive increase, multiplicative decrease (Chiu and Jain, 1989), in judgements at once.

    It begins small and grows by one with every reply; after the first refusal by one in a round of
    replies. Only what is used grows. A refusal halves it, and those of calls made before that are
    of the same crowd.
    """

    def __init__(self, first: int = FIRST) -> None:
        self._size = float(first)
        self._was_cut = False
        self._cut_at = float("-inf")

    @property
    def size(self) -> int:
        """Judgements at once, at least one."""
        return int(self._size)

    def worked(self, under_way: int) -> None:
        """A call was answered while so many judgements were under way."""
        if under_way >= self.size:
            self._size += 1.0 / self._size if self._was_cut else 1.0

    def refused(self, began: float, now: float) -> None:
        """A call made at ``began`` was turned away at ``now`` (monotonic seconds)."""
        if began >= self._cut_at:
            self._size = max(1.0, self._size / 2)
            self._was_cut, self._cut_at = True, now
