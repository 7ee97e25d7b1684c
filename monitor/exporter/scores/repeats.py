"""Answers that are given again: they count for the gauges, and once for evidence.

A question that is asked a hundred times within an hour, and has the same answer each time, says
one thing about the quality and not a hundred. What is a repeat depends on the slots that count, and
not on their order: the first one of a time may come last.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from monitor.exporter.scores.observation import NO_CONTENT, Observation
from monitor.exporter.scores.rebuilding import hour_of
from monitor.exporter.scores.scored import WITHIN_S, teaches
from monitor.stats.candidates import Candidate, SlotChange
from monitor.stats.evidence_sequence import PickPlace

#: Slots that are forgotten together, in a few milliseconds.
_AT_A_TIME: Final = 5_000


class Repeats:
    """The slots whose question and response are known, by these; each in order of its event time.

    A slot is a repeat when the one before it, with the same content, is not older than an hour.
    """

    def __init__(self) -> None:
        self._alike: dict[int, list[Candidate]] = {}
        #: By hours of event time, so that a period is dropped without looking at all of it.
        self._hours: dict[int, list[Candidate]] = {}
        self._start = float("-inf")

    def changes(self, candidate: Candidate, sign: int) -> list[SlotChange]:
        """What changes for evidence when a slot comes (+1), or goes (−1)."""
        content = content_of(candidate)
        if content == NO_CONTENT:
            return [SlotChange(candidate, sign)]
        if sign < 0:
            return [*self._go(candidate, content)]
        self._hours.setdefault(hour_of(candidate.event_time), []).append(candidate)
        return [*self._come(candidate, content)]

    def drop_before(self, start: float) -> list[SlotChange]:
        """Forget the slots before this event time: what repeats only them is none any more."""
        if start <= self._start:
            self._forget()
            return []
        self._start = start
        changes: list[SlotChange] = []
        for hour in range(hour_of(start - WITHIN_S), hour_of(start) + 1):
            held = self._hours.pop(hour, [])
            gone = [one for one in held if one.event_time < start]
            if len(gone) < len(held):
                self._hours[hour] = [one for one in held if one.event_time >= start]
            for one in sorted(gone, key=_place):
                changes += self._go(one, content_of(one))
        return [change for change in changes if change.candidate.event_time >= start]

    def _forget(self) -> None:
        """Let go of some of what is too old to be repeated."""
        oldest = min(self._hours, default=None)
        if oldest is None or oldest >= hour_of(self._start - WITHIN_S):
            return
        held = self._hours[oldest]
        for one in held[-_AT_A_TIME:]:
            for _ in self._go(one, content_of(one)):
                pass
        del held[-_AT_A_TIME:]
        if not held:
            del self._hours[oldest]

    def _come(self, candidate: Candidate, content: int) -> Iterator[SlotChange]:
        alike = self._alike.setdefault(content, [])
        index = bisect_left(alike, _place(candidate), key=_place)
        before, after = alike[max(0, index - 1) : index], alike[index : index + 1]
        alike.insert(index, candidate)
        for later in after:
            if _is_soon(candidate, later) and not _repeats(before, later):
                yield SlotChange(later, -1)
        if not _repeats(before, candidate):
            yield SlotChange(candidate, +1)

    def _go(self, candidate: Candidate, content: int) -> Iterator[SlotChange]:
        alike = self._alike.get(content, [])
        index = bisect_left(alike, _place(candidate), key=_place)
        if alike[index : index + 1] != [candidate]:
            return  # forgotten together with all others of its time
        del alike[index]
        if not alike:
            del self._alike[content]
        before, after = alike[max(0, index - 1) : index], alike[index : index + 1]
        if not _repeats(before, candidate):
            yield SlotChange(candidate, -1)
        for later in after:
            if _is_soon(candidate, later) and not _repeats(before, later):
                yield SlotChange(later, +1)


def content_of(candidate: Candidate) -> int:
    """What a scored slot says, as a number; ``NO_CONTENT`` of others, and where it is not known."""
    slot = candidate.payload
    if isinstance(slot, Observation) and slot.content != NO_CONTENT and teaches(slot):
        return slot.content
    return NO_CONTENT


def _repeats(before: list[Candidate], candidate: Candidate) -> bool:
    return any(_is_soon(one, candidate) for one in before)


def _is_soon(earlier: Candidate, later: Candidate) -> bool:
    return later.event_time - earlier.event_time <= WITHIN_S


def _place(candidate: Candidate) -> PickPlace:
    return candidate.event_time, candidate.interaction_id
