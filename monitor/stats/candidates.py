"""Which record stands for an interaction that was judged more than once."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple


class Candidate(NamedTuple):
    """One score record, as far as choosing needs it; times in seconds since the epoch.

    ``digest`` is the SHA-256 of the record. Offsets (both inclusive, 0 or more) are ignored
    without a slot. ``payload`` is the caller's and never looked at. ``spans``: it was put together
    of so many, 0 where it stood in one record.
    """

    application: str
    interaction_id: str
    event_time: float
    judged_at: float
    digest: bytes
    has_slot: bool
    has_values: bool
    topic: str
    partition: int
    kind: str
    first_offset: int
    last_offset: int
    payload: object
    spans: int = 0


class SlotChange(NamedTuple):
    """A slot that now counts (sign +1) or no longer counts (sign −1)."""

    candidate: Candidate
    sign: int


_Rank = tuple[bool, int, bool, float, bytes]


class CandidateGroup:
    """The records of one interaction in the order of the first rule, the best one last."""

    __slots__ = ("_candidates",)

    def __init__(self) -> None:
        self._candidates: list[Candidate] = []

    def best(self) -> Candidate | None:
        """The record that stands for the interaction; None when all were removed."""
        return self._candidates[-1] if self._candidates else None

    def add(self, candidate: Candidate) -> bool:
        """Take in a record; False when it is an exact duplicate."""
        place = self._place(candidate)
        found = self._candidates[place : place + 1]
        if found and _rank(found[0]) == _rank(candidate):
            return False
        self._candidates.insert(place, candidate)
        return True

    def remove(self, candidate: Candidate) -> None:
        """Forget a record that was taken in."""
        del self._candidates[self._place(candidate)]

    def _place(self, candidate: Candidate) -> int:
        return bisect_left(self._candidates, _rank(candidate), key=_rank)


def _rank(candidate: Candidate) -> _Rank:
    # Of a trace that was judged twice, one time may have seen only a part of it.
    return (
        candidate.has_slot,
        candidate.spans,
        candidate.has_values,
        candidate.judged_at,
        candidate.digest,
    )
