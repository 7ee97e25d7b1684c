"""How time passes in a dry run: as records came, from now on, where limits let it keep up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from monitor.sampling.meters import Meter

#: How often whoever looks at the clock is told of it.
STEP_S: Final = 30.0
#: Nothing that was ever learned matters any more after a longer silence.
LONGEST_GAP_S: Final = 86_400.0


class Passing:
    """A clock in epoch seconds; ``report_delay`` is told each half minute how far it is behind.

    It stands at ``now`` with the first record, and goes on as their times do. While more is asked
    of a model than its limits allow, judgements wait, and while ``most`` do, so do records.
    ``judged`` counts judgements.

    >>> calls = [0.0]
    >>> meters = [Meter(60, lambda: calls[0])]
    >>> passing = Passing(1_000.0, meters, lambda: int(calls[0]), lambda lag_s: None, most=100)
    >>> passing.comes(50.0); passing.comes(57.0); passing.now
    1007.0
    >>> calls[0] = 120.0; passing.comes(67.0); passing.now, passing.lag_s
    (1127.0, 110.0)
    """

    def __init__(
        self,
        now: float,
        meters: Sequence[Meter],
        judged: Callable[[], int],
        report_delay: Callable[[float], None],
        *,
        most: int,
    ) -> None:
        self.started = self.now = self._came = now
        self._meters, self._judged, self._report_delay, self._most = (
            meters,
            judged,
            report_delay,
            most,
        )
        self._latest_s: float | None = None
        self._used = [meter.used() for meter in meters]
        self._free_at = [now] * len(meters)
        self._seen = self._waiting = 0
        self._queue: deque[tuple[int, float]] = deque()
        self.lag_s = 0.0

    def comes(self, timestamp_s: float) -> None:
        """A record with this time is next; one that is older than those before has been late."""
        if timestamp_s > 0 and self._latest_s is not None:
            self._came += min(LONGEST_GAP_S, max(0.0, timestamp_s - self._latest_s))
        if timestamp_s > 0:
            self._latest_s = max(timestamp_s, self._latest_s or 0.0)
        self._line_up()
        then = self._has_room(max(self.now, self._came))
        self.lag_s = then - self._came
        while self.now < then:
            self.now = min(then, self.now + STEP_S)
            self._report_delay(max(0.0, self.now - self._came))

    def ends(self, seconds: float) -> None:
        """After the last record so much time passes, in which nothing comes."""
        self.now += seconds

    def _line_up(self) -> None:
        """What was asked since the last record: when it will have been answered."""
        for number, meter in enumerate(self._meters):
            used = meter.used()
            busy_s = 60 * (used - self._used[number]) / meter.per_minute
            self._free_at[number] = max(self._free_at[number], self.now) + busy_s
            self._used[number] = used
        judged = self._judged()
        if self._free_at and judged > self._seen:
            self._queue.append((judged - self._seen, max(self._free_at)))
            self._waiting += judged - self._seen
        self._seen = judged

    def _has_room(self, then: float) -> float:
        """When the next record may be read, from ``then`` on."""
        while self._queue and (self._queue[0][1] <= then or self._waiting >= self._most):
            number, done = self._queue.popleft()
            self._waiting -= number
            then = max(then, done)
        return then
