"""Which score records count, kept up to date while records come and go.

Two rules, in this order:

1. One record per application and interaction id: one with a slot before one without, of a trace
   the one of most spans, with values before failed, then the latest ``judged_at``, then the larger
   SHA-256 of the record.
2. One slot per offset: the slots of those records, per topic, partition, application and kind,
   are walked by first offset, longest first, ties by interaction id; a slot that overlaps the last
   one counted does not count. Neither rule looks at a value, so neither biases a mean.

What counts is a function of the set of records within the horizon: not of their order, of
duplicates or of the way the horizon moved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

from monitor.stats.candidates import Candidate, CandidateGroup, SlotChange
from monitor.stats.slot_line import Dropped, SlotLine

__all__ = ["Candidate", "Dropped", "Selection", "SlotChange"]


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
        self._groups: dict[_Id, CandidateGroup] = {}
        self._alone: dict[_Id, Candidate] = {}
        #: By application and line.
        self._lines: dict[str, dict[_LineKey, SlotLine]] = {}
        #: Those with slots that do not count: next to none.
        self._overlapping: dict[tuple[str, _LineKey], SlotLine] = {}
        self._by_time: dict[int, list[Candidate]] = {}
        self._held = 0
        self._floor = float("-inf")

    def add(self, candidate: Candidate) -> list[SlotChange]:
        """Take in a record: in O(log n) at the end of its partition.

        Ignored are an exact duplicate (the same digest) and a record that an earlier
        ``remove_before`` would have removed.
        """
        if candidate.event_time < self._floor:
            return []
        key = (candidate.application, candidate.interaction_id)
        if key not in self._alone and key not in self._groups:
            self._alone[key] = candidate
            self._hold(candidate)
            return self._exchange([], [candidate])
        group = self._group(key)
        before = group.best()
        if not group.add(candidate):
            return []
        self._hold(candidate)
        return self._exchange([before], [candidate]) if group.best() is candidate else []

    def remove_before(self, event_time: float) -> list[SlotChange]:
        """Forget the records of an earlier event time for good; the next best take over."""
        self._floor = max(self._floor, event_time)
        gone: list[Candidate | None] = []
        before: dict[_Id, Candidate | None] = {}
        for candidate in self._overdue():
            key = (candidate.application, candidate.interaction_id)
            if self._alone.pop(key, None) is not None:
                gone.append(candidate)
                continue
            group = self._groups[key]
            before.setdefault(key, group.best())
            group.remove(candidate)
        come = []
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
        return self._held

    def counted(self) -> Iterator[Candidate]:
        """The records whose slot counts, line by line in the order of their offsets."""
        for application in list(self._lines):
            yield from self.counted_of(application)

    def applications(self) -> Iterable[str]:
        """Those that have slots."""
        return self._lines.keys()

    def counted_of(self, application: str) -> Iterator[Candidate]:
        """Those of one application; of a change meanwhile only what ends may be seen."""
        for line in list(self._lines.get(application, {}).values()):
            yield from line.counted()

    def dropped(self) -> Dropped:
        """The slots that the second rule leaves out, and what that costs."""
        total = Dropped(0, 0)
        for line in self._overlapping.values():
            total = total.plus(line.dropped())
        return total

    def _group(self, key: _Id) -> CandidateGroup:
        """The records of an interaction that has more than one."""
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = CandidateGroup()
            group.add(self._alone.pop(key))
        return group

    def _hold(self, candidate: Candidate) -> None:
        self._held += 1
        self._by_time.setdefault(_span(candidate.event_time), []).append(candidate)

    def _overdue(self) -> list[Candidate]:
        """Let go of the records from before the floor: whole spans, and a part of one."""
        found: list[Candidate] = []
        limit = _span(self._floor)
        for span in sorted(span for span in self._by_time if span <= limit):
            held = self._by_time.pop(span)
            found += [candidate for candidate in held if candidate.event_time < self._floor]
            stays = [candidate for candidate in held if candidate.event_time >= self._floor]
            if stays:
                self._by_time[span] = stays
        self._held -= len(found)
        return found

    def _exchange(
        self, gone: Iterable[Candidate | None], come: Iterable[Candidate | None]
    ) -> list[SlotChange]:
        """Replace winners of the first rule in the lines of the second."""
        changes: list[SlotChange] = []
        leaving: dict[tuple[str, _LineKey], list[Candidate]] = {}
        for candidate in gone:
            if candidate is not None and candidate.has_slot:
                place = candidate.application, _line_key(candidate)
                leaving.setdefault(place, []).append(candidate)
        for (application, key), candidates in leaving.items():
            line = self._lines[application][key]
            changes += line.remove(candidates)
            self._look_at(application, key, line)
        for candidate in come:
            if candidate is not None and candidate.has_slot:
                key = _line_key(candidate)
                lines = self._lines.setdefault(candidate.application, {})
                if key not in lines:
                    lines[key] = SlotLine()
                changes += lines[key].add(candidate)
                self._look_at(candidate.application, key, lines[key])
        for application, key in leaving:
            lines = self._lines[application]
            if not len(lines[key]):
                del lines[key]
                if not lines:
                    del self._lines[application]
        return _net(changes) if leaving else changes

    def _look_at(self, application: str, key: _LineKey, line: SlotLine) -> None:
        """A line has changed: whether all of it counts is known without looking at all lines."""
        if line.is_whole:
            if self._overlapping:
                self._overlapping.pop((application, key), None)
        else:
            self._overlapping[application, key] = line


_Id = tuple[str, str]
#: Records are let go of by event time in spans of so many seconds.
_SPAN_S: Final = 600
#: Topic, partition and kind.
_LineKey = tuple[str, int, str]


def _span(event_time: float) -> int:
    return math.floor(event_time) // _SPAN_S


def _line_key(candidate: Candidate) -> _LineKey:
    return candidate.topic, candidate.partition, candidate.kind


def _net(changes: list[SlotChange]) -> list[SlotChange]:
    """Without the changes that undo one another, as when one record replaces another."""
    if all(sign < 0 for _, sign in changes):
        return changes
    signs: dict[int, int] = {}
    for candidate, sign in changes:
        signs[id(candidate)] = signs.get(id(candidate), 0) + sign
    candidates = {id(candidate): candidate for candidate, _ in changes}
    return [SlotChange(candidates[key], sign) for key, sign in signs.items() if sign]
