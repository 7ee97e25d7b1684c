"""A file's report as a page that needs nothing else: no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from monitor.evaluate.outcome import FileOutcome
from monitor.evaluate.plotted import MetricPlot, plots
from monitor.evaluate.summary import MetricSums, one_line
from monitor.metrics.catalogue import CATALOGUE

_PAGE: Final = Environment(
    autoescape=True,
    loader=PackageLoader("monitor.evaluate", ""),
    lstrip_blocks=True,
    trim_blocks=True,
    undefined=StrictUndefined,
).get_template("page.html")
#: Of the drawing, in CSS pixels: its plot begins at ``_LEFT``, is ``_WIDE`` and ``_HIGH``.
_LEFT, _TOP, _WIDE, _HIGH = 16.0, 22.0, 400.0, 120.0


class Bar(NamedTuple):
    """One part of a histogram, as it is drawn; ``label`` is its count."""

    x: float
    y: float
    width: float
    height: float
    label: str


class DrawnMetric(NamedTuple):
    """A plot with the places of its parts; ``box`` are ends, quartiles, median and mean."""

    plot: MetricPlot
    bars: list[Bar]
    box: tuple[float, ...]
    outliers: list[float]


def as_page(outcome: FileOutcome) -> str:
    """HTML."""
    groups = [
        (application, judge or "nobody", [_row(name, found) for name, found in metrics.items()])
        for (application, judge), metrics in outcome.groups.items()
    ]
    return _PAGE.render(
        outcome=outcome,
        said=one_line(outcome.summary),
        groups=groups,
        drawn=[_drawn(plot) for plot in plots(outcome)],
        several=len(outcome.groups) > 1,
        notes=list(outcome.notes()),
    )


def _row(name: str, found: MetricSums) -> tuple[str, ...]:
    column = found.statistics()
    missing = ", ".join(f"{number:,} {reason}" for reason, number in found.missing.most_common())
    interval = found.interval(CATALOGUE[name].higher_is_better)
    if column is None or interval is None:
        return (name, *[""] * 6, "0", missing)
    cells = (column.median, column.min, column.max, column.deviation)
    return (
        name,
        f"{column.mean:.3f}",
        f"{interval[0]:.3f} to {interval[1]:.3f}",
        *("" if each is None else f"{each:.3f}" for each in cells),
        f"{column.n:,}",
        missing,
    )


def _drawn(plot: MetricPlot) -> DrawnMetric:
    column = plot.column
    box = (plot.ends[0], column.lower_quartile, column.median, column.upper_quartile, plot.ends[1])
    places = tuple(map(_across, (*box, column.mean)))
    return DrawnMetric(plot, list(_bars(plot)), places, list(map(_across, plot.outliers)))


def _bars(plot: MetricPlot) -> Iterator[Bar]:
    most = max(plot.counts)
    for low, high, count in plot.bounds():
        height = _HIGH * count / most
        x = _across(low)
        yield Bar(x + 1, _TOP + _HIGH - height, _across(high) - x - 2, height, f"{count:,}")


def _across(value: float) -> float:
    return round(_LEFT + _WIDE * value, 2)
