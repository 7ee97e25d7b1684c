"""The hours that a baseline is learned from, of many more slots than its mean needs.

A mean that swings by a quarter over the day may differ from hour to hour by less than the error of
a few hundred scores: with too few, nothing is seen of it, and each bad hour is an alarm.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from monitor.exporter.scores.observation import Observation
from monitor.exporter.scores.scored import STEP
from monitor.stats.baseline import hour_of_day
from monitor.stats.days import HourSums, hour_sums

#: Slots that hours are learned from, at most: the day of one judged a second.
MOST_OF_HOURS: Final = 100_000


def sums_by_hour(
    slots: Sequence[tuple[float, Observation]],
) -> Generator[None, None, dict[str, list[HourSums]]]:
    """Of each metric the sums of the hours of the day that have a value, in steps.

    ``slots`` are event times and slots in any order.
    """
    by_hour: dict[int, list[Observation]] = {}
    for number, (event_time, slot) in enumerate(slots, 1):
        by_hour.setdefault(hour_of_day(event_time), []).append(slot)
        if number % STEP == 0:
            yield
    found: dict[str, list[HourSums]] = {}
    for hour in sorted(by_hour):
        values = yield from _values(by_hour[hour])
        for name, of_hour in values.items():
            found.setdefault(name, []).append(hour_sums(of_hour))
            yield
    return found


def _values(
    slots: Sequence[Observation],
) -> Generator[None, None, dict[str, list[tuple[float, float]]]]:
    """Of each metric u and x of the slots that have a value."""
    found: dict[str, list[tuple[float, float]]] = {}
    for number, slot in enumerate(slots, 1):
        for name, value in slot.values:
            if value is not None:
                found.setdefault(name, []).append((slot.u, value))
        if number % STEP == 0:
            yield
    return found
