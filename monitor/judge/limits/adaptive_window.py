"""How many judgements a provider bears at once: found out by trying. Pure."""

from __future__ import annotations

import math

FIRST = 4


class AdaptiveConcurrency:
    """Additive increase, multiplicative decrease (Chiu and Jain, 1989), in judgements at once.

    It begins small and grows by one with every reply; after the first refusal by one in a round of
    replies. Only what is used grows. A refusal halves it, and those of calls made before that are
    of the same crowd. Whoever has been away or has refused all is asked by few again, at first, and
    soon by as many as before. Times are monotonic seconds.
    """

    def __init__(self, first: int = FIRST) -> None:
        self._first, self._size = first, float(first)
        #: From here on it grows slowly.
        self._borne = math.inf
        self._cut_at = self._since = -math.inf

    @property
    def size(self) -> int:
        """Judgements at once, at least one."""
        return int(self._size)

    def worked(self, under_way: int, began: float) -> None:
        """A call made at ``began`` was answered while so many judgements were under way."""
        if began >= self._since and under_way >= self.size:
            self._size += 1.0 if self._size < self._borne else 1.0 / self._size

    def refused(self, began: float, now: float) -> None:
        """A call made at ``began`` was turned away at ``now``."""
        if began >= self._cut_at:
            self._size = self._borne = max(1.0, self._size / 2)
            self._cut_at = now

    def begin_again(self, now: float) -> None:
        """As at first; replies to calls made before ``now`` let it grow no more."""
        if self._borne < math.inf:
            self._borne = max(self._borne, self._size)
        self._size, self._since = min(self._size, self._first), now
