"""A chain of SHA-256 over the records of a partition: to change one changes all behind it. Pure.

Links: h₀ = SHA-256(name of the chain, topic, partition), and for each record in the order of its
offset hᵢ = SHA-256(hᵢ₋₁ ‖ offset (8 bytes) ‖ SHA-256(key) ‖ SHA-256(value)), where 32 bytes of zero
stand for a key or value that is not there. Every so many offsets the link is kept, so that what
differs can be narrowed down.
"""

from __future__ import annotations

import hashlib
from typing import Final

from pydantic import Field

from monitor.kafka.record import KafkaRecord
from monitor.records import Frozen

_NAME: Final = b"rag-monitor report 1"
_ABSENT: Final = bytes(32)
#: Offsets between two links that are kept.
KEEP_EVERY: Final = 1_000
#: Gaps that are named one by one.
MOST_GAPS: Final = 100


class OffsetGap(Frozen):
    """Offsets that hold no record: from the first to the last of them."""

    first: int
    last: int


class SealedPartition(Frozen):
    """The seal of one partition: its records, the gaps between them, and the last link.

    ``links`` are pairs of an offset and the link behind it. ``gaps_more`` counts gaps beyond those
    that are named; commits of transactions and compaction leave gaps, too.
    """

    partition: int
    first_offset: int | None = None
    last_offset: int | None = None
    records: int = Field(0, ge=0)
    gaps: tuple[OffsetGap, ...] = ()
    gaps_more: int = Field(0, ge=0)
    missing: int = Field(0, ge=0, description="offsets in all gaps")
    links: tuple[tuple[int, str], ...] = ()
    seal: str

    def may_lack(self, offset: int) -> bool:
        """Whether it lies in a gap; beyond those that are named nobody knows.

        >>> gaps = (OffsetGap(first=3, last=4),)
        >>> found = SealedPartition(partition=0, gaps=gaps, gaps_more=1, seal="")
        >>> [found.may_lack(offset) for offset in (2, 3, 4, 5)]
        [False, True, True, True]
        """
        if any(gap.first <= offset <= gap.last for gap in self.gaps):
            return True
        return self.gaps_more > 0 and offset > self.gaps[-1].last


class PartitionChain:
    """Takes the records of one partition in the order of their offsets."""

    def __init__(self, topic: str, partition: int) -> None:
        self._partition = partition
        named = b"\x00".join((_NAME, topic.encode(), str(partition).encode()))
        self._link = hashlib.sha256(named).digest()
        self._first: int | None = None
        self._last: int | None = None
        self._records = self._missing = self._more = 0
        self._gaps: list[OffsetGap] = []
        self._links: list[tuple[int, str]] = []

    def add(self, record: KafkaRecord) -> None:
        """The next one."""
        if self._last is not None:
            if record.offset > self._last + 1:
                self._note(OffsetGap(first=self._last + 1, last=record.offset - 1))
            if record.offset // KEEP_EVERY > self._last // KEEP_EVERY:
                self._links.append((self._last, self._link.hex()))
        self._first = record.offset if self._first is None else self._first
        self._last = record.offset
        self._link = hashlib.sha256(
            self._link
            + record.offset.to_bytes(8, "big")
            + _digest(record.key)
            + _digest(record.value)
        ).digest()
        self._records += 1

    def _note(self, gap: OffsetGap) -> None:
        self._missing += gap.last - gap.first + 1
        if len(self._gaps) < MOST_GAPS:
            self._gaps.append(gap)
        else:
            self._more += 1

    def sealed(self) -> SealedPartition:
        """What there is so far."""
        return SealedPartition(
            partition=self._partition,
            first_offset=self._first,
            last_offset=self._last,
            records=self._records,
            gaps=tuple(self._gaps),
            gaps_more=self._more,
            missing=self._missing,
            links=tuple(self._links),
            seal=self._link.hex(),
        )


def _digest(data: bytes | None) -> bytes:
    return _ABSENT if data is None else hashlib.sha256(data).digest()


def difference(reported: SealedPartition, now: SealedPartition) -> str | None:
    """What has become of a partition since it was reported, in one line; None where it is the same.

    ``now`` is that of the same offsets.
    """
    name = f"partition {reported.partition}"
    if reported == now:
        return None
    if now.records < reported.records and now.first_offset != reported.first_offset:
        gone = "all of it" if now.first_offset is None else f"up to offset {now.first_offset - 1}"
        return f"{name}: {gone} was deleted since; what is left cannot be checked against the seal"
    if reported.seal == now.seal:
        return f"{name}: the same records, but the report says something else of them"
    known = dict(now.links)
    same = [offset for offset, link in reported.links if known.get(offset) == link]
    differs = [offset for offset, link in reported.links if known.get(offset) != link]
    first = same[-1] + 1 if same else reported.first_offset
    last = differs[0] if differs else reported.last_offset
    counted = f" ({reported.records} records then, {now.records} now)"
    return f"{name}: changed between the offsets {first} and {last}{counted}"
