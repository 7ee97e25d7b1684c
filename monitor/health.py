"""What ``/healthz`` (are our loops stuck?) and ``/readyz`` (what do we wait for?) say."""

from __future__ import annotations

from collections.abc import Callable

STUCK_AFTER_S = 60.0


class Health:
    """Collects heartbeats of loops and the reasons for not being ready.

    ``monotonic`` gives seconds. A loop that beat once and then stayed silent for 60 s is stuck.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._beats: dict[str, float] = {}
        self._waiting: dict[str, str] = {}

    def beat(self, loop: str) -> None:
        """The loop has come round."""
        self._beats[loop] = self._monotonic()

    def finished(self, loop: str) -> None:
        """The loop has ended on purpose."""
        self._beats.pop(loop, None)

    def waits(self, part: str, why: str) -> None:
        """The part is not ready, and this is what it waits for."""
        self._waiting[part] = why

    def ready(self, part: str) -> None:
        """The part waits for nothing any more."""
        self._waiting.pop(part, None)

    @property
    def waiting(self) -> dict[str, str]:
        """Part → what it waits for; empty when ready."""
        return dict(self._waiting)

    @property
    def stuck(self) -> dict[str, float]:
        """Loop → seconds since its last beat, for loops that are stuck."""
        now = self._monotonic()
        return {k: now - t for k, t in self._beats.items() if now - t > STUCK_AFTER_S}
