"""The scored slots that baselines are learned from, in their order, while there are none yet.

A look at how far learning is must not go through everything that counts: only the slots of
applications and judges without a baseline are kept here, as they come and go; and of the others the
latest, since a baseline that is reset is learned anew from what comes then.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from monitor.export.slots import Slot
from monitor.stats.candidates import Candidate

#: For so long in event time, or twice as long, the latest slots are kept where nothing is learned.
KEPT_S: Final = 7_200.0
#: Application and judge (``name@version``).
Pair = tuple[str, str]
#: Event time in epoch seconds and interaction id: the order of the slots.
Place = tuple[float, str]


def _ever(_pair: Pair) -> float:
    return -math.inf


class Scored:
    """The scored slots of one application and judge."""

    def __init__(self, found: Iterable[tuple[Place, Slot]] = ()) -> None:
        ordered = sorted(found, key=lambda item: item[0])
        self._places = [place for place, _ in ordered]
        self._slots = [slot for _, slot in ordered]

    def __len__(self) -> int:
        return len(self._places)

    @property
    def latest(self) -> float:
        """The event time of the last one; −∞ without any."""
        return self._places[-1][0] if self._places else -math.inf

    def put(self, place: Place, slot: Slot) -> None:
        """Take in a slot; its place must be free."""
        index = bisect_left(self._places, place)
        self._places.insert(index, place)
        self._slots.insert(index, slot)

    def take(self, place: Place) -> None:
        """Take out a slot, if it is there."""
        index = bisect_left(self._places, place)
        if self._places[index : index + 1] == [place]:
            del self._places[index], self._slots[index]

    @property
    def first(self) -> float:
        """The event time of the first one; ∞ without any."""
        return self._places[0][0] if self._places else math.inf

    def drop_before(self, event_time: float) -> float:
        """Forget the slots before this time; the event time of the last of them, −∞ without any."""
        gone = bisect_left(self._places, (event_time, ""))
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

    def __getitem__(self, number: int) -> tuple[float, Slot]:
        """Event time and slot."""
        return self._places[number][0], self._slots[number]


class Pupils:
    """Follows the slots of those for whom ``is_known`` says no.

    ``counted`` gives all that counts: what was known when its slots came, and is not any more, is
    gathered from there, if it is older than what is kept of it for ``kept_s`` seconds.
    """

    def __init__(
        self,
        is_known: Callable[[str, str], bool],
        counted: Callable[[], Iterable[Candidate]],
        kept_s: float = KEPT_S,
    ) -> None:
        self._is_known, self._counted, self._kept_s = is_known, counted, kept_s
        self._scored: dict[Pair, Scored] = {}
        #: Those whose slots are not all here, and the latest event time of what is not.
        self._passed_over: dict[Pair, float] = {}
        self._start = -math.inf

    def __len__(self) -> int:
        """How many applications and judges are learned of."""
        return len(self._scored)

    def apply(self, candidate: Candidate, slot: Slot, sign: int) -> None:
        """A slot counts from now on (+1), or no longer (−1)."""
        pair = candidate.application, slot.judge_label
        scored = self._scored.get(pair)
        place = candidate.event_time, candidate.interaction_id
        if sign < 0:
            if scored is not None:
                scored.take(place)
                if not len(scored):
                    del self._scored[pair]
            return
        if not _teaches(slot):
            return
        if scored is None:
            scored = self._scored[pair] = Scored()
        is_known = self._is_known(*pair)
        if is_known and candidate.event_time < scored.latest - self._kept_s:
            self._pass_over(pair, candidate.event_time)
            return
        scored.put(place, slot)
        if is_known:
            self._trim(pair, scored)

    def drop_before(self, event_time: float) -> None:
        """Forget the slots before this time."""
        if event_time <= self._start:
            return
        self._start = event_time
        self._passed_over = {p: t for p, t in self._passed_over.items() if t >= event_time}
        for pair, scored in list(self._scored.items()):
            scored.drop_before(event_time)
            if not len(scored):
                del self._scored[pair]

    def unknown(self, since: Callable[[Pair], float] = _ever) -> list[tuple[Pair, Scored]]:
        """Those without a baseline that have scored slots, in order.

        All of their slots with a later event time than ``since`` are there; earlier ones may be.
        """
        missing = set[Pair]()
        for pair, scored in self._scored.items():
            if self._is_known(*pair):
                self._trim(pair, scored)
        for pair, latest in self._passed_over.items():
            if latest > since(pair) and not self._is_known(*pair):
                missing.add(pair)
        if missing:
            for pair in missing:
                del self._passed_over[pair]
            self._scored.update(gathered(self._counted(), missing.__contains__))
        found = [item for item in self._scored.items() if not self._is_known(*item[0])]
        return sorted(found, key=lambda item: item[0])

    def _trim(self, pair: Pair, scored: Scored) -> None:
        """Keep the latest only; not with every slot, since what is kept moves then."""
        if scored.latest - scored.first > 2 * self._kept_s:
            self._pass_over(pair, scored.drop_before(scored.latest - self._kept_s))

    def _pass_over(self, pair: Pair, event_time: float) -> None:
        self._passed_over[pair] = max(event_time, self._passed_over.get(pair, -math.inf))


def gathered(counted: Iterable[Candidate], wanted: Callable[[Pair], bool]) -> dict[Pair, Scored]:
    """The scored slots of the wanted ones, from all that count."""
    found: dict[Pair, list[tuple[Place, Slot]]] = {}
    for candidate in counted:
        slot = candidate.payload
        if isinstance(slot, Slot) and _teaches(slot):
            pair = candidate.application, slot.judge_label
            if wanted(pair):
                place = candidate.event_time, candidate.interaction_id
                found.setdefault(pair, []).append((place, slot))
    return {pair: Scored(items) for pair, items in found.items()}


def _teaches(slot: Slot) -> bool:
    return any(value is not None for value in slot.numbers)
