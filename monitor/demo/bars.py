"""Gauges as text: in words, as an interval on a line, as a course over time."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from monitor.export.scrape import Gauge

NO_DATA = "no data yet"
_LEVELS = "▁▂▃▄▅▆▇█"


def said(gauge: Gauge | None) -> str:
    """A gauge in ASCII, for a log.

    >>> said(Gauge(0.08, 0.05, 0.12, 240.0)), said(None)
    ('0.080 [0.050, 0.120] n=240', 'no data yet')
    """
    if gauge is None or gauge.value is None or gauge.lower is None or gauge.upper is None:
        return NO_DATA
    return f"{gauge.value:.3f} [{gauge.lower:.3f}, {gauge.upper:.3f}] n={gauge.samples:.0f}"


def cell(gauge: Gauge | None) -> Text:
    """A gauge in two lines of at most 12 columns: estimate and count, then the bounds."""
    if gauge is None or gauge.value is None or gauge.lower is None or gauge.upper is None:
        return Text(NO_DATA, style="dim")
    return Text.assemble(
        (f"{gauge.value:.3f}", "bold"),
        (f" n={_short(gauge.samples)}\n", "dim"),
        f"{gauge.lower:.3f}–{gauge.upper:.3f}",
    )


def _short(samples: float) -> str:
    return f"{samples:.0f}" if samples < 10_000 else f"{samples / 1000:.0f}k"


def bar(gauge: Gauge | None, width: int, style: str) -> Text:
    """The interval and, in it, the estimate, on a line from 0 to 1.

    >>> bar(Gauge(0.5, 0.25, 0.75, 9.0), 9, "").plain, bar(None, 9, "").plain
    ('··━━●━━··', '·········')
    """
    if gauge is None or gauge.value is None or gauge.lower is None or gauge.upper is None:
        return Text("·" * width, style="dim")
    first, at, last = (
        round(bound * (width - 1)) for bound in (gauge.lower, gauge.value, gauge.upper)
    )
    return Text.assemble(
        ("·" * first, "dim"),
        ("━" * (at - first), style),
        ("●", f"bold {style}"),
        ("━" * (last - at), style),
        ("·" * (width - 1 - last), "dim"),
    )


def course(values: Sequence[float | None], styles: Sequence[str]) -> Text:
    """One character a value, blank where there is none; full height is 1/2, or 1 if need be.

    >>> course([None, 0.0, 0.2, 0.5], ["", "", "", ""]).plain
    ' ▁▄█'
    >>> course([0.2, 1.0], ["", ""]).plain
    '▂█'
    """
    full = 0.5 if max((value for value in values if value is not None), default=0) <= 0.5 else 1
    text = Text()
    for value, style in zip(values, styles, strict=True):
        text.append(" " if value is None else _LEVELS[round(value / full * 7)], style=style)
    return text


def scale(window: str, width: int) -> str:
    """The heading over a bar.

    >>> scale("15s", 13)
    '0    15s    1'
    """
    return f"0{window:^{width - 2}}1"
