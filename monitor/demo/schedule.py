"""When the demo's incident begins and ends, and how far its traffic has been read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from monitor.demo.mix import INCIDENT, NORMAL, Mix

#: Seconds of unread traffic of which it is said, and before anything is read, when all starts.
BEHIND_S: Final = 10.0
NOTHING_S: Final = 40.0
#: A reader this near to the rate keeps up.
NEARLY: Final = 0.95


@dataclass
class TrafficPace:
    """``rate`` interactions a second, for ``run_for`` seconds (None: without end).

    ``sent`` is how many it was in all, once somebody has ended it.
    """

    rate: float
    run_for: float | None
    sent: int | None = None

    def happened_s(self, elapsed_s: float) -> float:
        """Seconds of the traffic that have happened."""
        if self.sent is not None:
            return self.sent / self.rate
        return elapsed_s if self.run_for is None else min(elapsed_s, self.run_for)

    def behind(self, elapsed_s: float, consumed: int, read: float | None) -> str:
        """By how much reading is behind, and why; ``read`` is its rate now. Empty where it is not.

        >>> TrafficPace(40.0, None).behind(30.0, 400, 15.0)
        '20 s BEHIND: 15.0 a second are read, 40 come; lower --rate'
        >>> TrafficPace(40.0, None, sent=800).behind(30.0, 400, 300.0)
        '10 s BEHIND: 300.0 a second are read, no more come'
        >>> TrafficPace(40.0, None, sent=420).behind(30.0, 400, 0.0)
        ''
        """
        behind_s = self.happened_s(elapsed_s) - consumed / self.rate
        if behind_s < (BEHIND_S if consumed else NOTHING_S):
            return ""
        if not consumed:
            return f"{behind_s:.0f} s BEHIND: nothing has been read yet"
        said = f"{behind_s:.0f} s BEHIND"
        if read is None:
            return said
        said += f": {read:.1f} a second are read, "
        if self.sent is not None:
            return said + "no more come"
        return (
            said + f"{self.rate:g} come" + ("; lower --rate" if read < NEARLY * self.rate else "")
        )


class Phase(NamedTuple):
    """Event times in [start, end), epoch seconds, in which one mix holds."""

    name: str
    start: int
    end: int
    mix: Mix


class Schedule(NamedTuple):
    """``start`` is the first event time; the incident begins ``incident_at`` seconds later."""

    start: int
    incident_at: int
    incident_for: int

    def mix_at(self, epoch_s: float) -> Mix:
        """The mix of a moment.

        >>> Schedule(100, 10, 5).mix_at(112.0) == INCIDENT
        True
        """
        begin = self.start + self.incident_at
        return INCIDENT if begin <= epoch_s < begin + self.incident_for else NORMAL

    def phases(self, end: int) -> list[Phase]:
        """Before, incident and after, as far as they lie before ``end``.

        >>> [phase.name for phase in Schedule(100, 10, 5).phases(112)]
        ['before', 'incident']
        """
        begin = self.start + self.incident_at
        over = begin + self.incident_for
        bounds = [
            ("before", self.start, begin, NORMAL),
            ("incident", begin, over, INCIDENT),
            ("after", over, end, NORMAL),
        ]
        return [
            Phase(name, first, min(last, end), mix)
            for name, first, last, mix in bounds
            if first < min(last, end)
        ]
