"""What score records of slots say afterwards, against what was fed: offset by offset."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.records import ScoreRecord
from tests.servers.kafka_topics import Record
from tests.unit.export.batch import counted

#: How many of the offsets may be missing: those of slots that overlapped another and were dropped.
MOST_DROPPED = 0.001
Line = tuple[int, str]


@dataclass(frozen=True)
class Slots:
    """The slots of a run. ``missing`` are offsets that no counted slot covers."""

    interactions: int
    records: int
    counted: int
    sizes: tuple[int, int]
    missing: tuple[tuple[int, int], ...]
    unexplained: tuple[tuple[int, int], ...]
    twice: tuple[tuple[int, int], ...]
    miscounted: tuple[str, ...]

    def faults(self) -> list[str]:
        """What is not as it must be; empty when all is well."""
        found = {
            f"in two counted slots: {self.twice[:5]}": self.twice,
            f"in no slot at all: {self.unexplained[:5]}": self.unexplained,
            f"m is not the number of members: {self.miscounted[:5]}": self.miscounted,
            f"{len(self.missing)} offsets dropped": (
                len(self.missing) > MOST_DROPPED * self.interactions
            ),
        }
        return [text for text, is_wrong in found.items() if is_wrong]

    def __str__(self) -> str:
        share = 100 * len(self.missing) / self.interactions
        return (
            f"slots: records {self.records}, counted {self.counted}, members "
            f"{self.sizes[0]} to {self.sizes[1]}, offsets in dropped slots only "
            f"{len(self.missing)} ({share:.3f} %), in none {len(self.unexplained)}"
        )


def slots_of(fed: Sequence[Record], records: Sequence[ScoreRecord]) -> Slots:
    """Hold the slots against the input topic: all of it was taken, and all of it is scorable."""
    lines = _lines(fed)
    chosen = counted(records)
    covered: defaultdict[Line, list[int]] = defaultdict(list)
    miscounted = []
    for record in chosen:
        inside = _inside(lines, record)
        covered[_line(record)] += inside
        if len(inside) != record.sampling.m:
            miscounted.append(f"{record.interaction_id}: {record.sampling.m}, not {len(inside)}")
    anywhere = {(_line(record), offset) for record in records for offset in _inside(lines, record)}
    missing = [
        (line, offset) for line, offsets in lines.items() for offset in offsets - {*covered[line]}
    ]
    sizes = [record.sampling.m or 0 for record in chosen]
    return Slots(
        len(fed),
        len(records),
        len(chosen),
        (min(sizes, default=0), max(sizes, default=0)),
        tuple((line[0], offset) for line, offset in missing),
        tuple((line[0], offset) for line, offset in missing if (line, offset) not in anywhere),
        tuple(
            (line[0], offset)
            for line, found in covered.items()
            for offset, times in Counter(found).items()
            if times > 1
        ),
        tuple(miscounted),
    )


def _lines(fed: Sequence[Record]) -> dict[Line, set[int]]:
    lines: defaultdict[Line, set[int]] = defaultdict(set)
    for record in fed:
        has_reference = json.loads(record.value or b"{}")["reference"] is not None
        kind = "with_reference" if has_reference else "without_reference"
        lines[record.partition or 0, kind].add(record.offset or 0)
    return lines


def _line(record: ScoreRecord) -> Line:
    return record.source.partition, record.sampling.kind


def _inside(lines: dict[Line, set[int]], record: ScoreRecord) -> list[int]:
    sampling = record.sampling
    span = range(sampling.first_offset or 0, (sampling.last_offset or 0) + 1)
    return [offset for offset in span if offset in lines.get(_line(record), set())]
