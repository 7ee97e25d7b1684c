"""V: how many times the variance of a sum of scores is what it would be for independent ones.

Answers of one session, and one question asked again and again, repeat each other: intervals that
take them for independent are too narrow. V = Σ_batches (ΣWe)² / Σ(We)² with e = G − θ̂·H, over
batches of neighbours, at least 1. Each batch is held against the mean of its group of eight, and
not against that of the whole horizon, and no group counts for more than four times what the others
have: a day that is a little worse than the one before is no dependence, and an incident, which
begins and ends within a group, must not make its own interval much wider.

All of it is integers until the last division: the same bits in any order of slots.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from monitor.stats.sums import SCALE, Sums, added_up

#: Slots of a batch on average, from one to the other: long ones hold whole sessions, but few slots
#: give too few of them, and an hour holds more than a session.
_SHORTEST, _LONGEST, _PARTS, _HOUR_S = 40, 320, 64, 3_600
#: Batches that are held against the mean of their own, and what all of 1 … 7 divide.
_GROUP: Final = 8
_MULTIPLE: Final = math.lcm(*range(1, _GROUP))
#: Times V of all others: chance alone gives a group as much one time in 5,000.
_MOST: Final = 4.0
#: The 0.95 quantile of the standard normal distribution.
_BY_CHANCE: Final = 1.64
#: Degrees of freedom below which V is not told: four groups, of which one may hold an incident.
ENOUGH_FREEDOM: Final = 4 * (_GROUP - 1)
#: V goes in steps, upwards: who shows it need not write anew what has hardly changed.
_STEP: Final = 1.05


class _GroupSpread(NamedTuple):
    """Of one group or many: degrees of freedom, and Σ over their batches of m/(m − 1)·(S − S̄)².

    S = ΣWG − θ̂·ΣWH of a batch, so that there are three sums, for 1, −2θ̂ and θ̂²; and three more of
    the terms (We)² of the slots in these batches.
    """

    freedom: int
    gg: int
    gh: int
    hh: int
    w2g2: int
    w2gh: int
    w2h2: int

    def plus(self, other: _GroupSpread, sign: int) -> _GroupSpread:
        """The sum, field by field; with −1 the difference."""
        return _GroupSpread(*(a + sign * b for a, b in zip(self, other, strict=True)))

    def between(self, theta: float) -> float:
        """Of the batches, as (We)²."""
        squares = self.gg - 2.0 * theta * self.gh + theta * theta * self.hh
        return max(0.0, squares / (_MULTIPLE * SCALE))

    def within(self, theta: float) -> float:
        """Σ(We)² of their slots."""
        return self.w2g2 - 2.0 * theta * self.w2gh + theta * theta * self.w2h2


_NOTHING: Final = _GroupSpread(0, 0, 0, 0, 0, 0, 0)


class Dependence:
    """V of one series of buckets: what has changed is looked at when somebody asks.

    >>> from monitor.stats.sums import terms
    >>> def of(*values):
    ...     return added_up([terms(1, 1.0, 1.0, 0.0, 0.0, x, False) for x in values])
    >>> alike, apart = Dependence(), Dependence()
    >>> buckets = {n: of(*[1.0 * (n * n % 11 < 5)] * 40) for n in range(40)}
    >>> round(alike.of(buckets, 1_600, 39, 0.5))
    41
    >>> apart.of({n: of(*[0.0, 1.0] * 20) for n in range(40)}, 1_600, 39, 0.5)
    1.0
    """

    def __init__(self, bucket_s: int = 60) -> None:
        self._bucket_s = bucket_s
        #: The earliest bucket; infinite where it has to be looked for.
        self._first = math.inf
        self._length = 0
        self._groups: dict[int, _GroupSpread] = {}
        self._total = _NOTHING
        self._changed = set[int]()

    def changed(self, bucket: int) -> None:
        """A bucket holds something else."""
        if bucket <= self._first:
            self._first = math.inf
        if self._length:
            self._changed.add(bucket // self._length // _GROUP)

    def of(self, buckets: Mapping[int, Sums], slots: int, last: int, theta: float) -> float:
        """V of the buckets up to ``last`` with their ``slots`` and mean ``theta``.

        A batch is 2^k whole buckets, which hold as many slots on average as an hour, or a 64th of
        all of them, but not above 320 and not below 40; up to twice as many with the rounding.
        """
        if self._first == math.inf:
            self._first = min(buckets, default=last)
        first = self._first
        # As floats: an hour need not be a whole number of slots.
        hourly = slots * _HOUR_S / (self._bucket_s * (last + 1 - first))
        least = max(_SHORTEST, min(_LONGEST, slots / _PARTS, hourly))
        length = 1 << max(0, math.ceil(math.log2(least * (last + 1 - first) / max(1, slots))))
        if length != self._length:
            self._length, self._groups, self._total = length, {}, _NOTHING
            self._changed.clear()
            self._changed.update(bucket // length // _GROUP for bucket in buckets)
        for group in sorted(self._changed):
            before = self._groups.pop(group, _NOTHING)
            now = _spread(list(_batches(buckets, group, length)))
            if now != _NOTHING:
                self._groups[group] = now
            self._total = self._total.plus(before, -1).plus(now, +1)
        self._changed.clear()
        return in_steps(_ratio(self._total, self._groups.values(), theta))


def _batches(buckets: Mapping[int, Sums], group: int, length: int) -> Iterator[Sums]:
    """The sums of the batches of a group that have any slot."""
    for batch in range(group * _GROUP, (group + 1) * _GROUP):
        inside = range(batch * length, (batch + 1) * length)
        if len(inside) < len(buckets):
            held = [buckets[bucket] for bucket in inside if bucket in buckets]
        else:
            held = [sums for bucket, sums in buckets.items() if bucket in inside]
        if held:
            yield added_up(held)


def _spread(batches: list[Sums]) -> _GroupSpread:
    m = len(batches)
    if m <= 1:
        return _NOTHING
    g, h = (tuple(getattr(batch, name) for batch in batches) for name in ("wg", "wh"))
    times = _MULTIPLE // (m - 1)
    total = added_up(batches)
    return _GroupSpread(
        m - 1,
        times * (m * sum(a * a for a in g) - total.wg**2),
        times * (m * sum(a * b for a, b in zip(g, h, strict=True)) - total.wg * total.wh),
        times * (m * sum(b * b for b in h) - total.wh**2),
        total.w2g2,
        total.w2gh,
        total.w2h2,
    )


def _ratio(total: _GroupSpread, groups: Collection[_GroupSpread], theta: float) -> float:
    if total.freedom < ENOUGH_FREEDOM:
        return 1.0
    between, within = total.between(theta), total.within(theta)
    if within <= 0.0 or not is_beyond_chance(between / within, total.freedom):
        return 1.0
    limited = []
    for group in groups:
        own, rest = group.between(theta), within - group.within(theta)
        if rest > 0.0:
            own = min(own, _MOST * group.within(theta) * (between - own) / rest)
        limited.append(own)
    found = math.fsum(limited) / within
    return found if is_beyond_chance(found, total.freedom) else 1.0


def is_beyond_chance(found: float, freedom: int) -> bool:
    """Whether independent scores give such a V less than one time in twenty.

    >>> is_beyond_chance(1.5, 10), is_beyond_chance(1.5, 40)
    (False, True)
    """
    return found > 1.0 + _BY_CHANCE * math.sqrt(2.0 / freedom)


def in_steps(found: float) -> float:
    """The least power of 1.05 that is not below it.

    >>> in_steps(1.0), round(in_steps(1.06), 4)
    (1.0, 1.1025)
    """
    return _STEP ** math.ceil(math.log(found) / math.log(_STEP) - 1e-9)
