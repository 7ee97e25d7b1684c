"""Weeks of an installation: how often it alarms in vain, and how soon when there is a reason."""

from __future__ import annotations

import gc
import math
import multiprocessing
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple

from monitor.config import Settings, seconds
from tests.benchmarks.promising.installation import Installation, Look, Pick, day_record, picks
from tests.benchmarks.promising.worlds import DAY, HOUR, RATES, WEEK, Cell, Traffic, Worse

#: So many days are waited for a baseline; after a change for an alarm, or until so many are judged.
LEARN_DAYS: Final = 35
PATIENCE_DAYS, PATIENCE_JUDGED = 28, 20_000
#: Days on which a change waits for an open alarm to close.
_WAITS: Final = 7
#: Picks of a day are numbered from a multiple of this on.
_MOST_A_DAY: Final = 10_000_000
_FORKED: Final = multiprocessing.get_context("fork")
#: Where openings are not counted a quiet exporter looks so rarely: nothing depends on it.
_QUIET_LOOK_S: Final = 60.0
#: From so many judged a day on, days between learning and the period before a change are not
#: played: evidence is of the present day and the one before, and of others there are their sums.
_MANY_A_DAY: Final = 14_400
_LEARNED_BY_S: Final = DAY + HOUR


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
    def relative_threshold(self) -> float:
        """A beside that of other changes whose slots are counted, or told, as here."""
        return (self.judged_per_week or 1.0) / self.per_week

    @property
    def name(self) -> str:
        """As lines of results have it."""
        of = "" if self.judged_per_week is None else f" of {self.judged_per_week:g}"
        return f"×{self.times:g} at {self.per_week:g}{of}"


class Plan(NamedTuple):
    """What is played: weeks of counting, then each of the changes.

    With ``share`` one metric is played that becomes worse alone, and so many are watched: they
    share its promise. Openings are not counted then.
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
        self._settle_s = seconds(chosen.drift.settle)
        self._found = Found(plan.name, cell.name, seed, number)
        self._now = self._played_to = float(self._traffic.start)
        self._alarm_s, self._is_open = 0.0, False
        self._left_out = self._now, self._now
        if plan.share is not None:
            self._installation.look_every(_QUIET_LOOK_S)
            if RATES[cell.rate] >= _MANY_A_DAY:
                period_before = (int(plan.weeks * WEEK // DAY) - 1) * DAY
                self._left_out = self._now + _LEARNED_BY_S, self._now + period_before

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
        if self._waited_for_quiet(began):
            for changes in _alike(self._plan.changes):
                if self._traffic.can_be(changes[0].times):
                    self._found.delays |= self._delays(changes)
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
        begin, end = self._left_out
        while True:
            midnight = self._traffic.start + day * DAY
            if begin <= midnight + DAY <= end:
                self._installation.exporter.hold(day_record(self._traffic.day(day), midnight))
            if not begin <= midnight < end:
                for pick in picks(self._traffic.day(day, worse), day * _MOST_A_DAY):
                    if pick.at > after and not begin <= pick.at < end:
                        yield pick
            day += 1

    def _waited_for_quiet(self, began: float) -> bool:
        """Go on to a moment of the next day that is drawn; whether no alarm is open then."""
        moment = self._traffic.rng(2).random() * DAY
        for day in range(_WAITS):
            self._until(began + self._plan.weeks * WEEK + day * DAY + moment)
            if not self._is_open:
                return True
        return False

    def _delays(self, changes: Sequence[Change]) -> dict[str, Delay]:
        """In a process that goes on from here, so that all changes begin with the same state.

        Without those whose alarm would be open already at their promise.
        """
        ours, theirs = _FORKED.Pipe(duplex=False)
        process = _FORKED.Process(target=self._send_delays, args=(changes, theirs))
        process.start()
        theirs.close()
        try:
            found: dict[str, Delay] = ours.recv()
        finally:
            process.join()
        return found

    def _send_delays(self, changes: Sequence[Change], to: Connection) -> None:
        to.send(self._delays_from_now(changes))
        to.close()

    def _delays_from_now(self, changes: Sequence[Change]) -> dict[str, Delay]:
        """Played once for all promises with the same evidence: until an alarm it does not differ.

        An alarm before takes evidence away, by the promise: those are played by themselves.
        """
        evidence = {change: self._evidence_at(change) for change in changes}
        quiet = [change for change in changes if evidence[change] is not None]
        found: dict[str, Delay] = {}
        if quiet:
            strictest = max(quiet, key=lambda change: change.relative_threshold)
            for change in quiet:
                if evidence[change] != evidence[strictest]:
                    found |= self._delays([change])
            together = [c for c in quiet if evidence[c] == evidence[strictest]]
            found |= self._until_alarms(together, strictest)
        return found

    def _evidence_at(self, change: Change) -> tuple[float | None, ...] | None:
        """That of all detectors now, at another promise; None where an alarm is open then."""
        self._promise(change)
        states = self._installation.exporter.states(self._now)
        return None if any(one.alarm for one in states) else tuple(one.evidence for one in states)

    def _promise(self, change: Change) -> None:
        self._installation.promise(
            change.per_week / (self._plan.share or 1), change.judged_per_week
        )

    def _until_alarms(self, changes: Sequence[Change], strictest: Change) -> dict[str, Delay]:
        """From now on it is worse."""
        since, times, found = self._now, list[float](), dict[str, Delay]()
        self._promise(strictest)
        self._installation.look_every(0.0)
        for pick in self._picks(Worse(since, strictest.times)):
            for look in self._installation.play(pick):
                judged = bisect_right(times, look.now - self._settle_s)
                seen = Delay(judged, (look.now - since) / HOUR)
                for change in changes:
                    if change.name not in found and _is_seen(look, change, strictest):
                        found[change.name] = seen
            times.append(pick.at)
            if len(found) == len(changes):
                break
            if len(times) >= PATIENCE_JUDGED or pick.at > since + PATIENCE_DAYS * DAY:
                break
        return {change.name: found.get(change.name, Delay(None, None)) for change in changes}


def _is_seen(look: Look, change: Change, played: Change) -> bool:
    """Whether the evidence of a metric is enough for the promise of a change, or was."""
    if change == played:
        return any(record.state == "open" for record in look.records)
    more = math.log10(change.relative_threshold / played.relative_threshold)
    return any(
        one.evidence is not None and one.evidence >= one.threshold + more for one in look.states
    )


def _alike(changes: Sequence[Change]) -> list[list[Change]]:
    """Changes of the same size whose thresholds are always in the same proportion."""
    found: dict[tuple[float, bool], list[Change]] = {}
    for change in changes:
        found.setdefault((change.times, change.judged_per_week is None), []).append(change)
    return [*found.values()]
