"""The circuit: nearly everything fails, so reading on would only fill the dead letter topic.

Counted are records that were decoded or dead-lettered, over a sliding window of time. Open, it lets
a few records through now and then, with growing waits; as soon as they show that not nearly
everything fails, it closes. A wrong format on a whole topic opens it; a poisonous minority does
not.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import NamedTuple

_BUCKETS = 12


class CircuitLimits(NamedTuple):
    """``share`` of failures among at least ``least`` records in ``window_s`` seconds opens it.

    A share of 0 switches it off. ``probe`` failed records end a probe; the next one begins after
    ``wait_s`` seconds, then twice that, up to ``longest_wait_s``.
    """

    share: float = 0.95
    least: int = 100
    window_s: float = 60.0
    probe: int = 20
    wait_s: float = 1.0
    longest_wait_s: float = 30.0


@dataclass
class _Bucket:
    since: float
    fine: int = 0
    failed: int = 0
    causes: Counter[str] = field(default_factory=Counter)


class Circuit:
    """Times are monotonic seconds; ``roll`` must be called every second or so.

    >>> circuit = Circuit(CircuitLimits(share=0.5, least=4, probe=3), now=0.0)
    >>> for _ in range(4): circuit.failed("invalid_json")
    >>> circuit.is_open, circuit.room
    (True, 0)
    >>> circuit.roll(1.0); circuit.room
    3
    >>> circuit.fine(); circuit.fine(); circuit.is_open
    False
    """

    def __init__(self, limits: CircuitLimits, now: float) -> None:
        self._limits = limits
        self._now = now
        self._buckets = deque([_Bucket(now)])
        self._open = self._probing = False
        self._wait_s, self._probe_at, self._closed_at = limits.wait_s, now, -math.inf
        self._fine = self._failed = 0  # of this probe
        self.counts = (0, 0)
        self.cause = ""

    @property
    def is_open(self) -> bool:
        """Whether reading has to stop, but for probes; ``cause`` and ``counts`` say why.

        ``counts`` are the failed and all records of the window when it opened.
        """
        return self._open

    @property
    def room(self) -> int | None:
        """How many records may be taken now; None without a bound."""
        if not self._open:
            return None
        return max(0, self._limits.probe - self._fine - self._failed) if self._probing else 0

    @property
    def wait_s(self) -> float:
        """Seconds from the end of the last probe to the next one."""
        return self._wait_s

    def roll(self, now: float) -> None:
        """Time passes: old counts leave the window, a probe begins."""
        self._now = now
        if now - self._buckets[-1].since >= self._limits.window_s / _BUCKETS:
            self._buckets.append(_Bucket(now))
            while now - self._buckets[0].since > self._limits.window_s:
                self._buckets.popleft()
        if self._open and not self._probing and now >= self._probe_at:
            self._probing, self._fine, self._failed = True, 0, 0

    def fine(self, count: int = 1) -> None:
        """``count`` records could be decoded."""
        self._buckets[-1].fine += count
        if self._probing:
            self._fine += count
            self._decide()

    def failed(self, cause: str, *, was_fine: bool = False) -> None:
        """A record becomes a dead letter; ``was_fine`` takes back that it could be decoded."""
        bucket = self._buckets[-1]
        bucket.failed += 1
        bucket.causes[cause] += 1
        bucket.fine -= was_fine
        if self._probing:
            self._failed += 1
            self._fine -= was_fine
            self._decide()
        elif not self._open and self._limits.share > 0:
            self._judge()

    def _judge(self) -> None:
        failed = sum(bucket.failed for bucket in self._buckets)
        fine = max(0, sum(bucket.fine for bucket in self._buckets))
        if failed + fine < self._limits.least or not self._many(failed, fine):
            return
        causes: Counter[str] = Counter()
        for bucket in self._buckets:
            causes.update(bucket.causes)
        self.cause, self.counts = causes.most_common(1)[0][0], (failed, failed + fine)
        self._open = True
        # What closed a moment ago by a lucky probe goes on with its longer waits.
        lately = self._now - self._closed_at < self._limits.window_s
        self._wait(2 * self._wait_s if lately else self._limits.wait_s)

    def _decide(self) -> None:
        """Close as soon as the probe can no longer say that nearly everything fails."""
        if not self._many(self._limits.probe - self._fine, self._fine):
            self._open = self._probing = False
            self._closed_at = self._now
            self._buckets = deque([_Bucket(self._now)])
        elif self._fine + self._failed >= self._limits.probe:
            self._wait(2 * self._wait_s)

    def _wait(self, seconds: float) -> None:
        self._probing = False
        self._wait_s = min(seconds, self._limits.longest_wait_s)
        self._probe_at = self._now + self._wait_s

    def _many(self, failed: int, fine: int) -> bool:
        return failed >= self._limits.share * (failed + fine)
