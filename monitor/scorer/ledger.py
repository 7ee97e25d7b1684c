"""How every interaction ended, counted only here: as ``intake``, ``slots`` and ``judging`` say."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Final

from monitor.records import Outcome
from monitor.telemetry import ScorerTelemetry

#: Seconds that count as lately, and in which of them each count falls.
LATELY_S: Final = 300.0
_STEP_S: Final = 10.0

OutcomeKey = tuple[Outcome, str]


class LateCounts:
    """What was counted lately, to ten seconds.

    >>> late = LateCounts()
    >>> late.add((Outcome.SCORED, ""), 2, now=5.0); late.add((Outcome.SCORED, ""), 1, now=290.0)
    >>> [late.within(now)[Outcome.SCORED, ""] for now in (300.0, 311.0, 700.0)]
    [3, 1, 0]
    """

    def __init__(self) -> None:
        self._steps: deque[tuple[int, Counter[OutcomeKey]]] = deque()

    def add(self, key: OutcomeKey, count: int, now: float) -> None:
        """So many more at ``now`` (seconds)."""
        step = int(now // _STEP_S)
        if not self._steps or self._steps[-1][0] != step:
            self._forget(now)
            self._steps.append((step, Counter()))
        self._steps[-1][1][key] += count

    def within(self, now: float) -> Counter[OutcomeKey]:
        """The sum of the last five minutes."""
        self._forget(now)
        return sum((counts for _, counts in self._steps), Counter[OutcomeKey]())

    def _forget(self, now: float) -> None:
        oldest = (now - LATELY_S) // _STEP_S
        while self._steps and self._steps[0][0] < oldest:
            self._steps.popleft()


class Ledger:
    """Keeps consumed = sum of outcomes + in flight: both sides move in one step of the loop.

    ``monotonic`` gives seconds.
    """

    def __init__(
        self, telemetry: ScorerTelemetry, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._telemetry, self._monotonic = telemetry, monotonic
        self._late = LateCounts()
        self._increments: dict[tuple[Outcome, str], Callable[[float], None]] = {}
        #: How many have ended, by outcome and reason ("" for none).
        self.ended = Counter[tuple[Outcome, str]]()
        self.in_flight = 0

    def lately(self) -> Counter[OutcomeKey]:
        """How many have ended in the last five minutes, by outcome and reason."""
        return self._late.within(self._monotonic())

    def consume(self, count: int = 1) -> None:
        """An interaction has been read, or ``count`` have."""
        self._telemetry.consumed.inc(count)
        self.in_flight += count
        self._telemetry.in_flight.set(self.in_flight)

    def skip(self, count: int, outcome: Outcome, reason: str) -> None:
        """``count`` interactions have been read that ended at once: one step for a whole batch."""
        if count:
            self._telemetry.consumed.inc(count)
            self._count(outcome, reason, count)

    def settle(self, outcome: Outcome, reason: str | None, count: int = 1) -> None:
        """It has ended, or ``count`` have; all outcomes but ``scored`` carry a reason."""
        if (reason is None) != (outcome is Outcome.SCORED):
            raise ValueError(f"outcome {outcome} with reason {reason}")
        if not count:
            return
        self.in_flight -= count
        self._telemetry.in_flight.set(self.in_flight)
        self._count(outcome, reason or "", count)

    def _count(self, outcome: Outcome, reason: str, count: int) -> None:
        self.ended[outcome, reason] += count
        self._late.add((outcome, reason), count, self._monotonic())
        # Looking a child up by its labels takes longer than counting.
        increment = self._increments.get((outcome, reason))
        if increment is None:
            increment = self._telemetry.outcomes.labels(outcome.value, reason).inc
            self._increments[outcome, reason] = increment
        increment(count)
