"""Whether a detector is still fed: an alarm of which nothing is heard any more wakes nobody."""

from __future__ import annotations

from typing import NamedTuple

from monitor.stats.silence import OVER_AFTER_S, usual_silence_s


class Feeding(NamedTuple):
    """The newest slot of a detector, when it was judged, and the mean gap; all in seconds."""

    event_time: float
    judged_at: float
    gap_s: float

    def silence_s(self, now: float) -> float:
        """For how long nothing was heard; what is judged late is heard when it is judged.

        A file may hold what was judged long after ``now``: there the event time says it.
        """
        heard = self.judged_at if self.judged_at <= now else self.event_time
        return now - max(heard, self.event_time)

    def stale_s(self, now: float) -> float:
        """For how long it is stale; 0 or less when it is not.

        >>> Feeding(0.0, 60.0, 30.0).stale_s(3_661.0), Feeding(0.0, 60.0, 360.0).stale_s(3_661.0)
        (1.0, -3599.0)
        """
        return self.silence_s(now) - usual_silence_s(self.gap_s)

    def is_over(self, now: float) -> bool:
        """Whether an alarm of it has ended by that."""
        return self.stale_s(now) > OVER_AFTER_S
