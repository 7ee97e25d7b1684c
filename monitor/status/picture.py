"""A monitor as a picture: the demo's, of whatever applications and judges there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from monitor.config import seconds
from monitor.exporter.serve.scraped import PageOwner, ScrapedPage
from monitor.metrics.catalogue import CATALOGUE
from monitor.runtime.visible import visible
from monitor.status.drift_table import drift_table, learning_line
from monitor.status.fitting import Drawing, fitted
from monitor.status.gauges import CHOSEN, gauge_table
from monitor.status.history import Look, ScrapeHistory
from monitor.status.layout import Detail, layout
from monitor.status.outcomes import outcome_line, outcome_table
from monitor.status.situation import TOPICS, Situation, reasons

#: More applications and judges than that are counted, and not drawn.
MOST_PAIRS: Final = 20


class SituationPicture:
    """What was seen of a monitor in the last minute; printed on a console, it is the picture.

    ``watched`` are the metrics that have a detector, in their order; ``learn_wait`` is how old a
    scored slot must be for a baseline to be learned from it.
    """

    def __init__(self, watched: Sequence[str], learn_wait: str) -> None:
        self._watched, self._learn_wait = tuple(watched), learn_wait
        self._counts = ScrapeHistory()
        self._pairs: dict[PageOwner, ScrapeHistory] = {}
        self._found: Situation | None = None

    def look(self, found: Situation, elapsed_s: float) -> None:
        """Take in what was found, so many seconds after the first look."""
        self._found = found
        self._counts.add(Look(elapsed_s, found.counts))
        self._pairs = {
            owner: self._pairs.get(owner, ScrapeHistory()) for owner in list(found.pairs)
        }
        for owner, page in found.pairs.items():
            self._pairs[owner].add(Look(elapsed_s, page))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As wide as the terminal, and as detailed as its height allows."""
        if self._found is not None:
            yield from fitted(console, options, partial(self._blocks, self._found))

    def _blocks(self, found: Situation, detail: Detail, width: int) -> Iterator[Drawing]:
        yield (partial(_header, found),)
        for owner, history in list(self._pairs.items())[:MOST_PAIRS]:
            yield partial(self._pair, owner, history), detail, width
        if len(self._pairs) > MOST_PAIRS:
            yield (partial(_line, f" and {len(self._pairs) - MOST_PAIRS} more: --application"),)
        if found.has_scorer:
            yield (outcome_table if detail.table else outcome_line), self._counts
        elif found.counts.outcomes:
            yield (partial(_records_line, found.counts),)

    def _pair(
        self, owner: PageOwner, history: ScrapeHistory, detail: Detail, width: int
    ) -> RenderableType:
        page = history.last.page
        title = _title(owner)
        parts: list[RenderableType] = [title]
        if any(gauge.value is not None for gauge in page.gauges.values()):
            parts.append(self._gauges(history, detail, width))
        if page.watched:
            parts.append(drift_table(page, self._with_detector(page), width))
        if page.learning is None or not page.learning.is_over:
            parts.append(learning_line(page.learning, f", from scores {self._learn_wait} old"))
        return Group(*parts)

    def _gauges(self, history: ScrapeHistory, detail: Detail, width: int) -> Table:
        page, lines = history.last.page, detail.lines
        windows = _windows(page)
        fits = layout(width, windows)
        if self._counts.has_one:
            fits, lines = fits._replace(course=0), min(2, lines)
        wanted = CATALOGUE if detail.every else CHOSEN
        named = {metric for (metric, _), gauge in page.gauges.items() if gauge.samples}
        shown = [metric for metric in wanted if metric in named] or sorted(named)
        return gauge_table(history, windows[0], fits, shown, lines, _colour(page))

    def _with_detector(self, page: ScrapedPage) -> list[str]:
        return [*self._watched, *(name for name in page.watched if name not in self._watched)]


def _title(owner: PageOwner) -> Text:
    caution = ": a lexical check, no model reads" if owner.judge.startswith("offline@") else ""
    name = (f" {visible(owner.application)}", "bold")
    return Text.assemble(name, ("  judged by ", "dim"), visible(owner.judge), (caution, "yellow"))


def _windows(page: ScrapedPage) -> tuple[str, ...]:
    """Those with a value, the shortest first; where none has one, all."""
    valued = {w for (_, w), gauge in page.gauges.items() if gauge.value is not None}
    return tuple(sorted(valued or {w for _, w in page.gauges}, key=seconds))


def _colour(page: ScrapedPage) -> partial[str]:
    return partial(_of_metric, frozenset(m for m, it in page.watched.items() if it.alarm))


def _of_metric(worse: frozenset[str], metric: str, _elapsed_s: float) -> str:
    return "red" if metric in worse else "cyan"


def _header(found: Situation) -> Panel:
    """Who answers, who judges, what is wrong."""
    lines = list(_lines(found))
    body = Text("\n").join(
        Text.assemble((f"{name:9}", "dim"), (visible(said), style)) for name, said, style in lines
    )
    waits = bool(found.waiting) or not found.processes
    style = "red" if found.alarms else "yellow" if waits else "blue"
    return Panel(body, title="[bold]rag-monitor[/bold]", title_align="left", border_style=style)


def _lines(found: Situation) -> Iterator[tuple[str, str, str]]:
    """Name, text and style of each."""
    for each in found.processes:
        state = "ready" if each.page.is_ready else "not ready"
        roles = " and ".join(each.roles) or "no role yet"
        yield "monitor", f"{each.page.version} at {each.url}: {roles}, {state}", ""
    for url, why in found.silent.items():
        yield "silent", f"{url}: {why}", "yellow"
    if found.source == TOPICS:
        yield "scores", "computed from the topics: no exporter answered", "yellow"
    for model, state in found.judges.items():
        yield "judge", f"{model}: {state}", "" if state == "judging" else "yellow"
    if found.budget is not None:
        yield "money", "{:.4f} of {:.2f} USD are left today".format(*found.budget), ""
    if found.unread is not None:
        whose = ", of the scorers that answered alone" if found.is_partial else ""
        yield "unread", f"{found.unread:,} records{whose}", ""
    for owner, metric in found.alarms:
        more = "rag-monitor alarms says what changed"
        yield "alarm", f"{metric} of {owner.application} is worse than normal: {more}", "bold red"
    if not found.alarms and any(page.watched for page in found.pairs.values()):
        yield "alarms", "none is open", "green"
    for why in reasons(found):
        yield "why", why, "yellow"


def _line(text: str) -> Text:
    return Text(text, style="dim")


def _records_line(counts: ScrapedPage) -> Text:
    """Of score records; who was not picked left none."""
    parts = [
        f"{outcome}{f'/{reason}' if reason else ''} {number}"
        for (outcome, reason), number in sorted(counts.outcomes.items())
    ]
    return _line(f" score records within the horizon: {' + '.join(parts)}")
