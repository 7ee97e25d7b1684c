"""Weeks of an installation: how often it alarms in vain, and how soon when there is a reason."""

from __future__ import annotations

import gc
import multiprocessing
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple

from monitor.config import Settings, seconds
from tests.benchmarks.promising.installation import Installation, Look, Pick, picks
from tests.benchmarks.promising.worlds import DAY, HOUR, WEEK, Cell, Traffic, Worse

#: So many days are waited for a baseline; after a change for an alarm, or until so many are judged.
LEARN_DAYS: Final = 35
PATIENCE_DAYS, PATIENCE_JUDGED = 28, 20_000
#: Days on which a change waits for an open alarm to close.
WAITS: Final = 7
#: Picks of a day are numbered from a multiple of this on.
_MOST_A_DAY: Final = 10_000_000
_FORKED: Final = multiprocessing.get_context("fork")


class Delay(NamedTuple):
    """From a change to its alarm; None where it did not come while it was waited for."""

    judged: int | None
    hours: float | None


class Change(NamedTuple):
    """The mean is so many ``times`` what it was; ``per_week`` false alarms are promised.

    ``judged_per_week`` None: it is counted.
    """

    times: float
    per_week: float = 1.0
    judged_per_week: float | None = None

    @property
    def name(self) -> str:
        """As lines of results have it."""
        of = "" if self.judged_per_week is None else f" of {self.judged_per_week:g}"
        return f"×{self.times:g} at {self.per_week:g}{of}"


class Plan(NamedTuple):
    """What is played: weeks of counting, then each of the changes.

    With ``share`` so many metrics are watched, of which those that are played become worse: the
    others only share the promise.
    """

    weeks: float
    changes: tuple[Change, ...]
    share: int | None = None

    @property
    def name(self) -> str:
        """Lines of results of another plan are not taken for its own."""
        of = "" if self.share is None else f"one of {self.share}, "
        return f"{of}{self.weeks:g} weeks, " + ", ".join(change.name for change in self.changes)


@dataclass
class Found:
    """What one installation has seen.

    ``weeks`` are counted from the first baseline on, or from the world's event if that is later
    (0: no baseline came); ``openings`` and ``in_alarm``, a share of the time, are of those weeks.
    ``learned_h``: hours until there was a baseline. ``delays`` by the name of the change.
    """

    plan: str
    cell: str
    seed: int
    number: int
    weeks: float = 0.0
    judged: int = 0
    openings: int = 0
    in_alarm: float = 0.0
    learned_h: float | None = None
    delays: dict[str, Delay] = field(default_factory=dict)

    def line(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def played(cell: Cell, seed: int, number: int, chosen: Settings, plan: Plan) -> Found:
    """Play one installation; the same for the same arguments."""
    gc.disable()  # it would look again and again at days of slots, none of which is garbage
    try:
        return _Played(cell, seed, number, chosen, plan).through()
    finally:
        gc.enable()


class _Played:
    """An installation and its traffic."""

    def __init__(self, cell: Cell, seed: int, number: int, chosen: Settings, plan: Plan) -> None:
        self._plan = plan
        self._traffic = Traffic(cell, seed, number)
        self._installation = Installation(chosen, self._traffic.start)
        if plan.share is not None:
            self._promise(Change(1.0))
        self._settle_s = seconds(chosen.drift.settle)
        self._found = Found(plan.name, cell.name, seed, number)
        self._now = self._played_to = float(self._traffic.start)
        self._alarm_s, self._is_open = 0.0, False

    def through(self) -> Found:
        """Wait for a baseline, count for weeks, then change."""
        learn_until = self._traffic.start + LEARN_DAYS * DAY
        self._until(learn_until, lambda: self._installation.exporter.learned)
        if not self._installation.exporter.learned:
            return self._found
        self._found.learned_h = (self._now - self._traffic.start) / HOUR
        self._until(self._traffic.event_at)
        began = self._count_from_now()
        self._until(began + self._plan.weeks * WEEK)
        self._found.weeks = (self._now - began) / WEEK
        self._found.in_alarm = self._alarm_s / (self._now - began)
        counted = self._found.openings, self._found.judged
        for change in self._plan.changes if self._waited_for_quiet(began) else ():
            delay = self._delay(change) if self._traffic.can_be(change.times) else None
            if delay is not None:
                self._found.delays[change.name] = delay
        self._found.openings, self._found.judged = counted
        return self._found

    def _count_from_now(self) -> float:
        """Openings from now on count; what time it is."""
        self._found.openings, self._found.judged, self._alarm_s = 0, 0, 0.0
        return self._now

    def _until(self, end: float, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Play traffic as usual."""
        for pick in self._picks():
            if pick.at > end:
                break
            for look in self._installation.play(pick):
                self._saw(look)
            self._played_to = pick.at
            self._found.judged += 1
            if is_enough():
                return
        for look in self._installation.until(end):
            self._saw(look)
        self._saw(Look(max(end, self._now), [], self._is_open))

    def _saw(self, look: Look) -> None:
        self._alarm_s += (look.now - self._now) * self._is_open
        self._now, self._is_open = look.now, look.in_alarm
        self._found.openings += sum(record.state == "open" for record in look.records)

    def _picks(self, worse: Worse | None = None) -> Iterator[Pick]:
        """Those that have not been played, for ever."""
        after, day = self._played_to, int((self._played_to - self._traffic.start) // DAY)
        while True:
            for pick in picks(self._traffic.day(day, worse), day * _MOST_A_DAY):
                if pick.at > after:
                    yield pick
            day += 1

    def _waited_for_quiet(self, began: float) -> bool:
        """Go on to a moment of the next day that is drawn; whether no alarm is open then."""
        moment = self._traffic.rng(2).random() * DAY
        for day in range(WAITS):
            self._until(began + self._plan.weeks * WEEK + day * DAY + moment)
            if not self._is_open:
                return True
        return False

    def _promise(self, change: Change) -> None:
        shared = change.per_week / (self._plan.share or 1)
        self._installation.promise(shared, change.judged_per_week)

    def _delay(self, change: Change) -> Delay | None:
        """In a process that goes on from here, so that all changes begin with the same state.

        None where an alarm would be open already at the change's promise.
        """
        ours, theirs = _FORKED.Pipe(duplex=False)
        process = _FORKED.Process(target=self._send_delay, args=(change, theirs))
        process.start()
        theirs.close()
        try:
            found: Delay | None = ours.recv()
        finally:
            process.join()
        return found

    def _send_delay(self, change: Change, to: Connection) -> None:
        to.send(self._delay_from_now(change))
        to.close()

    def _delay_from_now(self, change: Change) -> Delay | None:
        since, times = self._now, list[float]()
        self._promise(change)
        if self._installation.exporter.look(since).in_alarm:
            return None
        for pick in self._picks(Worse(since, change.times)):
            for look in self._installation.play(pick):
                if any(record.state == "open" for record in look.records):
                    judged = bisect_right(times, look.now - self._settle_s)
                    return Delay(judged, (look.now - since) / HOUR)
            times.append(pick.at)
            if len(times) >= PATIENCE_JUDGED or pick.at > since + PATIENCE_DAYS * DAY:
                break
        return Delay(None, None)
