"""Where a 429 is waited out: the pause that a provider asks for holds for all its callers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from monitor.judge.limits.deadline import held
from monitor.judge.provider.faults import MAX_RETRY_AFTER_S, CallFailed, Fault

#: A provider may name a day; it is asked again before that.
_LONGEST_PAUSE_S = 900.0
LONGEST_BACKOFF_S = 30.0
_FIRST_PAUSE_S = 0.5


class RetryAfter:
    """Until when nobody asks a model. ``clock`` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float], rng: random.Random) -> None:
        self._clock, self._rng = clock, rng
        self._fault: Fault | None = None
        self._times, self._refused_at = 0, float("-inf")
        #: When the pause ends, or has ended.
        self.until = 0.0

    @property
    def left_s(self) -> float:
        """How long it still takes; 0 or less when nobody has to wait."""
        return self.until - self._clock()

    @property
    def is_too_long(self) -> bool:
        """Whether calls are turned away instead of waiting."""
        return self.left_s > MAX_RETRY_AFTER_S

    async def waited(self) -> None:
        """Wait as long as the provider has asked anybody to; not all come back at once.

        It is a limit like others: the deadline of the judgement stands still. Raises ``CallFailed``
        where it takes too long.
        """
        while (left_s := self.left_s) > 0 and self._fault is not None:
            if self.is_too_long:
                raise CallFailed(self._fault)
            with held(lambda: self.left_s):
                await asyncio.sleep(left_s + self._rng.uniform(0.0, _FIRST_PAUSE_S))

    def worked(self) -> None:
        """A call was answered: the next pause begins short."""
        self._times = 0

    def refused(self, fault: Fault, began: float, now: float) -> None:
        """Pause for all: as asked, else by full jitter under a bound that doubles.

        It doubles once for a crowd of calls that were all made before the first was refused.
        """
        if began >= self._refused_at:
            self._times, self._refused_at = self._times + 1, now
        bound_s = min(LONGEST_BACKOFF_S, _FIRST_PAUSE_S * 2 ** min(self._times, 10))
        asked_s = self._rng.uniform(0.0, bound_s) if fault.wait_s is None else fault.wait_s
        until = now + min(asked_s, _LONGEST_PAUSE_S)
        if until > self.until:
            self.until, self._fault = until, fault
