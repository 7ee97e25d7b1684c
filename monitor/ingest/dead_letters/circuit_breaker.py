"""The circuit: nearly everything fails, so reading on would only fill the dead letter topic.

Counted are records that were decoded or dead-lettered, over a sliding window of time. Open, it lets
a few records through now and then, with growing waits; as soon as they show that not nearly
everything fails, it closes. A wrong format on a whole topic opens it; a poisonous minority does
not.

Where records are sampled by their id, most are dropped when no more than the id has been read.
Records without a readable id are all tried, so a share among all that were read counts for them.
What fails later, a missing field or a bug, would have failed in the dropped ones as well: those are
taken to fare as the decoded ones did.
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
    """``glimpsed``: dropped when only the id was read; ``unread``: failed without a readable id."""

    since: float
    fine: int = 0
    failed: int = 0
    unread: int = 0
    glimpsed: int = 0
    causes: Counter[str] = field(default_factory=Counter)

    def add(self, other: _Bucket) -> None:
        self.fine += other.fine
        self.failed += other.failed
        self.unread += other.unread
        self.glimpsed += other.glimpsed

    def estimated(self) -> tuple[float, float]:
        """How many of all have failed or would have, and how many are fine or would be."""
        tried = self.failed - self.unread + self.fine
        each = 1 + self.glimpsed / tried if tried else 1.0
        return self.unread + (self.failed - self.unread) * each, self.fine * each


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
        self._probe = _Bucket(now)
        self._ids_tell = True
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
        return self._left if self._probing else 0

    @property
    def is_probing(self) -> bool:
        """Whether a few are tried just now."""
        return self._probing

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
            self._probing, self._probe = True, _Bucket(now)

    def fine(self) -> None:
        """A record could be decoded."""
        for counts in self._counting():
            counts.fine += 1
        self._decide()

    def glimpsed(self, count: int) -> None:
        """``count`` records were dropped by their hash, with nothing but their ids read."""
        for counts in self._counting():
            counts.glimpsed += count
        self._decide()

    def failed(self, cause: str, *, was_fine: bool = False, unread: bool = False) -> None:
        """A record becomes a dead letter; ``was_fine`` takes back that it could be decoded.

        ``unread``: not even its id could be read.
        """
        for counts in self._counting():
            counts.failed += 1
            counts.unread += unread
            counts.fine -= was_fine
            counts.causes[cause] += 1
        if not self._open and self._limits.share > 0:
            self._judge()
        self._decide()

    def _counting(self) -> tuple[_Bucket, ...]:
        return (self._buckets[-1], self._probe) if self._probing else (self._buckets[-1],)

    def _judge(self) -> None:
        seen = _Bucket(self._now)
        for bucket in self._buckets:
            seen.add(bucket)
        seen.fine = max(0, seen.fine)
        failed, fine = seen.estimated()
        tried = seen.failed + seen.fine
        if seen.failed - seen.unread + seen.fine < self._limits.least:
            # Too few to say how the dropped ones would have fared: none of them counts as failed.
            failed, fine = seen.failed, seen.fine + seen.glimpsed
            tried += seen.glimpsed
        if failed + fine < self._limits.least or not self._many(failed, fine):
            return
        for bucket in self._buckets:
            seen.causes.update(bucket.causes)
        self.cause, self.counts = seen.causes.most_common(1)[0][0], (seen.failed, tried)
        self._ids_tell = 2 * seen.unread > seen.failed
        self._open = True
        # What closed a moment ago by a lucky probe goes on with its longer waits.
        lately = self._now - self._closed_at < self._limits.window_s
        self._wait(2 * self._wait_s if lately else self._limits.wait_s)

    @property
    def _left(self) -> int:
        return max(0, self._limits.probe - self._probe.fine - self._probe.failed)

    def _decide(self) -> None:
        """Close as soon as the probe can no longer say that nearly everything fails."""
        if not self._probing:
            return
        if not self._many(*self._at_worst()):
            self._open = self._probing = False
            self._closed_at = self._now
            self._buckets = deque([_Bucket(self._now)])
        elif not self._left:
            self._wait(2 * self._wait_s)

    def _at_worst(self) -> tuple[float, float]:
        """The probe (failed, fine) when all that is left of it fails."""
        seen = self._probe
        if self._ids_tell:  # it opened because they could not be read
            fine = seen.fine + seen.glimpsed
            return max(0, self._limits.probe - fine), fine
        worst = _Bucket(seen.since, seen.fine, seen.failed + self._left, seen.unread, seen.glimpsed)
        return worst.estimated()

    def _wait(self, seconds: float) -> None:
        self._probing = False
        self._wait_s = min(seconds, self._limits.longest_wait_s)
        self._probe_at = self._now + self._wait_s

    def _many(self, failed: float, fine: float) -> bool:
        return failed >= self._limits.share * (failed + fine)
