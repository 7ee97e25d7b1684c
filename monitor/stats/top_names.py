"""Which names keep a place when there are only so many: a function of how often each counts.

Names come from traffic, and may be many. A name's rank is the number of binary digits of its count,
ties by name: who counts often is not pushed out by thousands that count once, and two of about the
same size do not change places with every record. What that leaves for a record to move is, over
time, a small multiple of what it adds: a name that takes a place has doubled since it last could.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from heapq import heapify, heappop, heappush
from typing import Final

#: Entries of the queue beyond twice the names are outdated.
_SLACK: Final = 64


class Counts:
    """Counts of names by period; a period is dropped without looking at what was counted.

    >>> counts = Counts()
    >>> counts.count(0, "acme", +1); counts.count(1, "acme", +1); counts.number, counts.of("acme")
    (2, 2)
    >>> counts.drop(0); counts.number, counts.of("acme"), list(counts)
    (1, 1, ['acme'])
    """

    def __init__(self) -> None:
        self._by_period: dict[int, dict[str, int]] = {}
        self._all: dict[str, int] = {}
        self.number = 0
        #: Names whose number of binary digits has changed since somebody cleared this.
        self.changed: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def of(self, name: str) -> int:
        """How often a name counts, in all periods."""
        return self._all.get(name, 0)

    def digits(self, name: str) -> int:
        """Binary digits of its count; 0 for a name that does not count."""
        return self._all.get(name, 0).bit_length()

    def count(self, period: int, name: str, by: int) -> None:
        """So many more, or less."""
        counts = self._by_period.get(period)
        if counts is None:
            counts = self._by_period[period] = {}
        left = counts[name] = counts.get(name, 0) + by
        if not left:
            del counts[name]
        self._change(name, by)

    def drop(self, last: int) -> None:
        """Forget the periods up to and with ``last``."""
        for period in [period for period in self._by_period if period <= last]:
            for name, number in self._by_period.pop(period).items():
                self._change(name, -number)

    def _change(self, name: str, by: int) -> None:
        before = self._all.get(name, 0)
        after = before + by
        self.number += by
        if after:
            self._all[name] = after
        else:
            self._all.pop(name, None)
        if before.bit_length() != after.bit_length():
            self.changed.add(name)


class Places:
    """The ``most`` names that rank highest keep a place; those of ``always`` have one anyway.

    What is in ``never`` has none.

    >>> counts = Counts(); places = Places(counts, 1)
    >>> counts.count(0, "b", +1); places.settle(); places.kept
    {'b'}
    >>> counts.count(0, "a", +1); places.settle()
    >>> counts.count(0, "b", +1); places.settle(); places.kept
    {'b'}
    """

    def __init__(
        self,
        counts: Counts,
        most: int,
        always: Collection[str] = (),
        never: Collection[str] = (),
    ) -> None:
        self._counts, self._most = counts, most
        self._always, self._never = frozenset(always), frozenset(never)
        self._present: set[str] = set()
        self._placed: set[str] = set()
        #: The others, best first; outdated entries stay until they come up.
        self._queue: list[tuple[int, str]] = []

    @property
    def kept(self) -> set[str]:
        """The names with a place, as of the last ``settle``."""
        return self._placed | self._present

    @property
    def waiting(self) -> str | None:
        """The best of those without a place, as of the last ``settle``."""
        return self._best()

    def settle(self) -> None:
        """Take in what has changed in the counts."""
        changed, self._counts.changed = self._counts.changed, set()
        for name in changed:
            self._note(name)
        places = max(0, self._most - len(self._present))
        while len(self._placed) > places:
            self._leave(max(self._placed, key=self._rank))
        while (best := self._best()) is not None:
            if len(self._placed) >= places:
                worst = max(self._placed, key=self._rank, default=None)
                if worst is None or self._rank(worst) <= self._rank(best):
                    break
                self._leave(worst)
            self._placed.add(best)

    def _note(self, name: str) -> None:
        counts = self._counts.of(name) > 0
        if name in self._always:
            (self._present.add if counts else self._present.discard)(name)
        elif name in self._never:
            return
        elif not counts:
            self._placed.discard(name)
        elif name not in self._placed:
            self._enqueue(name)

    def _leave(self, name: str) -> None:
        self._placed.discard(name)
        self._enqueue(name)

    def _enqueue(self, name: str) -> None:
        heappush(self._queue, self._rank(name))
        if len(self._queue) > 2 * len(self._counts) + _SLACK:
            self._queue = [rank for rank in set(self._queue) if self._is_waiting(rank)]
            heapify(self._queue)

    def _best(self) -> str | None:
        """The best of those without a place."""
        while self._queue and not self._is_waiting(self._queue[0]):
            heappop(self._queue)
        return self._queue[0][1] if self._queue else None

    def _is_waiting(self, rank: tuple[int, str]) -> bool:
        return rank[1] not in self._placed and rank == self._rank(rank[1])

    def _rank(self, name: str) -> tuple[int, str]:
        return -self._counts.digits(name), name


class Shares:
    """While there are at most ``most`` names all keep a place, else those with a good share.

    That is a count with at most so few binary digits less than the number of all as ``most`` has
    beyond its first: with 16 those with a sixteenth or more, and none with a thirty-second or less.
    So thousands of names that count once take no place at all, and at most 2·``most`` − 1 have one.

    >>> counts = Counts(); shares = Shares(counts, 2)
    >>> for name in ("a", "b"): counts.count(0, name, +1)
    >>> shares.flip(shares.moved()); sorted(shares.kept)
    ['a', 'b']
    >>> for name in "cdefgh": counts.count(0, name, +1)
    >>> sorted(shares.moved())
    ['a', 'b']
    """

    def __init__(self, counts: Counts, most: int) -> None:
        self._counts, self._most = counts, most
        self._least = 1
        self.kept: set[str] = set()

    def moved(self, at_least: int = 1) -> set[str]:
        """The names that gain or lose their place, by what has changed since the last call.

        ``at_least`` are the binary digits that a count must have in any case.
        """
        changed, self._counts.changed = self._counts.changed, set()
        least = at_least
        if len(self._counts) > self._most:
            by_share = self._counts.number.bit_length() - self._most.bit_length() + 1
            least = max(least, by_share)
        if least != self._least:
            changed = self.kept.union(self._counts)
            self._least = least
        digits = self._counts.digits
        return {name for name in changed if (digits(name) >= least) != (name in self.kept)}

    def flip(self, moved: set[str]) -> None:
        """Let them gain or lose it."""
        self.kept ^= moved
