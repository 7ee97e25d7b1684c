"""The rolling sums of one application and judge, metric by metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from monitor.exporter.scores.observation import Observation
from monitor.stats.sums import added_up
from monitor.stats.windows import RollingSums

#: Bucket, metrics and sign: what the slots of one share can be added up together.
_Alike = tuple[int, tuple[str, ...], int]
_MOST_WAITING: Final = 512


class PairSums:
    """Slots wait until somebody looks or there are many: those of one bucket are added at once.

    ``is_kept`` says which metrics get sums, ``made`` makes a series without slots.
    """

    def __init__(
        self, bucket_s: int, is_kept: Callable[[str], bool], made: Callable[[], RollingSums]
    ) -> None:
        self._bucket_s, self._is_kept, self._made = bucket_s, is_kept, made
        self._series: dict[str, RollingSums] = {}
        self._waiting: dict[_Alike, list[Observation]] = {}
        self._number = 0
        self._advanced_to: tuple[int, int] | None = None

    def add(self, event_time: float, slot: Observation, sign: int) -> None:
        """A slot counts from now on (+1), or no longer (−1)."""
        key = math.floor(event_time) // self._bucket_s, slot.metrics, sign
        alike = self._waiting.get(key)
        if alike is None:
            self._waiting[key] = [slot]
        else:
            alike.append(slot)
        self._number += 1
        if self._number >= _MOST_WAITING:
            self._settle()

    def series(self) -> Mapping[str, RollingSums]:
        """The series by metric; some may be empty."""
        if self._waiting:
            self._settle()
        return self._series

    @property
    def is_empty(self) -> bool:
        """Whether no slot counts, as when all that came have gone again."""
        return all(rolling.is_empty for rolling in self.series().values())

    def advance(self, now: float, start: int) -> bool:
        """Let time pass and the horizon begin at ``start``; whether anything is left."""
        advanced_to = math.floor(now) // self._bucket_s, start
        if self._waiting and advanced_to == self._advanced_to:
            return True  # no bucket has ended: what waits may go on waiting for others of its own
        self._advanced_to = advanced_to
        for rolling in self.series().values():
            rolling.advance(now)
            rolling.drop_before(start)
        for metric in [metric for metric, rolling in self._series.items() if rolling.is_empty]:
            del self._series[metric]
        return bool(self._series)

    def _settle(self) -> None:
        for (bucket, metrics, sign), slots in self._waiting.items():
            columns = zip(*(slot.all_terms() for slot in slots), strict=True)
            for metric, column in zip(metrics, columns, strict=True):
                if self._is_kept(metric):
                    rolling = self._series.get(metric)
                    if rolling is None:
                        rolling = self._series[metric] = self._made()
                    rolling.add(bucket * self._bucket_s, added_up(column), sign)
        self._waiting.clear()
        self._number = 0
