"""What the demo shows: a live picture on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from monitor.config import seconds
from monitor.demo.chronicle import Chronicle
from monitor.demo.drift_view import drift_block
from monitor.demo.schedule import Schedule, TrafficPace
from monitor.demo.stack.inbox import Inbox
from monitor.exporter.serve.scraped import ScrapedPage
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Outcome
from monitor.records.control import EVERY
from monitor.status.bars import gauge_in_words
from monitor.status.fitting import Drawing, fitted
from monitor.status.gauges import CHOSEN, gauge_table
from monitor.status.history import Look, ScrapeHistory
from monitor.status.layout import Detail, Layout, layout
from monitor.status.outcomes import outcome_line, outcome_table
from monitor.status.words import evidence_words, learning_words

#: The gauge that the demo's incident moves.
MOVED: Final = "noise_sensitivity_irrelevant"
#: From then on nothing is new enough for the first gauges, or soon will be.
OFFLINE: Final = "offline, a lexical check: it compares words and numbers, no model reads"


class View:
    """The last minute of scrapes; printed on a console, it is the live picture.

    ``chronicle`` knows what has happened; ``watched`` are the metrics that have a detector.
    ``url`` is where the metrics are served; ``judge`` says in words who judges. ``links`` are
    more addresses by name; ``inbox`` is shown where there is one. ``pace`` is that of the traffic.
    """

    def __init__(
        self,
        schedule: Schedule,
        pace: TrafficPace,
        windows: tuple[str, ...],
        chronicle: Chronicle,
        watched: Sequence[str],
        *,
        url: str,
        judge: str,
        links: Mapping[str, str] | None = None,
        inbox: Inbox | None = None,
    ) -> None:
        self._schedule, self._pace, self._windows = schedule, pace, windows
        self._chronicle, self._watched = chronicle, watched
        self._url, self._judge = url, judge
        self._links, self._inbox = dict(links or {}), inbox
        self._history = ScrapeHistory()

    def look(self, page: ScrapedPage, now: float) -> None:
        """Take in a scrape made at ``now`` (epoch seconds)."""
        self._history.add(Look(max(0.0, now - self._schedule.start), page))

    def intro(self) -> str:
        """The first plain line: where to look, and who judges."""
        more = "".join(f"; {name}: {url}" for name, url in self._links.items())
        return f"rag-monitor demo; metrics: {self._url}/metrics; judge: {self._judge}{more}"

    def plain(self) -> str:
        """The last scrape as one line for a log: counts, and the gauge that the incident moves."""
        (elapsed_s, page), window = self._history.last, self._windows[0]
        scored = sum(n for (outcome, _), n in page.outcomes.items() if outcome == Outcome.SCORED)
        parts = [f"{elapsed_s:4.0f} s", f"{self._phase(elapsed_s):8}"]
        parts += [f"consumed {page.consumed:5}", f"scored {scored:5}"]
        parts += [f"PAUSED {', '.join(page.paused)}"] if page.paused else []
        parts += [behind] if (behind := self._behind()) else []
        for metric in (MOVED, "faithfulness"):
            parts.append(f"{metric}[{window}] {gauge_in_words(page.gauges.get((metric, window)))}")
        if page.learning is not None and page.learning.is_over:
            parts.append(f"evidence {evidence_words(page.watched.get(MOVED))}")
        else:
            parts.append(learning_words(page.learning))
        return "  ".join(parts)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As wide as the terminal, and as detailed as its height allows."""
        yield from fitted(console, options, self._blocks)

    def _blocks(self, detail: Detail, width: int) -> Iterator[Drawing]:
        yield (self._header,)
        yield self._drift, width, detail.events, detail.gaps
        if self._inbox is not None:
            yield (self._inbox.__rich__,)
        yield self._gauges, layout(width, self._windows), detail.lines, detail.every
        yield (outcome_table if detail.table else outcome_line), self._history

    def _drift(self, width: int, events: int, gaps: bool) -> RenderableType:
        page = self._history.last.page
        return drift_block(page, self._chronicle, self._watched, width, events, gaps=gaps)

    def _phase(self, elapsed_s: float) -> str:
        phases = self._schedule.phases(math.floor(self._schedule.start + elapsed_s) + 1)
        return phases[-1].name if phases else "before"

    def _header(self) -> Panel:
        elapsed_s = self._history.last.elapsed_s
        body = Text.assemble(
            *self._banner(elapsed_s),
            ("\njudge    ", "dim"),
            *self._paused(),
            *([(f"{behind}  ", "bold red")] if (behind := self._behind()) else []),
            self._judge,
            ("\nmetrics  ", "dim"),
            f"{self._url}/metrics",
            ("\nsee also " if self._links else "", "dim"),
            f"\n{'':9}".join(f"{name} {url}" for name, url in self._links.items()),
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

    def _paused(self) -> list[tuple[str, str]]:
        """Before the judge, which stands still, and the gauges with it."""
        if not (paused := self._history.last.page.paused):
            return []
        names = ", ".join("all" if name == EVERY else name for name in paused)
        return [(f"PAUSED ({names}), see rag-monitor resume  ", "bold red")]

    def _behind(self) -> str:
        """That gauges of the latest seconds stay empty, and what helps; empty while all is well."""
        elapsed_s, page = self._history.last
        read = self._history.rate(lambda page: page.consumed)
        return "" if page.paused else self._pace.behind(elapsed_s, page.consumed, read)

    def _banner(self, elapsed_s: float) -> list[tuple[str, str]]:
        """What the traffic does, and until when."""
        begin = self._schedule.incident_at
        over = begin + self._schedule.incident_for
        phase = self._phase(elapsed_s)
        if phase == "incident":
            what = "  an outdated index went live; its passages mislead the answers"
            return [(" INCIDENT ", "bold white on red"), (what, "bold red")]
        if phase == "before":
            note = f"   the incident begins in {begin - elapsed_s:.0f} s" if over > begin else ""
            return [("● traffic as usual", "bold green"), (note, "dim")]
        fading = elapsed_s < over + seconds(self._windows[0])
        note = f"   the {self._windows[0]} gauges still hold some of it" if fading else ""
        return [("● the incident is over", "bold green"), (note, "yellow")]

    def _gauges(self, fits: Layout, lines: int, every: bool) -> Table:
        return gauge_table(
            self._history,
            self._windows[0],
            fits,
            CATALOGUE if every else CHOSEN,
            lines,
            self._colour,
        )

    def _colour(self, metric: str, elapsed_s: float) -> str:
        moved = metric == MOVED and self._phase(elapsed_s) == "incident"
        return "red" if moved else "cyan"
