"""When the demo's incident begins and ends, and how far its traffic has been read."""

from __future__ import annotations

from typing import NamedTuple

from monitor.demo.mix import INCIDENT, NORMAL, Mix


class TrafficPace(NamedTuple):
    """``rate`` interactions a second, for ``run_for`` seconds (None: without end)."""

    rate: float
    run_for: float | None

    def behind_s(self, elapsed_s: float, consumed: int) -> float:
        """Seconds of the traffic that have happened and are not read yet.

        >>> TrafficPace(40.0, None).behind_s(30.0, 400), TrafficPace(40.0, 20).behind_s(30.0, 400)
        (20.0, 10.0)
        """
        happened_s = elapsed_s if self.run_for is None else min(elapsed_s, self.run_for)
        return max(0.0, happened_s - consumed / self.rate)


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
