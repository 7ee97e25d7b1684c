"""The scored slots that baselines are learned from, in their order, while there are none yet.

A look at how far learning is must not go through everything that counts: only the slots of
applications and judges without a baseline are kept here, as they come and go; and of the others the
latest, since a baseline that is reset is learned anew from what comes then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Iterator
from typing import Final

from monitor.exporter.scores.folding import JudgedApplication
from monitor.exporter.scores.observation import Observation
from monitor.exporter.scores.scored import Scored, ScoredByHour, teaches
from monitor.runtime.garbage import no_garbage
from monitor.stats.candidates import Candidate

#: For so long in event time, or twice as long, the latest slots are kept where nothing is learned.
KEPT_S: Final = 7_200.0
#: Slots that are forgotten together, in a millisecond.
AT_A_TIME: Final = 10_000


def _ever(_pair: JudgedApplication) -> float:
    return -math.inf


class TrainingSlots:
    """Follows the slots of those for whom ``is_known`` says no.

    ``counted`` gives all that counts: what was known when its slots came, and is not any more, is
    gathered from there, if it is older than what is kept of it for ``kept_s`` seconds. What comes
    and goes while it is looked at need not be given, but nothing that counts no longer may be.
    ``at_a_time`` is how many slots are forgotten together. ``watched``: see ``teaches``.
    """

    def __init__(
        self,
        is_known: Callable[[str, str], bool],
        counted: Callable[[], Iterator[Candidate]],
        kept_s: float = KEPT_S,
        at_a_time: int = AT_A_TIME,
        *,
        watched: Collection[str] = (),
    ) -> None:
        self._is_known, self._counted = is_known, counted
        self._kept_s, self._at_a_time, self._watched = kept_s, at_a_time, watched
        self._scored: dict[JudgedApplication, Scored] = {}
        #: Those whose slots are not all here, and the latest event time of what is not.
        self._passed_over: dict[JudgedApplication, float] = {}
        self._gathering: ScoredByHour | None = None
        self._start = -math.inf

    def __len__(self) -> int:
        """How many applications and judges are learned of."""
        return len(self._scored)

    def apply(self, candidate: Candidate, slot: Observation, sign: int) -> None:
        """A slot counts from now on (+1), or no longer (−1)."""
        pair = candidate.application, slot.judge_label
        scored = self._scored.get(pair)
        place = candidate.event_time, candidate.interaction_id
        if sign < 0:
            if self._gathering is not None:
                self._gathering.take(pair, place)
            if scored is not None:
                scored.take(place)
                if not len(scored):
                    del self._scored[pair]
            return
        if not teaches(slot, self._watched):
            return
        if self._gathering is not None:
            self._gathering.put(pair, place, slot)
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
        if self._gathering is not None:
            self._gathering.drop_before(event_time)
        for pair, scored in list(self._scored.items()):
            scored.drop_before(event_time)
            if not len(scored):
                del self._scored[pair]

    def unknown(
        self, since: Callable[[JudgedApplication], float] = _ever
    ) -> Generator[None, None, list[tuple[JudgedApplication, Scored]]]:
        """Those without a baseline that have scored slots, in order, as of the last step.

        All of their slots with a later event time than ``since`` are there; earlier ones may be.
        """
        missing = set[JudgedApplication]()
        for pair, scored in self._scored.items():
            if self._is_known(*pair):
                self._trim(pair, scored)
        for pair, latest in self._passed_over.items():
            if latest > since(pair) and not self._is_known(*pair):
                missing.add(pair)
        if missing:
            yield from self._gather(missing)
        found = [item for item in self._scored.items() if not self._is_known(*item[0])]
        return sorted(found, key=lambda item: item[0])

    def _gather(self, missing: set[JudgedApplication]) -> Generator[None, None, None]:
        """Nothing of these was passed over, then."""
        self._gathering = ScoredByHour(missing, watched=self._watched)
        try:
            with no_garbage():
                self._scored.update((yield from self._gathering.done(self._counted())))
        finally:
            self._gathering = None
        for pair in missing:
            self._passed_over.pop(pair, None)

    def _trim(self, pair: JudgedApplication, scored: Scored) -> None:
        """Keep the latest only; not with every slot, since what is kept moves then.

        A few at a time: to forget a day of them at once takes a tenth of a second.
        """
        if scored.latest - scored.first > 2 * self._kept_s:
            latest = scored.drop_before(scored.latest - self._kept_s, self._at_a_time)
            self._pass_over(pair, latest)

    def _pass_over(self, pair: JudgedApplication, event_time: float) -> None:
        self._passed_over[pair] = max(event_time, self._passed_over.get(pair, -math.inf))
