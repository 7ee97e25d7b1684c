"""When an application began to be another one: new values of an attribute such as a version.

A function of how often each value was seen in each minute. While a release is rolled out, old and
new are seen beside each other, and a part of the traffic may stay with another value for good. So a
value is *new*, or *gone*, only where its absence says something: where, at its own share of the
traffic, it would have been expected ``SURE`` times in what came without it (by chance that happens
with probability exp(−20)).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, NamedTuple

MINUTE_S: Final = 60
SURE: Final = 20.0
#: Fewer interactions are a stray one, and no release.
LEAST_SEEN: Final = 3
#: With fewer nobody knows a value's share well enough to say that it is gone.
LEAST_KNOWN: Final = 10
#: Of a run so many of its interactions tell its share near an end of it, whatever is kept beyond.
MOST_TELLING: Final = 50
#: Of an attribute with more values than this, and with fewer interactions each, none is a release.
MOST_RARE: Final = 20
LEAST_EACH: Final = 20
#: Of changes the latest, of values in use the most frequent.
MOST_CHANGES: Final = 5
MOST_IN_USE: Final = 5

#: Minute since the epoch → value → how many interactions.
ByMinute = Mapping[int, Mapping[str, int]]


#: A value came; or one has gone, for another one that came while it was there, or back for one
#: that was there before it came.
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


class _Seen(NamedTuple):
    """A value in one minute; positions count interactions from the first, before and after it."""

    place: int
    before: int
    after: int
    number: int


@dataclass(eq=False)
class _ValueRun:
    """A value from when it came until it was gone; ``absent`` came since it was seen before."""

    value: str
    absent: int
    seen: list[_Seen]
    count: int

    @property
    def place(self) -> int:
        """That of its first minute."""
        return self.seen[0].place

    @property
    def last(self) -> int:
        """The place of its last minute."""
        return self.seen[-1].place

    @property
    def until(self) -> int:
        """The position behind its last minute."""
        return self.seen[-1].after

    def is_gone(self, position: int) -> bool:
        """Whether what came since is too much for its share, by the last of its interactions."""
        since = position - self.until
        if since < SURE or self.count < LEAST_KNOWN:
            return False
        count, length = _share(reversed(self.seen))
        return since * count >= SURE * length

    def is_surely_absent(self, number: int) -> bool:
        """Whether so many without it are too many for its share."""
        return number * self.count >= SURE * (self.until - self.seen[0].before)

    @property
    def is_release(self) -> bool:
        return _is_release(self.seen, self.absent)


def _share(seen: Iterable[_Seen]) -> tuple[int, int]:
    """How many of the nearest have the value, and of how many in all."""
    count, first, last = 0, math.inf, 0
    for each in seen:
        count += each.number
        first, last = min(first, each.before), max(last, each.after)
        if count >= MOST_TELLING:
            break
    return count, int(last - first)


def _is_release(seen: Iterable[_Seen], absent: int, least: int = LEAST_SEEN) -> bool:
    """Whether so many before them are too many for their share, by the first of them."""
    count, length = _share(seen)
    return count >= least and absent * count >= SURE * length


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
        end
        for run in _gone(runs, total)
        # Where another one came in its place at once, the begin of that tells all.
        if not any(c.before == run.value and c.at >= order[run.last] * MINUTE_S for c in began)
        and (end := _end(run, runs, counted, order)) is not None
    ]
    latest = sorted([*_latest(began), *_latest(ended)], key=_in_time)
    last = {run.value: run for run in runs}.values()
    used = [r for r in last if r.count >= LEAST_SEEN and not r.is_surely_absent(total - r.until)]
    used.sort(key=lambda run: (-run.count, run.value))
    return Rollout(tuple(latest), tuple(r.value for r in used[:MOST_IN_USE]), len(values))


def _runs(counted: Sequence[Mapping[str, int]]) -> tuple[list[_ValueRun], int]:
    """All runs in the order in which they began, and how many interactions there are."""
    by_value: dict[str, list[_Seen]] = {}
    total = 0
    for place, counts in enumerate(counted):
        after = total + sum(counts.values())
        for value, count in counts.items():
            by_value.setdefault(value, []).append(_Seen(place, total, after, count))
        total = after
    runs = [run for value, seen in by_value.items() for run in _runs_of(value, seen)]
    return sorted(runs, key=lambda run: (run.place, run.value)), total


def _runs_of(value: str, seen: Sequence[_Seen]) -> list[_ValueRun]:
    runs: list[_ValueRun] = []
    for n, each in enumerate(seen):
        if not runs:
            runs.append(_ValueRun(value, each.before, [each], each.number))
            continue
        run = runs[-1]
        absent = each.before - run.until
        # So few tell nothing: nearly always, hence first.
        if absent >= SURE and (
            run.is_gone(each.before)
            # Of a run that is cut off nobody knows the share: then that of what follows tells.
            or (
                len(runs) == 1
                and run.count < LEAST_KNOWN
                and not run.is_release
                and _is_release(islice(seen, n, None), absent, LEAST_KNOWN)
            )
        ):
            runs.append(_ValueRun(value, absent, [each], each.number))
        else:
            run.seen.append(each)
            run.count += each.number
    return runs


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
) -> ValueChange | None:
    """For which value one has gone: for another one, or back for one that was there before it.

    None where it was not seen which of the two came later, among what is kept: so an end goes with
    the begin that it follows from, and is never told as the other one.
    """
    value = _usual(counted[run.last + 1 :], run.value)
    staying = [one for one in runs if one.value == value and one.place <= run.last]
    if not staying:
        return None
    change: Change
    if staying[-1].place > run.place and staying[-1].is_release:
        change = "completed"
    elif staying[-1].place < run.place and run.is_release:
        change = "rolled_back"
    else:
        return None
    return ValueChange(run.value, value, float((order[run.last] + 1) * MINUTE_S), change)


def _usual(nearest: Iterable[Mapping[str, int]], value: str) -> str:
    """The most frequent other value of the nearest interactions; ties by name."""
    found: Counter[str] = Counter()
    for counts in nearest:
        found.update({name: count for name, count in counts.items() if name != value})
        if found.total() >= SURE:
            break
    return min(found, key=lambda name: (-found[name], name))
