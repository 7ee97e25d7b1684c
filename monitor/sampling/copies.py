"""Which records are copies of one that was taken a short while ago on the same partition.

Producers send a record again when they hear nothing of the first time: the same interaction, byte
for byte, at another offset. It is judged once, and stands for itself once: a copy is no member of
any slot. A record without an id of its own is never a copy: two that are equal may be two people
who were told the same, and both are traffic.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple

from monitor.kafka.record import KafkaRecord, Partition

#: Seconds for which a record is remembered after it, or its latest copy, was read.
WITHIN_S = 600.0
#: Records that are remembered of one partition, some 200 bytes each.
MOST = 10_000


class _First(NamedTuple):
    offset: int
    seen_at: float


class Copies:
    """What was taken lately; ``monotonic`` gives seconds. A restart or another owner begins anew.

    Only a record at a later offset is a copy, so that whoever reads again, after a rebalance in the
    same process, takes the same ones. What was redriven is not to be asked about: somebody wants it
    judged.
    """

    def __init__(self, monotonic: Callable[[], float], most: int = MOST) -> None:
        self._monotonic, self._most = monotonic, most
        self._taken: dict[Partition, dict[bytes, _First]] = {}

    def is_copy(self, record: KafkaRecord) -> bool:
        """Whether it is one; if not, it is remembered, and whatever equals it from now on is."""
        partition, digest = Partition(record.topic, record.partition), digest_of(record)
        taken, now = self._taken.setdefault(partition, {}), self._monotonic()
        before, first = taken.pop(digest, None), record.offset
        if before is not None and now - before.seen_at < WITHIN_S:
            first = min(first, before.offset)
        taken[digest] = _First(first, now)  # at the end: the oldest stand in front
        if len(taken) > self._most:
            del taken[next(iter(taken))]
        return first < record.offset

    def turn(self) -> None:
        """Time passes: what is too old is forgotten."""
        latest = self._monotonic() - WITHIN_S
        for partition, taken in list(self._taken.items()):
            while taken and taken[oldest := next(iter(taken))].seen_at <= latest:
                del taken[oldest]
            if not taken:
                del self._taken[partition]

    def __len__(self) -> int:
        return sum(map(len, self._taken.values()))


def digest_of(record: KafkaRecord) -> bytes:
    """Of key and value, and of where the one ends; headers may tell of the way it took."""
    key, value = record.key, record.value or b""
    border = b"-" if key is None else b"%d:" % len(key)
    return blake2b(border + (key or b"") + value, digest_size=16).digest()
