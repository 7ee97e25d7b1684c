"""Rolling sums over event time: buckets aligned to the epoch, and running totals per window.

What a window holds depends on the slots added and on ``now`` only, never on their order.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Final

from monitor.errors import ConfigurationError
from monitor.stats.dependence import Dependence
from monitor.stats.sums import ENOUGH_SCORED, ZERO, Sums, added_up

_FINE_BELOW_S: Final = 300
#: So many buckets may wait: a reader then never has to settle a whole replay at once.
_MOST_WAITING: Final = 32
_STAMPS = itertools.count()


def new_stamp() -> int:
    """A number that no call has given before: equal stamps mean that nothing has changed."""
    return next(_STAMPS)


def bucket_seconds(windows_s: Iterable[int]) -> int:
    """One minute, or one second when a window is shorter than five minutes.

    >>> bucket_seconds([300, 3_600]), bucket_seconds([15, 3_600])
    (60, 1)
    """
    return 1 if min(windows_s, default=_FINE_BELOW_S) < _FINE_BELOW_S else 60


class RollingSums:
    """The sums of one series over several windows, each a running total.

    A window of w buckets is the current one and the w − 1 before it. Slots later than the current
    bucket are held back until ``advance`` reaches them: before its first call all windows are
    empty.

    >>> from monitor.stats.sums import SCALE, terms
    >>> slot = terms(m=1, q=1.0, u=1.0, f_mean=0.0, f=0.0, value_as_worse=0.5, failed=False)
    >>> rolling = RollingSums(60, {"5m": 300, "1h": 3_600})
    >>> rolling.add(30.0, slot, +1)
    >>> rolling.advance(299.9)
    >>> rolling.window("5m").scored, rolling.window("1h").wg / SCALE
    (1, 0.5)
    >>> rolling.advance(300.0)
    >>> rolling.window("5m").scored, rolling.window("1h").scored
    (0, 1)
    """

    def __init__(self, bucket_s: int, windows: Mapping[str, int]) -> None:
        for name, seconds in windows.items():
            if seconds <= 0 or seconds % bucket_s:
                raise ConfigurationError(
                    f"window {name}: {seconds} s is not a whole number of {bucket_s} s buckets"
                )
        by_length = sorted(windows.items(), key=lambda item: item[1])
        self._bucket_s = bucket_s
        self._index = {name: i for i, (name, _) in enumerate(by_length)}
        self._lengths = [seconds // bucket_s for _, seconds in by_length]
        #: What each window holds beyond the next shorter one; the last: what no window holds.
        self._rings = [ZERO] * (len(by_length) + 1)
        self._buckets: dict[int, Sums] = {}
        self._waiting: dict[int, Sums] = {}
        self._current = -1
        self._oldest = 0
        self._stamp = new_stamp()
        self._dependence = Dependence(bucket_s)
        #: V, and as of which stamp.
        self._known_dependence = -1, 1.0

    def add(self, event_time: float, sums: Sums, sign: int) -> None:
        """Add (+1) or take away (−1) a slot at its event time in seconds since the epoch.

        A slot in a bucket that was dropped is ignored, whether it comes or goes.
        """
        bucket = math.floor(event_time) // self._bucket_s
        if bucket < self._oldest:
            return
        change = sums if sign > 0 else ZERO.minus(sums)
        waiting = self._waiting.get(bucket)
        self._waiting[bucket] = change if waiting is None else waiting.plus(change)
        if len(self._waiting) > _MOST_WAITING:
            self._settle()

    def advance(self, now: float) -> None:
        """Let the windows end with the bucket of ``now``; a step back is followed too."""
        bucket = self._bucket(now)
        if bucket == self._current:
            return
        self._settle()
        steps, self._current = bucket - self._current, bucket
        if 0 < steps <= len(self._buckets):
            for entering in range(bucket - steps + 1, bucket + 1):
                self._step(entering)
        else:
            edges = [bucket + 1, *(bucket + 1 - n for n in self._lengths), self._oldest]
            self._rings = [self._sum(first, beyond) for beyond, first in itertools.pairwise(edges)]
            self._stamp = new_stamp()

    def window(self, name: str) -> Sums:
        """The sums of a window, by its name."""
        self._settle()
        return added_up(self._rings[: self._index[name] + 1])

    def horizon(self) -> Sums:
        """The sums of everything that was not dropped, up to the current bucket."""
        self._settle()
        return added_up(self._rings)

    def dependence(self) -> float:
        """V of everything that was not dropped; 1 while there are too few scored slots to tell."""
        self._settle()
        if self._known_dependence[0] != self._stamp:
            horizon, found = self.horizon(), 1.0
            if horizon.scored >= ENOUGH_SCORED and horizon.wh > 0:
                theta = horizon.wg / horizon.wh
                found = self._dependence.of(self._buckets, horizon.scored, self._current, theta)
            self._known_dependence = self._stamp, found
        return self._known_dependence[1]

    @property
    def stamp(self) -> int:
        """Another one after every change of a window or the horizon; no two series share one."""
        self._settle()
        return self._stamp

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held, not even ahead of the current bucket."""
        self._settle()  # what waits may come to nothing: a slot that came and went again
        return not self._buckets

    def between(self, start: float, end: float) -> Sums:
        """The sums of the buckets that begin in [start, end), in seconds since the epoch."""
        self._settle()
        first, beyond = (-(-math.ceil(time) // self._bucket_s) for time in (start, end))
        return self._sum(first, beyond)

    def drop_before(self, epoch_s: float) -> None:
        """Forget the buckets that end at or before this time; the limit never moves back."""
        oldest = max(self._oldest, self._bucket(epoch_s))
        if oldest == self._oldest:
            return
        self._settle()
        if oldest - self._oldest < len(self._buckets):
            gone = [b for b in range(self._oldest, oldest) if b in self._buckets]
        else:
            gone = [bucket for bucket in self._buckets if bucket < oldest]
        self._oldest = oldest
        if not gone:
            return
        self._stamp = new_stamp()
        # What no window holds is added up again: at the end of a period next to nothing is left.
        edge = self._current + 1 - max(self._lengths, default=0)
        for bucket in gone:
            change = self._buckets.pop(bucket)
            self._dependence.changed(bucket)
            if bucket >= edge:
                self._count(bucket, ZERO.minus(change))
        self._rings[-1] = self._sum(oldest, edge)

    def _settle(self) -> None:
        """Let what was added reach the buckets and windows, once per bucket and not per slot."""
        if not self._waiting:
            return
        for bucket, change in self._waiting.items():
            before = self._buckets.get(bucket)
            held = change if before is None else before.plus(change)
            if held == ZERO:
                self._buckets.pop(bucket, None)
            else:
                self._buckets[bucket] = held
            self._count(bucket, change)
            self._dependence.changed(bucket)
        self._waiting.clear()

    def _bucket(self, epoch_s: float) -> int:
        return math.floor(epoch_s) // self._bucket_s

    def _ring(self, bucket: int) -> int:
        """The ring that holds a bucket; −1 when it lies ahead."""
        age = self._current - bucket
        return -1 if age < 0 else bisect_right(self._lengths, age)

    def _count(self, bucket: int, change: Sums) -> None:
        """Let a change of one bucket reach its ring."""
        ring = self._ring(bucket)
        if ring >= 0:
            self._rings[ring] = self._rings[ring].plus(change)
            self._stamp = new_stamp()

    def _step(self, entering: int) -> None:
        """Move every window on by one bucket."""
        new = self._buckets.get(entering)
        if new is not None:
            self._rings[0] = self._rings[0].plus(new)
            self._stamp = new_stamp()
        for i, length in enumerate(self._lengths):
            left = self._buckets.get(entering - length)
            if left is not None:
                self._rings[i] = self._rings[i].minus(left)
                self._rings[i + 1] = self._rings[i + 1].plus(left)
                self._stamp = new_stamp()

    def _sum(self, first: int, beyond: int) -> Sums:
        """The sums of the buckets first … beyond − 1, by whichever side is shorter."""
        if beyond - first < len(self._buckets):
            held = [self._buckets[b] for b in range(first, beyond) if b in self._buckets]
        else:
            held = [sums for bucket, sums in self._buckets.items() if first <= bucket < beyond]
        return added_up(held)
