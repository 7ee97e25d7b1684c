"""Gauges as a table: name and meaning, an interval on a line, the last minute, and windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from rich import box
from rich.table import Table
from rich.text import Text

from monitor.metrics.catalogue import CATALOGUE, Metric
from monitor.status.bars import bar, cell, course, scale
from monitor.status.history import KEPT_S, ScrapeHistory
from monitor.status.layout import Layout

#: ``plain`` of the catalogue, or fewer of its words: short enough for the first column.
WORDS: Final[Mapping[str, str]] = {
    "faithfulness": "claims the passages support",
    "noise_sensitivity_relevant": "wrong from relevant passages",
    "noise_sensitivity_irrelevant": "wrong from irrelevant passages",
    "incorrect_claims": "wrong claims",
    "hallucination": "wrong claims from no passage",
    "faithfulness_by_passage": "claims one passage supports",
    "self_knowledge": "right claims from no passage",
    "claim_precision": "right claims",
    "claim_recall": "reference claims answered",
    "claim_f1": "agreement with reference (F1)",
    "context_recall": "reference claims retrieved",
    "context_precision": "passages that are relevant",
    "context_utilization": "retrieved claims that are used",
    "irrelevant_context_reliance": "from irrelevant passages",
    "answered": "questions that are answered",
    "retrieved": "questions with passages",
    "answer_relevance": "that answer the question",
}
#: They tell of the incident, on the smallest terminal, too.
CHOSEN: Final = tuple(WORDS)[:5]
_ARROWS: Final = {True: " ↑", False: " ↓", None: ""}

#: The colour of a metric's gauge, so many seconds after the start.
Colour = Callable[[str, float], str]


def gauge_table(
    history: ScrapeHistory,
    window: str,
    fits: Layout,
    metrics: Iterable[str],
    lines: int,
    colour: Colour,
) -> Table:
    """A row for each metric, in up to ``lines`` lines; bars and courses are of ``window``."""
    table = Table(
        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), leading=int(lines > 2), show_edge=False
    )
    table.add_column(" metric (↑ high, ↓ low is good)", no_wrap=True)
    table.add_column(scale(window, fits.bar), no_wrap=True)
    if fits.course:
        table.add_column(f"its last {KEPT_S:.0f} s", no_wrap=True)
    for each in fits.windows:
        table.add_column(each, justify="right", no_wrap=True)
    elapsed_s, page = history.last
    for name in metrics:
        gauge = page.gauges.get((name, window))
        cells = [bar(gauge, fits.bar, colour(name, elapsed_s))]
        if fits.course:
            cells.append(_course(history, name, window, fits.course, colour))
        cells += [cell(page.gauges.get((name, each))) for each in fits.windows]
        row = [_title(CATALOGUE[name]), *cells]
        table.add_row(*(row if lines > 1 else [each.split()[0] for each in row]))
    return table


def _course(history: ScrapeHistory, metric: str, window: str, width: int, colour: Colour) -> Text:
    steps = history.course(metric, window, width)
    colours = [colour(metric, max(0.0, elapsed_s)) for elapsed_s, _ in steps]
    return course([value for _, value in steps], colours)


def _title(metric: Metric) -> Text:
    arrow = _ARROWS[metric.higher_is_better]
    # A metric that somebody has added has all of its words.
    words = (f"\n  {WORDS.get(metric.name, metric.plain)}", "dim")
    return Text.assemble((f" {metric.name}", "bold"), (arrow, "dim"), words)
