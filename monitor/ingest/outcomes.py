"""Why was this interaction not scored? Every outcome and reason is counted here, and only here."""

from __future__ import annotations

from enum import StrEnum

from monitor.records import Outcome
from monitor.telemetry import ScorerTelemetry


class Reason(StrEnum):
    """Reasons that ingest gives; the judge's are on ``JudgeFailed``, the metrics' ``Unscored``."""

    HASH = "hash"
    TOMBSTONE = "tombstone"
    DEADLINE = "deadline"
    INTERNAL = "internal_error"
    REVOKED = "revoked"
    SHUTDOWN = "shutdown"


class Ledger:
    """Keeps consumed = sum of outcomes + in flight: both sides move in one step of the loop."""

    def __init__(self, telemetry: ScorerTelemetry) -> None:
        self._telemetry = telemetry
        self.in_flight = 0

    def consume(self) -> None:
        """An interaction has been read."""
        self._telemetry.consumed.inc()
        self.in_flight += 1
        self._telemetry.in_flight.set(self.in_flight)

    def settle(self, outcome: Outcome, reason: str | None) -> None:
        """It has ended; all outcomes but ``scored`` carry a reason."""
        if (reason is None) != (outcome is Outcome.SCORED):
            raise ValueError(f"outcome {outcome} with reason {reason}")
        self.in_flight -= 1
        self._telemetry.in_flight.set(self.in_flight)
        self._telemetry.outcomes.labels(outcome.value, reason or "").inc()
