"""How every interaction ended, counted here and only here; ``intake`` and ``scorer`` decide it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from monitor.records import Outcome
from monitor.telemetry import ScorerTelemetry


class Ledger:
    """Keeps consumed = sum of outcomes + in flight: both sides move in one step of the loop."""

    def __init__(self, telemetry: ScorerTelemetry) -> None:
        self._telemetry = telemetry
        self._increments: dict[tuple[Outcome, str], Callable[[float], None]] = {}
        #: How many have ended, by outcome and reason ("" for none).
        self.ended = Counter[tuple[Outcome, str]]()
        self.in_flight = 0

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
        # Looking a child up by its labels takes longer than counting.
        increment = self._increments.get((outcome, reason))
        if increment is None:
            increment = self._telemetry.outcomes.labels(outcome.value, reason).inc
            self._increments[outcome, reason] = increment
        increment(count)
