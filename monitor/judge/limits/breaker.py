"""Whether a model may be asked at all: a circuit that opens, stops, probes and closes itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from monitor.judge.provider.faults import Fault
from monitor.judge.provider.refusals import Action


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """When a model is left alone, and for how long; seconds, and failures without a reply between.

    ``stop_after`` is more than one, since a single refusal may quote words of the traffic, and few,
    since each of them is a request in vain.
    """

    stop_after: int = 3
    stop_probe_s: float = 300.0
    open_after: int = 10
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0
    awaits_first: bool = True


class Breaker:
    """The circuit of one model; ``now`` is monotonic seconds.

    ``stopped`` holds the refusal while only probes are made; ``is_open`` while the provider does
    not answer, and judging pauses. The reply to a call made since then closes both; calls that were
    under way by then say nothing of now.
    """

    def __init__(self, settings: BreakerSettings) -> None:
        self._settings = settings
        self.stopped: Fault | None = None
        self.is_open = False
        self.probing = False
        self.probe_at = 0.0
        self._stops = self._failures = 0
        self._wait_s = settings.first_wait_s
        self._awaited = settings.awaits_first
        self._shut_at = float("-inf")

    def worked(self, began: float) -> None:
        """The provider has answered a call made at ``began``: what was wrong by then is over."""
        self._awaited = True
        if began < self._shut_at:
            return
        self.stopped, self.is_open = None, False
        self._stops = self._failures = 0
        self._wait_s = self._settings.first_wait_s

    def failed(self, fault: Fault, began: float, now: float) -> None:
        """A call made at ``began`` gave no reply."""
        if fault.action is Action.STOP:
            self._stops += 1
            if self.stopped is None and self._stops >= self._settings.stop_after:
                self._stop(fault, now)
        elif fault.action is Action.FALLBACK or fault.reason == "rate_limited":
            # Somebody is there, and lets us in.
            self.worked(began)
        else:
            self._failures += 1
            if self.stopped is None and self._failures >= self._settings.open_after:
                if self._awaited:
                    self._open(now)
                else:  # as a refusal: nobody tries the same call again
                    self._stop(replace(fault, action=Action.STOP), now)

    def may_probe(self, now: float) -> bool:
        """Whether it is time to try again, and nobody does."""
        return now >= self.probe_at and not self.probing

    def probed(self, now: float) -> None:
        """The probe has ended, however; the next one comes later."""
        self.probing = False
        if self.stopped is not None:
            self.probe_at = now + self._settings.stop_probe_s
        elif self.is_open:
            self._wait_s = min(2 * self._wait_s, self._settings.longest_wait_s)
            self.probe_at = now + self._wait_s

    def _stop(self, fault: Fault, now: float) -> None:
        self.stopped, self.is_open = fault, False
        self.probing = False  # that was the circuit's, which asks for nothing any more
        self._shut_at = now
        self.probe_at = now + self._settings.stop_probe_s

    def _open(self, now: float) -> None:
        if not self.is_open:
            self.is_open = True
            self._shut_at = now
            self.probe_at = now + self._wait_s
