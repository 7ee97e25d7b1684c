"""What the demo shows: a live picture on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from monitor.config import seconds
from monitor.demo.bars import bar, cell, course, said, scale
from monitor.demo.history import KEPT_S, History, Look
from monitor.demo.schedule import Schedule
from monitor.export.scrape import Page
from monitor.metrics.catalogue import CATALOGUE, Metric
from monitor.records import Outcome

#: The gauge that the demo's incident moves.
MOVED: Final = "noise_sensitivity_irrelevant"
SCREEN: Final = "offline, a lexical screen: it compares words and numbers, no model reads"
#: Short enough for the first column; a metric without one shows its arrow only.
MEANINGS: Final[Mapping[str, str]] = {
    "faithfulness": "claims that passages support",
    "noise_sensitivity_relevant": "wrong, by a relevant passage",
    "noise_sensitivity_irrelevant": "wrong, by irrelevant ones",
    "incorrect_claims": "wrong by the reference",
    "hallucination": "wrong, and in no passage",
    "faithfulness_by_passage": "claims that one passage supports",
    "self_knowledge": "right, and in no passage",
    "claim_precision": "right by the reference",
    "claim_recall": "reference claims that it says",
    "claim_f1": "both of these",
    "context_recall": "reference claims retrieved",
    "context_precision": "passages that are relevant",
    "context_utilization": "said of what was retrieved",
    "irrelevant_context_reliance": "only by irrelevant ones",
}
#: They are shown on the smallest terminal.
CHOSEN: Final = tuple(MEANINGS)[:5]
OUTCOMES: Final[Mapping[str, str]] = {
    Outcome.SCORED: "judged, and has a value",
    Outcome.NOT_SAMPLED: "left out by the sample",
    Outcome.UNSCORABLE: "judged, nothing to score",
    Outcome.JUDGE_FAILED: "no usable answer of the judge",
    Outcome.DEAD_LETTERED: "could not be read",
    Outcome.HANDED_OVER: "will be read again",
}
_ARROWS: Final = {True: " ↑", False: " ↓", None: ""}
#: Columns with their gap of two.
_NAME, _WINDOW, _GAP = 32, 14, 2
_BARS, _COURSES = (14, 36), (14, 30)


class Layout(NamedTuple):
    """What fits: columns of the bar and the course (0: none), windows, lines per metric."""

    bar: int
    course: int
    windows: tuple[str, ...]
    lines: int


def shown_metrics(height: int) -> list[Metric]:
    """All where there are two lines for each, else the five that tell of the incident.

    >>> len(shown_metrics(28)), len(shown_metrics(27))
    (14, 5)
    """
    found = list(CATALOGUE.values())
    return found if height >= 2 * len(found) else [one for one in found if one.name in CHOSEN]


def layout(width: int, height: int, windows: tuple[str, ...]) -> Layout:
    """Windows first, then a course if there is room, and the bar takes the rest.

    ``height`` is what is left for the metrics; their third line is empty.

    >>> layout(100, 50, ("15s", "1m", "5m"))
    Layout(bar=23, course=0, windows=('15s', '1m', '5m'), lines=3)
    >>> layout(80, 8, ("15s", "1m", "5m"))
    Layout(bar=17, course=0, windows=('15s', '1m'), lines=1)
    >>> layout(150, 12, ("15s", "1m", "5m"))
    Layout(bar=36, course=30, windows=('15s', '1m', '5m'), lines=2)
    """
    room = width - 1 - _NAME - _GAP
    shown = windows[: max(1, (room - _BARS[0]) // _WINDOW)]
    room -= _WINDOW * len(shown)
    lines = min(3, max(1, (height + 1) // len(shown_metrics(height))))
    if room < _BARS[0] + _GAP + _COURSES[0]:
        return Layout(max(_BARS[0], min(_BARS[1], room)), 0, shown, lines)
    course_width = min(_COURSES[1], (room - _GAP) // 2)
    return Layout(min(_BARS[1], room - _GAP - course_width), course_width, shown, lines)


class View:
    """The last minute of scrapes; printed on a console, it is the live picture.

    ``url`` is where the metrics are served; ``judge`` says in words who judges.
    """

    def __init__(
        self, schedule: Schedule, windows: tuple[str, ...], *, url: str, judge: str
    ) -> None:
        self._schedule, self._windows = schedule, windows
        self._url, self._judge = url, judge
        self._history = History()

    def look(self, page: Page, now: float) -> None:
        """Take in a scrape made at ``now`` (epoch seconds)."""
        self._history.add(Look(max(0.0, now - self._schedule.start), page))

    def intro(self) -> str:
        """The first plain line: where to look, and who judges."""
        return f"rag-monitor demo; metrics: {self._url}/metrics; judge: {self._judge}"

    def plain(self) -> str:
        """The last scrape as one line for a log: counts, and the gauge that the incident moves."""
        (elapsed_s, page), window = self._history.last, self._windows[0]
        scored = sum(n for (outcome, _), n in page.outcomes.items() if outcome == Outcome.SCORED)
        parts = [f"{elapsed_s:4.0f} s", f"{self._phase(elapsed_s):8}"]
        parts += [f"consumed {page.consumed:5}", f"scored {scored:5}"]
        for metric in (MOVED, "faithfulness"):
            parts.append(f"{metric}[{window}] {said(page.gauges.get((metric, window)))}")
        return "  ".join(parts)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As wide as the terminal, and as airy as its height allows."""
        outcomes = list(self._outcomes())
        others = 5 + 2 + 1 + 3 + len(outcomes)  # panel, two headings, gap
        yield self._header()
        room = options.max_height - others - 1
        yield self._gauges(layout(options.max_width, room, self._windows), shown_metrics(room))
        yield _outcome_table(outcomes)

    def _phase(self, elapsed_s: float) -> str:
        phases = self._schedule.phases(math.floor(self._schedule.start + elapsed_s) + 1)
        return phases[-1].name if phases else "before"

    def _header(self) -> Panel:
        elapsed_s = self._history.last.elapsed_s
        body = Text.assemble(
            *self._banner(elapsed_s),
            ("\njudge    ", "dim"),
            self._judge,
            ("\nmetrics  ", "dim"),
            f"{self._url}/metrics",
            no_wrap=True,
            overflow="ellipsis",
        )
        return Panel(
            body,
            title=f"[bold]rag-monitor demo[/bold] · {elapsed_s:.0f} s",
            title_align="left",
            subtitle="[dim]Ctrl-C ends it[/dim]",
            subtitle_align="right",
            border_style="red" if self._phase(elapsed_s) == "incident" else "blue",
        )

    def _banner(self, elapsed_s: float) -> list[tuple[str, str]]:
        """What the traffic does, and until when."""
        begin = self._schedule.incident_at
        over = begin + self._schedule.incident_for
        phase = self._phase(elapsed_s)
        if phase == "incident":
            what = "  an outdated index went live: irrelevant passages mislead the answers"
            return [(" INCIDENT ", "bold white on red"), (what, "bold red")]
        if phase == "before":
            note = f"   the incident begins in {begin - elapsed_s:.0f} s" if over > begin else ""
            return [("● traffic as usual", "bold green"), (note, "dim")]
        fading = elapsed_s < over + seconds(self._windows[0])
        note = f"   the {self._windows[0]} gauges still hold some of it" if fading else ""
        return [("● the incident is over", "bold green"), (note, "yellow")]

    def _gauges(self, fits: Layout, metrics: list[Metric]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), leading=int(fits.lines > 2))
        table.add_column("metric (↑ high, ↓ low is good)", no_wrap=True)
        table.add_column(scale(self._windows[0], fits.bar), no_wrap=True)
        if fits.course:
            table.add_column(f"its last {KEPT_S:.0f} s", no_wrap=True)
        for window in fits.windows:
            table.add_column(window, justify="right", no_wrap=True)
        gauges = self._history.last.page.gauges
        for metric in metrics:
            cells = [self._bar(metric.name, fits.bar)]
            if fits.course:
                cells.append(self._course(metric.name, fits.course))
            cells += [cell(gauges.get((metric.name, window))) for window in fits.windows]
            row = [_title(metric), *cells]
            table.add_row(*(row if fits.lines > 1 else [each.split()[0] for each in row]))
        return table

    def _colour(self, metric: str, elapsed_s: float) -> str:
        moved = metric == MOVED and self._phase(elapsed_s) == "incident"
        return "red" if moved else "cyan"

    def _bar(self, metric: str, width: int) -> Text:
        elapsed_s, page = self._history.last
        gauge = page.gauges.get((metric, self._windows[0]))
        return bar(gauge, width, self._colour(metric, elapsed_s))

    def _course(self, metric: str, width: int) -> Text:
        steps = self._history.course(metric, self._windows[0], width)
        colours = [self._colour(metric, max(0.0, elapsed_s)) for elapsed_s, _ in steps]
        return course([value for _, value in steps], colours)

    def _outcomes(self) -> Iterator[tuple[str, str, str, str, str]]:
        """Rows: outcome, reason, count, count a second, meaning."""
        page = self._history.last.page
        order = list(Outcome)
        for key in sorted(page.outcomes, key=lambda key: (order.index(Outcome(key[0])), key[1])):
            rate = self._history.rate(partial(_ended, key))
            yield *key, f"{page.outcomes[key]}", _rate(rate), OUTCOMES.get(key[0], "")
        yield "in flight", "", f"{page.in_flight}", "", "read, not ended yet"
        consumed = _rate(self._history.rate(lambda page: page.consumed))
        yield "= consumed", "", f"{page.consumed}", consumed, "every one ends in one outcome"


def _title(metric: Metric) -> Text:
    arrow = _ARROWS[metric.higher_is_better]
    meaning = (f"\n  {MEANINGS.get(metric.name, '')}", "dim")
    return Text.assemble((metric.name, "bold"), (arrow, "dim"), meaning)


def _ended(key: tuple[str, str], page: Page) -> int:
    return page.outcomes.get(key, 0)


def _rate(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.1f}"


def _outcome_table(rows: list[tuple[str, str, str, str, str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("outcome", no_wrap=True, min_width=11)
    table.add_column("reason", no_wrap=True)
    table.add_column("interactions", justify="right", no_wrap=True, min_width=12)
    table.add_column("a second", justify="right", no_wrap=True, min_width=8)
    table.add_column("", style="dim", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table
