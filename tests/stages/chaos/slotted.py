"""What score records of slots say afterwards, against what was fed: offset by offset."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from monitor.records import ScoreRecord
from tests.servers.kafka_topics import Record
from tests.stages.batch import counted
from tests.stages.chaos.estimates import MOST_OFF, Estimated, estimates
from tests.stages.chaos.traffic import Made

#: Which share of the offsets may be missing: those of slots that overlap another and are dropped.
MOST_DROPPED = 0.001
Line = tuple[int, str]


@dataclass(frozen=True)
class Slots:
    """The slots of a run. ``missing`` are offsets that no counted slot covers.

    ``sampled`` are the interactions that the hash takes below the watermark, ``members`` is the
    sum of m over the counted slots, ``behind`` the interactions that are not committed.
    """

    interactions: int
    sampled: int
    behind: int
    records: int
    counted: int
    members: int
    sizes: tuple[int, int]
    missing: tuple[tuple[int, int], ...]
    unexplained: tuple[tuple[int, int], ...]
    twice: tuple[tuple[int, int], ...]
    miscounted: tuple[str, ...]
    estimated: tuple[Estimated, ...]
    most_dropped: float

    def faults(self) -> list[str]:
        """What is not as it must be; empty when all is well."""
        found = {
            f"in two counted slots: {self.twice[:5]}": self.twice,
            f"in no slot at all: {self.unexplained[:5]}": self.unexplained,
            f"m is not the number of members: {self.miscounted[:5]}": self.miscounted,
            f"{len(self.missing)} offsets dropped: {self.missing[:5]}": (
                len(self.missing) > self.most_dropped * self.sampled
            ),
            f"{self.members} members and {len(self.missing)} missing of {self.sampled}": (
                self.members + len(self.missing) != self.sampled
            ),
            f"{self.behind} interactions not committed": self.behind,
        }
        found |= {f"{one} is off": one.off > MOST_OFF for one in self.estimated}
        return [text for text, is_wrong in found.items() if is_wrong]

    def __str__(self) -> str:
        share = 100 * len(self.missing) / self.sampled
        return (
            f"slots: records {self.records}, counted {self.counted}, members "
            f"{self.sizes[0]} to {self.sizes[1]}; of {self.sampled} offsets sampled below the "
            f"watermark {len(self.twice)} in two counted slots, {len(self.missing)} "
            f"({share:.3f} %) in dropped ones only, {len(self.unexplained)} in none; "
            f"sum of m {self.members}\nestimates: {'; '.join(map(str, self.estimated))}"
        )


def slots_of(
    traffic: Sequence[Made],
    fed: Sequence[Record],
    records: Sequence[ScoreRecord],
    watermarks: Mapping[int, int],
    rate: float = 1.0,
    most_dropped: float = MOST_DROPPED,
) -> Slots:
    """Hold the slots against the input topic, all of which is scorable.

    ``watermarks`` are the committed offsets by partition, ``rate`` the share that the hash takes,
    ``most_dropped`` the share of the offsets that dropped slots alone may cover.
    """
    below = [one for one in fed if (one.offset or 0) < watermarks.get(one.partition or 0, 0)]
    lines = _lines([one for one in below if is_sampled(one.key or b"", rate)])
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
        sum(len(offsets) for offsets in lines.values()),
        len(fed) - len(below),
        len(records),
        len(chosen),
        sum(sizes),
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
        estimates(traffic, chosen),
        most_dropped,
    )


def is_sampled(interaction_id: bytes, rate: float) -> bool:
    """Whether the hash takes it: the first eight bytes of BLAKE2b, as a share of all there are.

    >>> [is_sampled(b"c00000", rate) for rate in (0.0, 1.0)]
    [False, True]
    """
    return int.from_bytes(blake2b(interaction_id).digest()[:8], "big") / 2**64 < rate


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
