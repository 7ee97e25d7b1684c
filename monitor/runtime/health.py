"""What ``/healthz`` (are our loops stuck?) and ``/readyz`` (what do we wait for?) say."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

STUCK_AFTER_S = 60.0


class _Beat(NamedTuple):
    at: float
    limit_s: float
    needs: str


class Health:
    """Collects heartbeats of loops and the reasons for not being ready.

    ``monotonic`` gives seconds. A loop that beat once and then stayed silent for 60 s (or for its
    own limit) is stuck. The time in which a dependency that it needs is away does not count.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._beats: dict[str, _Beat] = {}
        self._waiting: dict[str, str] = {}
        self._away: set[str] = set()
        self._back: dict[str, float] = {}

    def beat(self, loop: str, *, needs: str = "", limit_s: float | None = None) -> None:
        """The loop has come round; ``needs`` names the dependency that it cannot go on without."""
        limit = STUCK_AFTER_S if limit_s is None else limit_s
        self._beats[loop] = _Beat(self._monotonic(), limit, needs)

    def finished(self, loop: str) -> None:
        """The loop has ended on purpose."""
        self._beats.pop(loop, None)

    def answers(self, dependency: str, yes: bool) -> None:
        """Whether a dependency answers, by whoever watches it; nobody has to."""
        if not yes:
            self._away.add(dependency)
        elif dependency in self._away:
            self._away.discard(dependency)
            self._back[dependency] = self._monotonic()

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
        return {
            loop: now - beat.at
            for loop, beat in self._beats.items()
            if beat.needs not in self._away
            and now - max(beat.at, self._back.get(beat.needs, beat.at)) > beat.limit_s
        }
