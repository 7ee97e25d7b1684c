"""Which score records count, kept up to date while records come and go.

Two rules, in this order:

1. One record per application and interaction id: one with a slot before one without, with values
   before failed, then the latest ``judged_at``, then the larger SHA-256 of the record.
2. One slot per offset: the slots of those records, per topic, partition, application and kind,
   are walked by first offset, longest first, ties by interaction id; a slot that overlaps the last
   one counted does not count. Neither rule looks at a value, so neither biases a mean.

What counts is a function of the set of records within the horizon: not of their order, of
duplicates or of the way the horizon moved.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from monitor.stats.candidates import Candidate, Change, Group
from monitor.stats.slot_line import Line

__all__ = ["Candidate", "Change", "Selection"]


class Selection:
    """The records within the horizon and which of their slots count.

    >>> def judged(id, first, last):
    ...     return Candidate("bot", id, 60.0, 61.0, id.encode(), True, True, "t", 0,
    ...                      "with_reference", first, last, None)
    >>> selection = Selection()
    >>> [(c.interaction_id, sign) for c, sign in selection.add(judged("a", 4, 7))]
    [('a', 1)]
    >>> selection.add(judged("b", 6, 9))
    []
    >>> [(c.interaction_id, sign) for c, sign in selection.add(judged("c", 0, 5))]
    [('c', 1), ('a', -1), ('b', 1)]
    >>> len(selection.remove_before(61.0)), list(selection.counted())
    (2, [])
    """

    def __init__(self) -> None:
        self._groups: dict[_Id, Group] = {}
        self._lines: dict[_LineKey, Line] = {}
        self._by_time: list[tuple[float, int, Candidate]] = []
        self._serial = 0
        self._floor = float("-inf")

    def add(self, candidate: Candidate) -> list[Change]:
        """Take in a record: in O(log n) at the end of its partition.

        Ignored are an exact duplicate (the same digest) and a record that an earlier
        ``remove_before`` would have removed.
        """
        if candidate.event_time < self._floor:
            return []
        key = (candidate.application, candidate.interaction_id)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group()
        before = group.best()
        if not group.add(candidate):
            return []
        self._serial += 1
        heapq.heappush(self._by_time, (candidate.event_time, self._serial, candidate))
        return self._exchange([before], [candidate]) if group.best() is candidate else []

    def remove_before(self, event_time: float) -> list[Change]:
        """Forget the records of an earlier event time for good; the next best take over."""
        self._floor = max(self._floor, event_time)
        before: dict[_Id, Candidate | None] = {}
        while self._by_time and self._by_time[0][0] < self._floor:
            candidate = heapq.heappop(self._by_time)[2]
            key = (candidate.application, candidate.interaction_id)
            group = self._groups[key]
            before.setdefault(key, group.best())
            group.remove(candidate)
        gone, come = [], []
        for key, best in before.items():
            now_best = self._groups[key].best()
            if now_best is None:
                del self._groups[key]
            if now_best is not best:
                gone.append(best)
                come.append(now_best)
        return self._exchange(gone, come)

    def __len__(self) -> int:
        """How many records are held, whether they count or stand by."""
        return len(self._by_time)

    def counted(self) -> Iterator[Candidate]:
        """The records whose slot counts, line by line in the order of their offsets."""
        for line in self._lines.values():
            yield from line.counted()

    def _exchange(
        self, gone: Iterable[Candidate | None], come: Iterable[Candidate | None]
    ) -> list[Change]:
        """Replace winners of the first rule in the lines of the second."""
        changes: list[Change] = []
        leaving: dict[_LineKey, list[Candidate]] = {}
        for candidate in gone:
            if candidate is not None and candidate.has_slot:
                leaving.setdefault(_line_key(candidate), []).append(candidate)
        for key, candidates in leaving.items():
            changes += self._lines[key].remove(candidates)
        for candidate in come:
            if candidate is not None and candidate.has_slot:
                key = _line_key(candidate)
                line = self._lines.get(key)
                if line is None:
                    line = self._lines[key] = Line()
                changes += line.add(candidate)
        for key in leaving:
            if not len(self._lines[key]):
                del self._lines[key]
        return _net(changes) if leaving else changes


_Id = tuple[str, str]
_LineKey = tuple[str, int, str, str]


def _line_key(candidate: Candidate) -> _LineKey:
    return candidate.topic, candidate.partition, candidate.application, candidate.kind


def _net(changes: list[Change]) -> list[Change]:
    """Without the changes that undo one another, as when one record replaces another."""
    signs: dict[int, int] = {}
    for candidate, sign in changes:
        signs[id(candidate)] = signs.get(id(candidate), 0) + sign
    candidates = {id(candidate): candidate for candidate, _ in changes}
    return [Change(candidates[key], sign) for key, sign in signs.items() if sign]
