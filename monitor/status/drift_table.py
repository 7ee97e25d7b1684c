"""Is it worse than normal? Evidence against its threshold as a rising bar, one row a metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from monitor.exporter.serve.scraped import DriftReading, Learning, ScrapedPage
from monitor.status.bars import progress, rising, rising_scale
from monitor.status.words import ALARM, bound, learning_words

#: Columns with their gaps of two: the name, the state, evidence as a number, what is normal.
_NAME, _STATE, _NUMBER, _NORMAL = 31, 9, 7, 8
_LEAST_NAME: Final = 16
_BAR: Final = (12, 60)
_PROGRESS: Final = 20


def learning_line(learning: Learning | None, more: str = "") -> Text:
    """How far learning is, with a bar; ``more`` is said behind it."""
    line = Text(f" {learning_words(learning)} ", no_wrap=True, overflow="ellipsis")
    if learning is not None:
        line.append_text(progress(learning.slots, learning.needed, _PROGRESS))
    return line.append(f"  no alarm until it is learned{more}", style="dim")


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


def drift_table(page: ScrapedPage, metrics: Sequence[str], width: int) -> Table:
    """One row for each of the ``metrics``, as wide as fits."""
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
        yield Text(ALARM, style="bold red")
    else:
        yield Text("learning" if found.threshold is None else "no alarm", style="dim")
