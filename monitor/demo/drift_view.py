"""Is it worse than normal? Evidence against its threshold as a rising bar, and what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from monitor.demo.bars import progress, rising, rising_scale
from monitor.demo.chronicle import Chronicle, Event, EventKind, bound
from monitor.exporter.serve.scraped import DriftReading, Learning, ScrapedPage

#: Columns with their gaps of two: the name, the state, evidence as a number, what is normal.
_NAME, _STATE, _NUMBER, _NORMAL = 31, 9, 7, 8
_LEAST_NAME: Final = 16
_BAR: Final = (12, 60)
_PROGRESS: Final = 20
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
    table = _table(page, metrics, width)
    if page.learning is None or not page.learning.is_over:
        below: RenderableType = _learning_line(page.learning)
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


def learning_words(learning: Learning | None) -> str:
    """How far learning is.

    >>> learning_words(Learning(120, 200, False)), learning_words(None)
    ('learning baseline 120/200', 'learning baseline')
    """
    if learning is None:
        return "learning baseline"
    return f"learning baseline {learning.slots}/{learning.needed}"


def evidence_words(watched: DriftReading | None) -> str:
    """Evidence against threshold, and whether that is an alarm.

    >>> evidence_words(DriftReading(8.1, 7.56, 0.1, True))
    '8.1/7.56 ALARM'
    >>> evidence_words(DriftReading(None, 7.56, 0.1, False)), evidence_words(None)
    ('none/7.56', 'no baseline')
    """
    if watched is None or watched.threshold is None:
        return "no baseline"
    found = "none" if watched.evidence is None else f"{watched.evidence:.1f}"
    return f"{found}/{watched.threshold:.2f}{' ALARM' if watched.alarm else ''}"


def _learning_line(learning: Learning | None) -> Text:
    line = Text(f" {learning_words(learning)} ", no_wrap=True, overflow="ellipsis")
    if learning is not None:
        line.append_text(progress(learning.slots, learning.needed, _PROGRESS))
    return line.append("  until then no alarm", style="dim")


class Columns(NamedTuple):
    """What fits: columns of the name and the bar, whether number and normal are shown."""

    name: int
    bar: int
    number: bool
    normal: bool


def columns(width: int) -> Columns:
    """Name, bar and the word for the state always; the numbers where there is room.

    >>> columns(80), columns(64), columns(40)
    ... # doctest: +NORMALIZE_WHITESPACE
    (Columns(name=31, bar=23, number=True, normal=True),
     Columns(name=31, bar=15, number=True, normal=False),
     Columns(name=17, bar=12, number=False, normal=False))
    """
    room = width - _NAME - _STATE - 2 - _BAR[0]
    number, normal = room >= _NUMBER, room >= _NUMBER + _NORMAL
    bar = _BAR[0] + room - _NUMBER * number - _NORMAL * normal
    name = max(_LEAST_NAME, _NAME + min(0, room))
    return Columns(name, max(_BAR[0], min(_BAR[1], bar)), number, normal)


def shortened(name: str, width: int) -> str:
    """A name without its middle where it is too long: metrics differ at their ends.

    >>> shortened("noise_sensitivity_irrelevant", 14), shortened("faithfulness", 14)
    ('noi…irrelevant', 'faithfulness')
    """
    return name if len(name) <= width else f"{name[: width - 11]}…{name[-10:]}"


def _table(page: ScrapedPage, metrics: Sequence[str], width: int) -> Table:
    fits = columns(width)
    threshold = next((w.threshold for w in page.watched.values() if w.threshold), None)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column(" worse than normal?", no_wrap=True, width=fits.name - 2)
    table.add_column(rising_scale(threshold, fits.bar), no_wrap=True, width=fits.bar)
    if fits.number:
        table.add_column("log10", justify="right", no_wrap=True)
    if fits.normal:
        table.add_column("normal", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, width=_STATE - 1)
    for metric in metrics:
        table.add_row(*_cells(metric, page.watched.get(metric), fits))
    return table


def _cells(metric: str, watched: DriftReading | None, fits: Columns) -> Iterator[Text]:
    found = watched or DriftReading(None, None, None, False)
    yield Text(f" {shortened(metric, fits.name - 3)}", style="bold")
    style = "bold red" if found.alarm else "cyan"
    if found.threshold is None:
        yield Text("·" * fits.bar, style="dim")
    else:
        yield rising(found.evidence, found.threshold, fits.bar, style)
    if fits.number:
        yield Text("–" if found.evidence is None else f"{found.evidence:.1f}")
    if fits.normal:
        yield Text("–" if found.baseline is None else bound(metric, found.baseline))
    if found.alarm:
        yield Text(EventKind.ALARM, style="bold red")
    else:
        yield Text("learning" if found.threshold is None else "no alarm", style="dim")
