"""Is it worse than normal? Evidence against its threshold as a rising bar, and what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from monitor.demo.chronicle import Chronicle, Event, EventKind
from monitor.exporter.serve.scraped import ScrapedPage
from monitor.status.drift_table import drift_table, learning_line

_STYLES: Final = {
    EventKind.BASELINE: "cyan",
    EventKind.ALARM: "bold red",
    EventKind.RECOVERY: "bold green",
    EventKind.MESSAGE: "bold",
}


def drift_block(
    page: ScrapedPage,
    chronicle: Chronicle,
    metrics: Sequence[str],
    width: int,
    most: int,
    *,
    gaps: bool = True,
) -> Group:
    """A bar for each watched metric, and under them at most ``most`` of the latest events.

    Alarms that are open are among them before anything else. ``gaps`` separates both.
    """
    table = drift_table(page, metrics, width)
    if page.learning is None or not page.learning.is_over:
        below: RenderableType = learning_line(page.learning)
    else:
        below = _events(chronicle, most)
    return Group(table, Text(), below) if gaps else Group(table, below)


def latest(chronicle: Chronicle, most: int) -> list[Event]:
    """The open alarms and the last events, as many as fit, in the order of their times."""
    opened, events = chronicle.open(), chronicle.events()
    others = [event for event in events if event not in opened]
    kept = opened[-most:]
    room = most - len(kept)
    return sorted([*kept, *(others[-room:] if room else [])])


def _events(chronicle: Chronicle, most: int) -> Table:
    """When, what, and the sentence beside it in as many lines as it takes."""
    table, opened = Table.grid(padding=(0, 1, 0, 0)), chronicle.open()
    table.add_column(justify="right", style="dim", min_width=5)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for event in latest(chronicle, most):
        is_past = event.kind is EventKind.ALARM and event not in opened
        kind = Text(event.kind.lower(), "red") if is_past else Text(event.kind, _STYLES[event.kind])
        table.add_row(f"{event.at_s:.0f} s", kind, event.text)
    return table
