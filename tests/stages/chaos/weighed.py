"""What score records of single interactions stand for, where the share that is taken changes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monitor.records import ScoreRecord
from tests.servers.kafka_topics import Record
from tests.stages.batch import counted
from tests.stages.chaos.estimates import MOST_OFF, Estimated, estimates
from tests.stages.chaos.slotted import is_sampled
from tests.stages.chaos.traffic import Made


@dataclass(frozen=True)
class Weighed:
    """The counted records of a run without longer blocks, by their share.

    ``weight`` is what they stand for, with the standard error that the hash makes. ``missing`` are
    interactions below the watermark that every share takes, without a record; ``untaken`` those
    with a record whose share does not take them. ``again`` have records of more than one share.
    """

    interactions: int
    behind: int
    counted: int
    shares: Mapping[float, int]
    weight: float
    error: float
    again: int
    missing: tuple[str, ...]
    untaken: tuple[str, ...]
    estimated: tuple[Estimated, ...]

    @property
    def off(self) -> float:
        """How many standard errors the weight is off."""
        return abs(self.weight - self.interactions) / self.error

    def faults(self) -> list[str]:
        """What is not as it must be; empty when all is well."""
        found = {
            f"taken by every share, and in no record: {self.missing[:5]}": self.missing,
            f"not taken by the share of their record: {self.untaken[:5]}": self.untaken,
            f"{self.behind} interactions not committed": self.behind,
            f"weight {self.weight:.0f} for {self.interactions}": self.off > MOST_OFF,
        }
        found |= {f"{one} is off": one.off > MOST_OFF for one in self.estimated}
        return [text for text, is_wrong in found.items() if is_wrong]

    def __str__(self) -> str:
        shares = ", ".join(f"{share:g}: {count}" for share, count in sorted(self.shares.items()))
        return (
            f"shares: records counted {self.counted} ({shares}), {self.again} interactions with "
            f"records of several shares; they stand for {self.weight:.0f} ± {self.error:.0f} of "
            f"{self.interactions}\nestimates: {'; '.join(map(str, self.estimated))}"
        )


def weighed(
    traffic: Sequence[Made],
    fed: Sequence[Record],
    records: Sequence[ScoreRecord],
    watermarks: Mapping[int, int],
    least: float,
) -> Weighed:
    """Hold the weights against the input topic; ``least`` is the smallest share."""
    below = {
        (one.key or b"").decode()
        for one in fed
        if (one.offset or 0) < watermarks.get(one.partition or 0, 0)
    }
    chosen = counted(records)
    shares = Counter(record.sampling.q or 0.0 for record in chosen)
    known = {record.interaction_id for record in chosen}
    pairs = {(record.interaction_id, record.sampling.q) for record in records}
    return Weighed(
        len(fed),
        len(fed) - len(below),
        len(chosen),
        shares,
        math.fsum(count / q for q, count in shares.items()),
        math.sqrt(math.fsum(count * (1 - q) / q**2 for q, count in shares.items())),
        sum(times > 1 for times in Counter(name for name, _ in pairs).values()),
        tuple(sorted(name for name in below - known if is_sampled(name.encode(), least))),
        tuple(sorted(name for name, q in pairs if not is_sampled(name.encode(), q or 0.0))),
        estimates(traffic, chosen),
    )
