"""Which applications and judges have series of their own; the rest of both is ``other``.

Traffic names applications, and a provider's reply names the version of a judge: both may be many.
What is summed up as ``other`` has no detector and learns no baseline: evidence of several cannot be
added up. What has a place is a function of the slots that count, and of nothing else: not of their
order, so that two exporters agree, and a restart changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from monitor.exporter.scores.label_counts import OTHER
from monitor.stats.top_names import Counts, Places, Shares

#: Judge versions of one application with series of their own, unless the settings name more.
MOST_JUDGES: Final = 16
#: Application and judge (``name@version``), as labelled.
JudgedApplication = tuple[str, str]


class Folded(NamedTuple):
    """What is summed up as ``other``: applications, and judge versions application by application.

    ``example`` is one of the application names.
    """

    applications: int
    judges: int
    example: str | None = None


class _Judges:
    """The judges of one application, or of all that are ``other``."""

    def __init__(self, most: int) -> None:
        self.counts = Counts()
        self.shares = Shares(self.counts, most)


class Folding:
    """Counts slots in, and says where they belong.

    ``most`` applications have a place, by the rank of ``Places``; those of ``always`` have one
    anyway. Of each, up to ``judges`` judges, or those with a good share (``Shares``). Where there
    are more of them in all, one must have judged so many slots of an application for a name there:
    else twenty applications of a few slots each would have hundreds of series.

    What changes with a slot is said by ``moving_applications`` and ``moving_judges``, and holds
    once the same was given to ``move_applications`` and ``move_judges``.
    """

    def __init__(
        self, period_s: int, most: int, always: Collection[str] = (), judges: int = MOST_JUDGES
    ) -> None:
        self._period_s, self._most_judges = period_s, judges
        self._dropped = -1
        self._applications = Counts()
        self._places = Places(self._applications, most, always, never={OTHER})
        self._kept: set[str] = set()
        self._judges = {OTHER: _Judges(judges)}
        self._all_judges = Counts()
        self._least = 1
        #: Where a judge may gain or lose its place.
        self._touched: set[str] = set()

    @property
    def kept(self) -> set[str]:
        """The applications with series of their own."""
        return set(self._kept)

    @property
    def judges(self) -> set[str]:
        """The judges with series of their own, of whatever application."""
        return set().union(*(each.shares.kept for each in self._judges.values()))

    @property
    def folded(self) -> Folded:
        """How many are summed up."""
        names = len(self._applications) - len(self._kept)
        names -= self._applications.of(OTHER) > 0  # it is called what it becomes
        judges = sum(len(e.counts) - len(e.shares.kept) for e in self._judges.values())
        return Folded(names, judges, self._places.waiting if names else None)

    def shown(self, application: str) -> str:
        """The label of an application."""
        return application if application in self._kept else OTHER

    def pair(self, application: str, judge: str) -> JudgedApplication:
        """The labels of a slot."""
        shown = application if application in self._kept else OTHER
        return shown, judge if judge in self._judges[shown].shares.kept else OTHER

    def has_place(self, application: str, judge: str) -> bool:
        """Whether any slot may have these labels."""
        found = self._judges.get(application)
        return found is not None and (judge == OTHER or judge in found.shares.kept)

    def count(self, event_time: float, application: str, judge: str, sign: int) -> None:
        """A slot counts from now on (+1), or no longer (−1); it is not from before the floor."""
        period = self._period(event_time)
        self._applications.count(period, application, sign)
        self._all_judges.count(period, judge, sign)
        self._count_judge(period, self.shown(application), judge, sign)

    def drop_before(self, event_time: float) -> None:
        """Forget the periods that end at or before this time, as a whole."""
        last = self._period(event_time) - 1
        if last > self._dropped:
            self._dropped = last
            self._applications.drop(last)
            self._all_judges.drop(last)
            for shown, each in self._judges.items():
                each.counts.drop(last)
                if each.counts.changed:
                    self._touched.add(shown)

    def moving_applications(self) -> set[str]:
        """Those that should gain or lose their place."""
        if not self._applications.changed:
            return set()
        self._places.settle()
        return self._places.kept ^ self._kept

    def move_applications(self, names: set[str], slots: Iterable[tuple[float, str, str]]) -> None:
        """Let them; ``slots`` are all that count of them: event time, application, judge."""
        counted = [(self._period(time), name, judge) for time, name, judge in slots]
        for period, name, judge in counted:
            self._count_judge(period, self.shown(name), judge, -1)
        self._kept ^= names
        for name in names:
            if name in self._kept:
                self._judges[name] = _Judges(self._most_judges)
            else:
                self._judges.pop(name)
                self._touched.discard(name)
        for period, name, judge in counted:
            self._count_judge(period, self.shown(name), judge, +1)

    def moving_judges(self) -> Iterator[tuple[str, set[str]]]:
        """The judges that should gain or lose their place, by the label of the application."""
        self._all_judges.changed.clear()
        least = 1
        if len(self._all_judges) > self._most_judges:
            least = self._most_judges.bit_length()
        if least != self._least:
            self._least = least
            self._touched.update(self._judges)
        touched, self._touched = self._touched, set()
        for shown in sorted(touched):
            moved = self._judges[shown].shares.moved(least)
            if moved:
                yield shown, moved

    def move_judges(self, shown: str, judges: set[str]) -> None:
        """Let them."""
        self._judges[shown].shares.flip(judges)

    def _count_judge(self, period: int, shown: str, judge: str, sign: int) -> None:
        counts = self._judges[shown].counts
        counts.count(period, judge, sign)
        if counts.changed:
            self._touched.add(shown)

    def _period(self, event_time: float) -> int:
        return math.floor(event_time) // self._period_s


def is_watched(pair: JudgedApplication) -> bool:
    """Whether one application and one judge stand behind the labels: others are not held apart."""
    return OTHER not in pair
