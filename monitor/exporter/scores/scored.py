"""The scored slots of an application and judge, in their order; and gathered from all that counts.

A day of slots takes a second to gather. It is done in steps, and slots may come and go between
them: the result is what counts at its end.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from typing import Final

from monitor.exporter.scores.folding import JudgedApplication
from monitor.exporter.scores.observation import NO_CONTENT, Observation
from monitor.exporter.scores.rebuilding import hour_of
from monitor.stats.candidates import Candidate
from monitor.stats.evidence_sequence import PickPlace

#: Event time in seconds up to which the same answer says nothing new.
WITHIN_S: Final = 3_600.0
#: Candidates looked at in a step, which takes a millisecond.
STEP: Final = 500


class Scored:
    """The scored slots of one application and judge."""

    def __init__(self, found: Iterable[tuple[PickPlace, Observation]] = ()) -> None:
        ordered = sorted(found, key=lambda item: item[0])
        self._places = [place for place, _ in ordered]
        self._slots = [slot for _, slot in ordered]

    def __len__(self) -> int:
        return len(self._places)

    @property
    def latest(self) -> float:
        """The event time of the last one; −∞ without any."""
        return self._places[-1][0] if self._places else -math.inf

    def put(self, place: PickPlace, slot: Observation) -> None:
        """Take in a slot; its place must be free."""
        index = bisect_left(self._places, place)
        self._places.insert(index, place)
        self._slots.insert(index, slot)

    def take(self, place: PickPlace) -> None:
        """Take out a slot, if it is there."""
        index = bisect_left(self._places, place)
        if self._places[index : index + 1] == [place]:
            del self._places[index], self._slots[index]

    def extend(self, found: Sequence[tuple[PickPlace, Observation]]) -> None:
        """Take in slots in their order, all of them behind what is there."""
        self._places += [place for place, _ in found]
        self._slots += [slot for _, slot in found]

    @property
    def first(self) -> float:
        """The event time of the first one; ∞ without any."""
        return self._places[0][0] if self._places else math.inf

    def drop_before(self, event_time: float, most: int | None = None) -> float:
        """Forget the slots before this time, the first ``most`` of them.

        Gives the event time of the last of them, −∞ without any.
        """
        beyond = len(self) if most is None else min(most, len(self))
        gone = bisect_left(self._places, (event_time, ""), hi=beyond)
        latest = self._places[gone - 1][0] if gone else -math.inf
        del self._places[:gone], self._slots[:gone]
        return latest

    def between(self, after: float, until: float) -> Sequence[int]:
        """The numbers of the slots with after < event time ≤ until."""
        first, beyond = (
            bisect_left(self._places, (math.nextafter(time, math.inf), ""))
            for time in (after, until)
        )
        return range(first, beyond)

    def new(self, numbers: Sequence[int]) -> Sequence[int]:
        """Those of some slots, in their order, whose answer was not given within the hour before.

        ``numbers`` itself where none was.
        """
        latest: dict[int, float] = {}
        found = []
        for number in numbers:
            content, at = self._slots[number].content, self._places[number][0]
            if content == NO_CONTENT or at - latest.get(content, -math.inf) > WITHIN_S:
                found.append(number)
            if content != NO_CONTENT:
                latest[content] = at
        return found if len(found) < len(numbers) else numbers

    def span(self, numbers: range) -> list[tuple[float, Observation]]:
        """Event times and slots of numbers in a row: a third of the time of one by one."""
        which = slice(numbers.start, numbers.stop)
        times = (at for at, _ in self._places[which])
        return list(zip(times, self._slots[which], strict=True))

    def __getitem__(self, number: int) -> tuple[float, Observation]:
        """Event time and slot."""
        return self._places[number][0], self._slots[number]


class ScoredByHour:
    """All scored slots of some applications and judges, on their way to being in order.

    Whoever changes what counts between two steps says so here, too. ``step`` is how many candidates
    are looked at in one. ``watched``: see ``teaches``.
    """

    def __init__(
        self,
        pairs: Iterable[JudgedApplication],
        step: int = STEP,
        watched: Collection[str] = (),
    ) -> None:
        self._parts = {pair: _ScoredPart() for pair in pairs}
        self._step, self._watched = step, watched

    def put(self, pair: JudgedApplication, place: PickPlace, slot: Observation) -> None:
        """A slot that teaches counts."""
        if (part := self._parts.get(pair)) is not None:
            part.put(place, slot)

    def take(self, pair: JudgedApplication, place: PickPlace) -> None:
        """A slot counts no longer."""
        if (part := self._parts.get(pair)) is not None:
            part.take(place)

    def drop_before(self, event_time: float) -> None:
        """The slots before this time are forgotten."""
        for part in self._parts.values():
            part.drop_before(event_time)

    def done(
        self, counted: Iterator[Candidate]
    ) -> Generator[None, None, dict[JudgedApplication, Scored]]:
        """The slots of those that have any, as of the last step.

        ``counted`` is looked at bit by bit, and gives nothing that counts no longer.
        """
        for number, candidate in enumerate(counted, 1):
            slot = candidate.payload
            if isinstance(slot, Observation) and teaches(slot, self._watched):
                place = candidate.event_time, candidate.interaction_id
                self.put((candidate.application, slot.judge_label), place, slot)
            if number % self._step == 0:
                yield
        for part in self._parts.values():
            yield from part.ordered()
        return {pair: part.scored for pair, part in self._parts.items() if len(part.scored)}


class _ScoredPart:
    """The slots of one application and judge, by hours until they are in order."""

    def __init__(self) -> None:
        self.scored = Scored()
        self._hours: dict[int, dict[PickPlace, Observation]] = {}
        #: Up to this hour they are.
        self._ordered = -math.inf

    def put(self, place: PickPlace, slot: Observation) -> None:
        hour = hour_of(place[0])
        if hour <= self._ordered:
            self.scored.put(place, slot)
        else:
            self._hours.setdefault(hour, {})[place] = slot

    def take(self, place: PickPlace) -> None:
        hour = hour_of(place[0])
        if hour <= self._ordered:
            self.scored.take(place)
        else:
            self._hours.get(hour, {}).pop(place, None)

    def drop_before(self, event_time: float) -> None:
        self.scored.drop_before(event_time)
        limit = hour_of(event_time)
        for hour in [hour for hour in self._hours if hour <= limit]:
            kept = {p: slot for p, slot in self._hours.pop(hour).items() if p[0] >= event_time}
            if kept:
                self._hours[hour] = kept

    def ordered(self) -> Iterator[None]:
        """Put them in order, an hour a step."""
        while self._hours:
            self._ordered = hour = min(self._hours)
            self.scored.extend(sorted(self._hours.pop(hour).items(), key=_place))
            yield
        self._ordered = math.inf  # what comes now, while others are put in order, has its place


def _place(item: tuple[PickPlace, Observation]) -> PickPlace:
    return item[0]


def gathered(
    counted: Iterable[Candidate], wanted: Callable[[JudgedApplication], bool]
) -> dict[JudgedApplication, Scored]:
    """The scored slots of the wanted ones, from all that count."""
    found: dict[JudgedApplication, list[tuple[PickPlace, Observation]]] = {}
    for candidate in counted:
        slot = candidate.payload
        if isinstance(slot, Observation) and teaches(slot):
            pair = candidate.application, slot.judge_label
            if wanted(pair):
                place = candidate.event_time, candidate.interaction_id
                found.setdefault(pair, []).append((place, slot))
    return {pair: Scored(items) for pair, items in found.items()}


def teaches(slot: Observation, watched: Collection[str] = ()) -> bool:
    """Whether there is something to learn from it: a value of a ``watched`` metric, or of any.

    A lesson of values that nobody watches would end the wait for those of a metric that few have.
    """
    return any(
        value is not None and (not watched or name in watched) for name, value in slot.values
    )
