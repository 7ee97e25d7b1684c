"""The evidence of one series over its slots in the order of their event times.

Slots come and go in any order; the evidence is a function of the slots held, the start, the end
and the threshold. A slot that comes late recomputes from its ten minutes.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from monitor.stats.drift import (
    NO_EVIDENCE,
    Deviation,
    DriftEvidence,
    after,
    ceiling,
    threshold_closing_at,
    threshold_scaled_at,
)
from monitor.stats.recent_mix import Parts, RecentMix
from monitor.stats.silence import OVER_AFTER_S, ends_alarms

#: A recursion remembers how it stood this often, in seconds of event time.
REMEMBERED_S: Final = 600

#: Event time in epoch seconds and interaction id: the order of the slots.
PickPlace = tuple[float, str]
_LAST: Final = "\U0010ffff"
#: Rounding of a product of a threshold and a share of it, generously.
_ROUNDING: Final = 1e-9
#: Slots let go of in a step, which takes a millisecond.
_LET_GO: Final = 5_000


class ComparedSlot(NamedTuple):
    """A slot as it is held: its deviation, and what it says of the mix of the traffic."""

    deviation: Deviation
    parts: Parts = ()


class EvidenceSequence:
    """The slots of one metric, application and judge that have a baseline.

    ``mix`` is what the baseline knows of segments before the first slot, ``dependence`` V.

    >>> sequence = EvidenceSequence()
    >>> sequence.put((60.0, "a"), ComparedSlot(Deviation(0.5, 0.25)))
    >>> sequence.put((0.0, "b"), ComparedSlot(Deviation(0.0, 0.25)))
    >>> sequence.evidence(0.0, 59.0, 1e4).combined, sequence.evidence(0.0, 60.0, 1e4).bets[3]
    (1.0, 4.0)
    """

    def __init__(self, mix: RecentMix | None = None, dependence: float = 1.0) -> None:
        self._mix, self._dependence = mix, dependence
        self._places: list[PickPlace] = []
        self._held: list[ComparedSlot] = []
        self._runs: dict[float, _Run] = {}
        self._carried: Mapping[float, DriftEvidence] = {}

    def __len__(self) -> int:
        return len(self._places)

    def put(self, place: PickPlace, held: ComparedSlot) -> None:
        """Take in a slot; its place must be free."""
        if not self._places or place > self._places[-1]:
            self._places.append(place)
            self._held.append(held)
        else:
            index = bisect_left(self._places, place)
            self._places.insert(index, place)
            self._held.insert(index, held)
        self._forget_from(place)

    def take(self, place: PickPlace) -> None:
        """Take out a slot that was put in."""
        index = bisect_left(self._places, place)
        if self._places[index : index + 1] != [place]:
            raise KeyError(place)
        del self._places[index], self._held[index]
        self._forget_from(place)

    def carry(self, carried: Mapping[float, DriftEvidence]) -> None:
        """Recursions from these starts begin with this evidence; all others begin with none.

        >>> sequence = EvidenceSequence()
        >>> sequence.put((60.0, "a"), ComparedSlot(Deviation(0.5, 0.25)))
        >>> sequence.carry({0.0: DriftEvidence((1.0,) * 5, True, 1.0)})
        >>> sequence.evidence(0.0, 60.0, 1.0).bets[3], sequence.evidence(60.0, 60.0, 1.0).bets[3]
        (4.0, 2.0)
        """
        before = self._carried
        if carried != before:
            for start in {*before, *carried}:
                if before.get(start) != carried.get(start):
                    self._runs.pop(start, None)
            self._carried = dict(carried)

    def stood(self, start: float, at: float) -> DriftEvidence:
        """The evidence since ``start`` before the slots from ``at`` on, a multiple of 600 s.

        As far as it was asked for: ``evidence`` comes first.
        """
        run = self._runs.get(start)
        return self._carried.get(start, NO_EVIDENCE) if run is None else run.stood(_span(at))

    def evidence(self, start: float, end: float, threshold: float) -> DriftEvidence | None:
        """Over the slots with start ≤ event time ≤ end, beginning with none; None without a slot.

        Or with what was carried to the start.

        ``threshold`` is A. Starts that are not asked for again should be dropped by ``keep``.
        """
        return self._follow(start, end, threshold, len(self._places))

    def left(self, start: float, end: float) -> int:
        """How many steps ``evidence`` would take."""
        run, place = self._runs.get(start), (start, "")
        beyond = bisect_right(self._places, (end, _LAST))
        following = bisect_left(self._places, place)
        if run is not None:
            following = max(following, bisect_right(self._places, run.place))
        return max(0, beyond - following)

    def prepare(self, start: float, end: float, threshold: float, most: int) -> None:
        """Take at most so many steps towards what ``evidence`` will be asked for later."""
        self._follow(start, end, threshold, most)

    def _follow(
        self, start: float, end: float, threshold: float, most: int
    ) -> DriftEvidence | None:
        run = self._runs.get(start)
        if run is None:
            mix = None if self._mix is None else self._mix.copy()
            begin = self._carried.get(start, NO_EVIDENCE)
            run = self._runs[start] = _Run(threshold, self._dependence, mix, begin)
        run.hold_for(threshold)
        first = bisect_left(self._places, (start, ""))
        beyond = bisect_right(self._places, (end, _LAST))
        run.rewind(end)
        following = max(first, bisect_right(self._places, run.place))
        for index in range(following, min(beyond, following + most)):
            held = self._held[index]
            if run.evidence.is_open and _is_after_silence(self._places, first, index):
                held = _after_silence(held)
            run.step(self._places[index], held)
        return run.evidence if beyond > first else None

    def between(self, after: float, end: float) -> int:
        """How many slots there are with after < event time ≤ end."""
        first = bisect_right(self._places, (after, _LAST))
        return max(0, bisect_right(self._places, (end, _LAST)) - first)

    def newest(self, start: float, end: float) -> tuple[PickPlace, float] | None:
        """The last slot with start ≤ event time ≤ end, and the mean gap between them, in seconds.

        >>> sequence = EvidenceSequence()
        >>> for at in (0.0, 30.0, 50.0): sequence.put((at, "a"), ComparedSlot(Deviation(0.5, 0.25)))
        >>> sequence.newest(0.0, 60.0), sequence.newest(10.0, 60.0), sequence.newest(51.0, 60.0)
        (((50.0, 'a'), 25.0), ((50.0, 'a'), 20.0), None)
        """
        first = bisect_left(self._places, (start, ""))
        last = bisect_right(self._places, (end, _LAST)) - 1
        return (self._places[last], _gap_s(self._places, first, last)) if last >= first else None

    def snapshot(self, start: float, end: float) -> Callable[[], list[tuple[PickPlace, Deviation]]]:
        """The slots up to ``end`` in their order; those from ``start`` on as evidence has them.

        They are those of now, put together when they are asked for, in any thread.
        """
        beyond = bisect_right(self._places, (end, _LAST))
        first = min(beyond, bisect_left(self._places, (start, "")))
        slots = self._places[:beyond], self._held[:beyond]
        known = self._mix

        def made() -> list[tuple[PickPlace, Deviation]]:
            mix = None if known is None else known.copy()
            found = []
            for number, (place, held) in enumerate(zip(*slots, strict=True)):
                deviation = _deviation(held, mix if number >= first else None)
                if number > first and _is_after_silence(slots[0], first, number):
                    deviation = deviation._replace(after_silence=True)
                found.append((place, deviation))
            return found

        return made

    def drop_before(self, event_time: float) -> None:
        """Forget the slots before this time; a start before it is not asked for any more."""
        gone = bisect_left(self._places, (event_time, ""))
        del self._places[:gone], self._held[:gone]

    def emptied(self) -> Iterator[None]:
        """Let go of all slots step by step; nothing is asked for any more.

        Whoever drops a day of them at once waits a tenth of a second.
        """
        while self._places:
            del self._places[-_LET_GO:], self._held[-_LET_GO:]
            yield

    def keep(self, starts: set[float]) -> None:
        """Forget the recursions of other starts."""
        self._runs = {start: run for start, run in self._runs.items() if start in starts}

    def _forget_from(self, place: PickPlace) -> None:
        for run in self._runs.values():
            run.forget_from(place)


def _deviation(held: ComparedSlot, mix: RecentMix | None) -> Deviation:
    """The slot's deviation beside the mix before it, which the slot then joins."""
    deviation = held.deviation
    if mix is not None:
        margin = mix.margin()
        if margin > 0.0:
            deviation = deviation.against_more(margin)
        mix.add(held.parts)
    return deviation


def _gap_s(places: list[PickPlace], first: int, last: int) -> float:
    """The mean time from one slot to the next."""
    return (places[last][0] - places[first][0]) / max(1, last - first)


def _is_after_silence(places: list[PickPlace], first: int, index: int) -> bool:
    """Whether what was open before a slot is over; the mean gap is that of the run, from first."""
    if index <= first:
        return False
    silence_s = places[index][0] - places[index - 1][0]
    # So short that no gap matters: nearly always.
    if silence_s <= OVER_AFTER_S:
        return False
    return ends_alarms(silence_s, _gap_s(places, first, index - 1))


def _after_silence(held: ComparedSlot) -> ComparedSlot:
    return held._replace(deviation=held.deviation._replace(after_silence=True))


class _Remembered(NamedTuple):
    """How a recursion stood before a slot; ``low`` < A ≤ ``high`` leads there, too."""

    evidence: DriftEvidence
    place: PickPlace
    low: float
    high: float
    mix: RecentMix | None

    def same_at(self, threshold: float) -> bool:
        return self.low < threshold <= self.high


class _Run:
    """One recursion: where it stands, and how it stood when each ten minutes began.

    What is asked of R is whether it is at least A, ``closing`` and ``ceiling`` of A. So the steps
    are the same at any threshold of a range that the answers so far leave open, and only others
    go back.
    """

    def __init__(
        self, threshold: float, dependence: float, mix: RecentMix | None, begin: DriftEvidence
    ) -> None:
        self._threshold, self._dependence = threshold, dependence
        self.evidence = begin
        self.place: PickPlace = (-math.inf, "")
        self._mix = mix
        self._low, self._high = -math.inf, math.inf
        self._spans: list[int] = []
        self._stood: list[_Remembered] = []

    def hold_for(self, threshold: float) -> None:
        """Go back as far as the steps would not have been the same at another threshold."""
        if threshold != self._threshold and not self._low < threshold <= self._high:
            same = bisect_left(self._stood, True, key=lambda stood: not stood.same_at(threshold))
            self._back_to(self._spans[same - 1])
        self._threshold = threshold

    def step(self, place: PickPlace, held: ComparedSlot) -> None:
        """One slot further."""
        span = _span(place[0])
        if not self._spans or span > self._spans[-1]:
            self._spans.append(span)
            self._stood.append(self._remembered())
        was_open = self.evidence.is_open and not held.deviation.after_silence
        deviation = held.deviation if self._mix is None else _deviation(held, self._mix)
        self.evidence = after(self.evidence, deviation, self._threshold, self._dependence)
        self.place = place
        reached = self.evidence.reached
        if not was_open and reached < self._threshold:
            if reached > self._low:
                self._low = reached
        else:
            self._narrow(reached, was_open=was_open)

    def _narrow(self, reached: float, *, was_open: bool) -> None:
        """Which thresholds would have opened, kept or closed an alarm with R as this one did."""
        bound = threshold_closing_at(reached) if was_open else reached
        if not self.evidence.is_open:
            self._low = max(self._low, bound * (1.0 + _ROUNDING))
            return
        self._high = min(self._high, bound * (1.0 - _ROUNDING) if was_open else bound)
        scaled = reached > ceiling(self._threshold)
        least = threshold_scaled_at(reached) * (1.0 + _ROUNDING)
        self._low = math.inf if scaled else max(self._low, least)

    def stood(self, span: int) -> DriftEvidence:
        """How it stood before the first slot of these ten minutes, or of later ones."""
        index = bisect_left(self._spans, span)
        return self._stood[index].evidence if index < len(self._spans) else self.evidence

    def forget_from(self, place: PickPlace) -> None:
        """Back to the beginning of the place's ten minutes, if that far has been gone already."""
        if place <= self.place:
            self._back_to(_span(place[0]))

    def rewind(self, end: float) -> None:
        """Back, if further has been gone than to ``end`` (the clock was set back)."""
        if self.place[0] > end:
            self._back_to(_span(end))

    def _remembered(self) -> _Remembered:
        mix = None if self._mix is None else self._mix.copy()
        return _Remembered(self.evidence, self.place, self._low, self._high, mix)

    def _back_to(self, span: int) -> None:
        index = bisect_left(self._spans, span)
        if index < len(self._spans):
            self.evidence, self.place, self._low, self._high, self._mix = self._stood[index]
            del self._spans[index:], self._stood[index:]


def _span(event_time: float) -> int:
    return math.floor(event_time) // REMEMBERED_S
