"""What has happened so far: the baseline was learned, alarms opened and closed. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from monitor.exporter.serve.scraped import ScrapedPage
from monitor.records.alarm import AlarmRecord
from monitor.status import words


class EventKind(StrEnum):
    """What an event is, as it is shown."""

    BASELINE = "baseline"
    ALARM = words.ALARM
    RECOVERY = "✓"
    MESSAGE = "✉"


class Event(NamedTuple):
    """Something that happened, so many seconds after the start; ``text`` is one sentence."""

    at_s: float
    kind: EventKind
    text: str

    def line(self) -> str:
        """For a log.

        >>> Event(13.5, EventKind.BASELINE, "learned from the first 200 scored interactions").line()
        '  14 s  baseline learned from the first 200 scored interactions'
        """
        return f"{self.at_s:4.0f} s  {self.kind} {self.text}"


class Alarm(NamedTuple):
    """One alarm: its record when it opened, and the one when it closed."""

    opened: AlarmRecord
    closed: AlarmRecord | None = None


class Learned(NamedTuple):
    """When the baseline was seen first (seconds after the start), and what is normal."""

    at_s: float
    slots: int
    normal: dict[str, float]


class Chronicle:
    """Scrapes and alarm records in, events out. ``start`` is the demo's, in epoch seconds."""

    def __init__(self, start: float) -> None:
        self._start = start
        self._opened: dict[tuple[float, str], AlarmRecord] = {}
        self._closed: dict[tuple[float, str], AlarmRecord] = {}
        self.learned: Learned | None = None

    def look(self, page: ScrapedPage, now: float) -> None:
        """Take in a scrape made at ``now`` (epoch seconds)."""
        learning = page.learning
        if self.learned is None and learning is not None and learning.is_over and page.watched:
            normal = {
                metric: watched.baseline
                for metric, watched in page.watched.items()
                if watched.baseline is not None
            }
            self.learned = Learned(self.seconds(now), learning.slots, normal)

    def apply(self, record: AlarmRecord) -> None:
        """Take in a record of the alarms topic; a repeated one changes nothing."""
        known = self._opened if record.state == "open" else self._closed
        known.setdefault((record.opened_at.timestamp(), record.key), record)

    def alarms(self) -> list[Alarm]:
        """All of them in the order in which they opened."""
        return [Alarm(self._opened[key], self._closed.get(key)) for key in sorted(self._opened)]

    def events(self) -> list[Event]:
        """All of them in the order of their times."""
        return sorted(self._events())

    def open(self) -> list[Event]:
        """The alarms that are open, in the order in which they opened."""
        return [self._opening(alarm) for alarm in self.alarms() if alarm.closed is None]

    def seconds(self, epoch_s: float) -> float:
        """Seconds after the start, to a tenth."""
        return round(max(0.0, epoch_s - self._start), 1)

    def _events(self) -> Iterator[Event]:
        if self.learned is not None:
            text = f"learned from the first {self.learned.slots} scored interactions"
            yield Event(self.learned.at_s, EventKind.BASELINE, text)
        for alarm in self.alarms():
            yield self._opening(alarm)
            if alarm.closed is not None and alarm.closed.closed_at is not None:
                closed_s = alarm.closed.closed_at.timestamp()
                yield Event(self.seconds(closed_s), EventKind.RECOVERY, alarm.closed.answer)

    def _opening(self, alarm: Alarm) -> Event:
        opened = alarm.opened
        return Event(self.seconds(opened.opened_at.timestamp()), EventKind.ALARM, opened.answer)
