"""Gauges as text: in words, as an interval on a line, as a course over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from rich.text import Text

from monitor.exporter.serve.scraped import Gauge

NO_DATA = "no data yet"
_LEVELS = "▁▂▃▄▅▆▇█"
#: Evidence goes no higher above its threshold (log10).
ABOVE: Final = 2.0


def gauge_in_words(gauge: Gauge | None) -> str:
    """A gauge in ASCII, for a log.

    >>> gauge_in_words(Gauge(0.08, 0.05, 0.12, 240.0)), gauge_in_words(None)
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


def rising(evidence: float | None, threshold: float, width: int, style: str) -> Text:
    """Evidence on a log scale from 1, on the left, over its threshold │ to a hundred times that.

    Both are log10. The bar reaches the threshold exactly when the evidence does.

    >>> rising(2.0, 4.0, 10, "").plain, rising(4.0, 4.0, 10, "").plain
    ('███···│···', '██████│···')
    >>> rising(6.0, 4.0, 10, "").plain, rising(-1.0, 4.0, 10, "").plain
    ('██████│███', '······│···')
    """
    mark = _mark(threshold, width)
    filled = 0
    if evidence is not None and evidence >= threshold:
        filled = mark + round(min(1.0, (evidence - threshold) / ABOVE) * (width - mark - 1))
    elif evidence is not None:
        filled = math.floor(max(0.0, evidence) / threshold * mark)
    above = max(0, filled - mark)
    return Text.assemble(
        ("█" * min(filled, mark), style),
        ("·" * (mark - min(filled, mark)), "dim"),
        ("│", "bold"),
        ("█" * above, style),
        ("·" * (width - mark - 1 - above), "dim"),
    )


def rising_scale(threshold: float | None, width: int) -> str:
    """The heading over such a bar; the threshold stands over its mark.

    >>> rising_scale(7.56, 32), rising_scale(7.56, 12), rising_scale(None, 20)
    ('0 evidence        alarm 7.56    ', '0       7.56', '0 evidence          ')
    """
    if threshold is None:
        return "0 evidence".ljust(width)
    said = f"{threshold:.2f}"
    begin = min(width - len(said), _mark(threshold, width) - len(said) // 2 + 1)
    if begin > 17:
        return f"{'0 evidence':<{begin - 6}}alarm {said}".ljust(width)
    return f"{'0 evidence' if begin > 10 else '0':<{begin}}{said}".ljust(width)


def progress(done: int, of: int, width: int) -> Text:
    """How much of a whole there is.

    >>> progress(50, 200, 8).plain
    '▒▒······'
    """
    filled = min(width, done * width // of)
    return Text.assemble(("▒" * filled, "cyan"), ("·" * (width - filled), "dim"))


def _mark(threshold: float, width: int) -> int:
    return round(threshold / (threshold + ABOVE) * (width - 1))
