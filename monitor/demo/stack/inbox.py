"""What has arrived at the webhook, as events for a log and as lines for a picture. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final, NamedTuple

from rich.console import Group
from rich.text import Text

from monitor.demo.chronicle import Event, EventKind
from monitor.demo.stack.notification import Notification

#: It fires for ever, so only that it arrives at all is told.
WATCHDOG: Final = "watchdog"
MOST_LINES: Final = 4


class Arrival(NamedTuple):
    """A notification, and how many seconds after the start it came."""

    at_s: float
    notification: Notification

    def event(self) -> Event:
        """In one line: who is told, of what, and what it says."""
        found = self.notification
        return Event(self.at_s, EventKind.MESSAGE, f"{_addressed(found)}: {_described(found)}")


class Inbox:
    """Notifications in; what only repeats the one before of its group is left out."""

    def __init__(self) -> None:
        self._latest: dict[str, Notification] = {}
        self.arrivals: list[Arrival] = []

    def hear(self, notification: Notification, at_s: float) -> None:
        """Take in a notification that arrived ``at_s`` seconds after the start."""
        before = self._latest.get(notification.group)
        self._latest[notification.group] = notification
        is_news = before is None or _content(before) != _content(notification)
        if is_news and not (notification.receiver == WATCHDOG and before is not None):
            self.arrivals.append(Arrival(at_s, notification))

    def events(self) -> list[Event]:
        """All that arrived, in order."""
        return [each.event() for each in self.arrivals]

    def summary(self) -> list[dict[str, Any]]:
        """All that arrived, for the demo's last line."""
        return [
            {
                "at_s": each.at_s,
                "receiver": each.notification.receiver,
                "status": each.notification.status,
                "alerts": each.notification.names(),
                "descriptions": each.notification.sentences(),
            }
            for each in self.arrivals
        ]

    def __rich__(self) -> Group:
        """The latest of each group, a line each; the newest one is shown whole."""
        shown = self._shown()
        lines = (_line(each, is_whole=each is shown[-1]) for each in shown)
        return Group(*lines)

    def _shown(self) -> list[Arrival]:
        latest = {each.notification.group: each for each in self.arrivals}
        return sorted(latest.values())[-MOST_LINES:]


def _line(arrival: Arrival, *, is_whole: bool = False) -> Text:
    found = arrival.notification
    style = "bold red" if found.is_firing else "bold green"
    return Text.assemble(
        (f"{arrival.at_s:3.0f} s ", "dim"),
        (
            f"{EventKind.MESSAGE} {_addressed(found)} ",
            "cyan" if found.receiver == WATCHDOG else style,
        ),
        _described(found),
        no_wrap=not is_whole,
        overflow="fold" if is_whole else "ellipsis",
    )


def _addressed(found: Notification) -> str:
    state = "" if found.receiver == WATCHDOG else f" {found.status.upper()}"
    return f"{found.receiver}{state} {', '.join(found.names())}"


def _described(found: Notification) -> str:
    first, *others = found.sentences() or [""]
    return f"{first} (and {len(others)} more)" if others else first


def _content(found: Notification) -> Hashable:
    return found.status, frozenset(
        (each.status, frozenset(each.labels.items()), each.description) for each in found.alerts
    )
