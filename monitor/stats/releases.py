"""When an application began to be another one: new values of an attribute such as a version.

A function of how often each value was seen in each minute. While a release is rolled out, old and
new are seen beside each other, and a part of the traffic may stay with another value for good. So a
value is *new*, or *gone*, only where its absence says something: where, at its own share of the
traffic, it would have been expected ``SURE`` times in what came without it (by chance that happens
with probability exp(−20)).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

MINUTE_S: Final = 60
SURE: Final = 20.0
#: Fewer interactions are a stray one, and no release.
LEAST_SEEN: Final = 3
#: With fewer nobody knows a value's share well enough to say that it is gone.
LEAST_KNOWN: Final = 10
#: Of an attribute with more values than this, and with fewer interactions each, none is a release.
MOST_RARE: Final = 20
LEAST_EACH: Final = 20
#: Of changes the latest, of values in use the most frequent.
MOST_CHANGES: Final = 5
MOST_IN_USE: Final = 5

#: Minute since the epoch → value → how many interactions.
ByMinute = Mapping[int, Mapping[str, int]]


#: A value came; or one has gone, for another one, or back for one that was there before it.
Change = Literal["began", "completed", "rolled_back"]


class ValueChange(NamedTuple):
    """From one value to another, ``at`` epoch seconds.

    Where it ``began``: the minute in which the value came, and the usual one before it. Else the
    end of the last minute of the value before, and the most frequent one after it.
    """

    before: str
    value: str
    at: float
    change: Change = "began"


class Rollout(NamedTuple):
    """The changes in their order, the values that have not gone, and how many were seen at all.

    Of changes the latest that began, and the latest others.
    """

    changes: tuple[ValueChange, ...] = ()
    in_use: tuple[str, ...] = ()
    values: int = 0


@dataclass(eq=False)
class _ValueRun:
    """A value from when it came until it was gone; positions count interactions from the first.

    ``place`` is that of its first minute, ``last`` of its last one, ``absent`` how many came before
    it since it was seen.
    """

    value: str
    place: int
    first: int
    absent: int
    last: int = 0
    until: int = 0
    count: int = 0

    def see(self, count: int, until: int, place: int) -> None:
        self.count += count
        self.until, self.last = until, place

    def is_surely_absent(self, number: int) -> bool:
        """Whether so many without it are too many for its share."""
        return number * self.count >= SURE * (self.until - self.first)

    def is_gone(self, position: int) -> bool:
        return self.count >= LEAST_KNOWN and self.is_surely_absent(position - self.until)

    @property
    def is_release(self) -> bool:
        return self.count >= LEAST_SEEN and self.is_surely_absent(self.absent)


def rollout(minutes: ByMinute) -> Rollout:
    """What was rolled out when.

    >>> seen = {0: {"v1": 90}, 1: {"v1": 40, "v2": 5}, 2: {"v1": 1, "v2": 44}, 3: {"v2": 60}}
    >>> for change in rollout(seen).changes:
    ...     print(*change)
    v1 v2 60.0 began
    v1 v2 180.0 completed
    """
    order = sorted(minutes)
    values = {value for counts in minutes.values() for value in counts}
    if len(values) < 2:
        return Rollout((), tuple(values), len(values))
    counted = [minutes[minute] for minute in order]
    runs, total = _runs(counted)
    if len(values) > MOST_RARE and total < LEAST_EACH * len(values):
        return Rollout((), (), len(values))
    began = [
        ValueChange(_usual(reversed(counted[: run.place]), run.value), run.value, at)
        for run in runs
        if run.is_release and (at := float(order[run.place] * MINUTE_S))
    ]
    ended = [
        _end(run, runs, counted, order)
        for run in _gone(runs, total)
        # Where another one came in its place at once, the begin of that tells all.
        if not any(c.before == run.value and c.at >= order[run.last] * MINUTE_S for c in began)
    ]
    latest = sorted([*_latest(began), *_latest(ended)], key=_in_time)
    last = {run.value: run for run in runs}.values()
    used = [r for r in last if r.count >= LEAST_SEEN and not r.is_surely_absent(total - r.until)]
    used.sort(key=lambda run: (-run.count, run.value))
    return Rollout(tuple(latest), tuple(r.value for r in used[:MOST_IN_USE]), len(values))


def _runs(counted: Sequence[Mapping[str, int]]) -> tuple[list[_ValueRun], int]:
    """All runs in the order in which they began, and how many interactions there are."""
    runs: list[_ValueRun] = []
    last: dict[str, _ValueRun] = {}
    total = 0
    for place, counts in enumerate(counted):
        after = total + sum(counts.values())
        for value, count in counts.items():
            run = last.get(value)
            if run is None or run.is_gone(total):
                absent = total - (0 if run is None else run.until)
                run = last[value] = _ValueRun(value, place, total, absent)
                runs.append(run)
            run.see(count, after, place)
        total = after
    return runs, total


def _in_time(change: ValueChange) -> tuple[float, str]:
    return change.at, change.value


def _latest(changes: Iterable[ValueChange]) -> list[ValueChange]:
    return sorted(changes, key=_in_time)[-MOST_CHANGES:]


def _gone(runs: Sequence[_ValueRun], total: int) -> Iterator[_ValueRun]:
    """Those that are over: their value has gone, or has gone and come back since."""
    last = {run.value: run for run in runs}
    return (run for run in runs if run is not last[run.value] or run.is_gone(total))


def _end(
    run: _ValueRun,
    runs: Iterable[_ValueRun],
    counted: Sequence[Mapping[str, int]],
    order: Sequence[int],
) -> ValueChange:
    """For which value one has gone: back for one that was there before it came, or for another."""
    value = _usual(counted[run.last + 1 :], run.value)
    was_before = any(one.value == value and one.place < run.place <= one.last for one in runs)
    at = float((order[run.last] + 1) * MINUTE_S)
    return ValueChange(run.value, value, at, "rolled_back" if was_before else "completed")


def _usual(nearest: Iterable[Mapping[str, int]], value: str) -> str:
    """The most frequent other value of the nearest interactions; ties by name."""
    found: Counter[str] = Counter()
    for counts in nearest:
        found.update({name: count for name, count in counts.items() if name != value})
        if found.total() >= SURE:
            break
    return min(found, key=lambda name: (-found[name], name))
