"""What the demo shows: a live picture on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from monitor.export.scrape import Gauge, Page
from monitor.metrics.catalogue import CATALOGUE

BAR = 30
#: The gauge that the demo's incident moves.
MOVED = "noise_sensitivity_irrelevant"


def plain(page: Page, elapsed_s: float, phase: str, windows: tuple[str, ...]) -> str:
    """One line for a log: elapsed, phase, counts, the gauge that the incident moves."""
    parts = [f"{elapsed_s:5.0f} s", f"{phase:8}", f"consumed {page.consumed}"]
    scored = sum(n for (outcome, _), n in page.outcomes.items() if outcome == "scored")
    parts.append(f"scored {scored}")
    for metric in (MOVED, "faithfulness"):
        gauge = page.gauges.get((metric, windows[0]))
        parts.append(f"{metric}[{windows[0]}] {said(gauge)}")
    return "  ".join(parts)


def said(gauge: Gauge | None) -> str:
    """A gauge in words.

    >>> said(Gauge(0.08, 0.05, 0.12, 240.0)), said(None)
    ('0.080 (0.050–0.120, n=240)', 'no data yet')
    """
    if gauge is None or gauge.value is None or gauge.lower is None or gauge.upper is None:
        return "no data yet"
    return f"{gauge.value:.3f} ({gauge.lower:.3f}–{gauge.upper:.3f}, n={gauge.samples:.0f})"


def picture(
    page: Page, elapsed_s: float, phase: str, windows: tuple[str, ...], url: str, judge: str
) -> RenderableType:
    """The live picture: gauges with bounds and counts, outcomes, rates."""
    return Group(
        _header(elapsed_s, phase, url, judge), _gauges(page, windows), _outcomes(page, elapsed_s)
    )


def _header(elapsed_s: float, phase: str, url: str, judge: str) -> RenderableType:
    incident = phase == "incident"
    note = (
        "INCIDENT: an outdated index went live, irrelevant passages mislead the answers"
        if incident
        else "traffic as usual"
    )
    screen = " (a lexical screen, not a model)" if judge.startswith("offline") else ""
    body = Text.assemble(
        (f"{elapsed_s:4.0f} s  ", "bold"),
        (note, "bold red" if incident else "green"),
        f"\njudge {judge}{screen}   metrics {url}/metrics   Ctrl-C ends it",
    )
    return Panel(body, title="rag-monitor demo", border_style="red" if incident else "blue")


def _gauges(page: Page, windows: tuple[str, ...]) -> Table:
    table = Table(expand=False)
    table.add_column("metric")
    table.add_column(f"0 … 1  ({windows[0]}, ━ 95 % interval, ● estimate)")
    for window in windows:
        table.add_column(window, justify="right")
    for metric in CATALOGUE:
        found = [page.gauges.get((metric, window)) for window in windows]
        style = "bold" if metric == MOVED else ""
        table.add_row(metric, _bar(found[0]), *[said(gauge) for gauge in found], style=style)
    return table


def _bar(gauge: Gauge | None) -> str:
    """The interval on a line from 0 to 1."""
    if gauge is None or gauge.value is None or gauge.lower is None or gauge.upper is None:
        return "·" * BAR
    at = [round(bound * (BAR - 1)) for bound in (gauge.lower, gauge.value, gauge.upper)]
    return "".join("●" if i == at[1] else "━" if at[0] <= i <= at[2] else "·" for i in range(BAR))


def _outcomes(page: Page, elapsed_s: float) -> Table:
    table = Table(expand=False)
    table.add_column("outcome")
    table.add_column("reason")
    table.add_column("interactions", justify="right")
    table.add_column("a second", justify="right")
    for outcome, reason, count in _rows(page):
        table.add_row(outcome, reason, str(count), f"{count / max(elapsed_s, 1):.1f}")
    return table


def _rows(page: Page) -> Iterator[tuple[str, str, int]]:
    for (outcome, reason), count in sorted(page.outcomes.items()):
        yield outcome, reason or "–", count
    yield "in flight", "–", page.in_flight
    yield "consumed", "= sum of the above", page.consumed
