"""More judgements while there is evidence of drift: what was granted of a day, and what may be.

Seconds are granted in whole minutes of the clock, each counted whole once it is granted, so that
exporters that grant the same minute have granted it once. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final, NamedTuple

from monitor.control.state import WrittenAt
from monitor.records.control import BURST_KEY, BurstRecord, ControlRecord, Removed

GRANT_S: Final = 60
#: So long before a grant ends the next one follows: an exporter looks every five seconds, or less.
LEAD_S: Final = 15
DAY_S: Final = 86_400


class BurstAllowance(NamedTuple):
    """Up to ``times`` as many judgements, for at most ``per_day_s`` of each day of ``zone``."""

    times: int
    per_day_s: int
    zone: tzinfo


class Bursts:
    """The latest grant, as the control topic has it; times are epoch seconds.

    >>> Bursts().times(now=0.0)
    1
    """

    def __init__(self) -> None:
        self.last: BurstRecord | None = None

    def apply(self, found: ControlRecord | Removed, _written: WrittenAt) -> None:
        """A grant begins, or was never given."""
        if isinstance(found, Removed) and found.key == BURST_KEY:
            self.last = None
        elif isinstance(found, BurstRecord):
            self.last = _after(self.last, found)

    def times(self, now: float) -> int:
        """How many times as many judgements are asked for; 1 where no grant holds."""
        return self.last.times if self.last is not None and self.last.is_active(now) else 1

    def granted_s(self, now: float, zone: tzinfo) -> int:
        """Seconds that were granted of today."""
        today = datetime.fromtimestamp(now, zone).date()
        return self.last.granted_s if self.last is not None and self.last.day == today else 0


def _after(before: BurstRecord | None, found: BurstRecord) -> BurstRecord:
    """The later one holds; what it did not know of has been granted all the same."""
    if before is None or before.day != found.day or before.granted_s <= found.granted_s:
        return found
    return found.model_copy(update={"granted_s": before.granted_s})


def granted(
    last: BurstRecord | None, allowed: BurstAllowance, now: float, asked_by: Sequence[str]
) -> BurstRecord | None:
    """What is granted at ``now``; None while the last one holds, or nothing is left of the day.

    A day's grants add up to at most ``per_day_s``; the last of them is the shorter for it.
    """
    if last is not None and last.from_.timestamp() > now + DAY_S:
        last = None  # of a clock that is wrong by days
    ends = -math.inf if last is None else last.until.timestamp()
    if ends > now + LEAD_S:
        return None
    start = math.ceil(ends / GRANT_S) * GRANT_S if ends > now else now // GRANT_S * GRANT_S
    day = datetime.fromtimestamp(start, allowed.zone).date()
    if last is not None and last.day > day:
        return None  # another exporter has midnight behind it
    before = last.granted_s if last is not None and last.day == day else 0
    seconds = min(GRANT_S, allowed.per_day_s - before)
    if seconds <= 0 or start + seconds <= now:
        return None
    return BurstRecord.model_validate(
        {
            # The running minute goes on: the latest record is all that scorers know.
            "from": datetime.fromtimestamp(start - GRANT_S if ends == start else start, UTC),
            "until": datetime.fromtimestamp(start + seconds, UTC),
            "times": allowed.times,
            "day": day,
            "granted_s": before + seconds,
            "asked_by": tuple(asked_by),
        }
    )
