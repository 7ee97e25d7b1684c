"""The outcomes as the demo shows them: every interaction that was read ends in one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from monitor.exporter.serve.scraped import ScrapedPage
from monitor.records import Outcome
from monitor.status.history import ScrapeHistory

MEANINGS: Final[Mapping[str, str]] = {
    Outcome.SCORED: "judged, and has a value",
    Outcome.NOT_SAMPLED: "left out by the sample",
    Outcome.UNSCORABLE: "judged, nothing to score",
    Outcome.JUDGE_FAILED: "no usable answer of the judge",
    Outcome.DEAD_LETTERED: "could not be read",
    Outcome.HANDED_OVER: "will be read again",
}


class OutcomeRow(NamedTuple):
    """As shown."""

    outcome: str
    reason: str
    interactions: str
    rate: str
    meaning: str


def outcome_table(history: ScrapeHistory) -> Table:
    """One row an outcome and reason, what is in flight, and the sum."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column(" outcome", no_wrap=True, min_width=12)
    table.add_column("reason", no_wrap=True)
    table.add_column("interactions", justify="right", no_wrap=True, min_width=12)
    table.add_column("a second", justify="right", no_wrap=True, min_width=8)
    table.add_column("", style="dim", no_wrap=True)
    for row in _rows(history):
        table.add_row(f" {row.outcome}", *row[1:])
    return table


def outcome_line(history: ScrapeHistory) -> Text:
    """The same sum where there is no room for a table."""
    page = history.last.page
    parts = [
        f"{outcome}{f'/{reason}' if reason else ''} {page.outcomes[outcome, reason]}"
        for outcome, reason in _in_order(page)
    ]
    parts.append(f"in flight {page.in_flight}")
    return Text(f" consumed {page.consumed} = {' + '.join(parts)}", style="dim")


def _rows(history: ScrapeHistory) -> Iterator[OutcomeRow]:
    page = history.last.page
    for key in _in_order(page):
        rate = history.rate(partial(_ended, key))
        yield OutcomeRow(*key, f"{page.outcomes[key]}", _rate(rate), MEANINGS.get(key[0], ""))
    yield OutcomeRow("in flight", "", f"{page.in_flight}", "", "read, not ended yet")
    consumed = _rate(history.rate(lambda page: page.consumed))
    yield OutcomeRow(
        "= consumed", "", f"{page.consumed}", consumed, "every one ends in one outcome"
    )


def _in_order(page: ScrapedPage) -> list[tuple[str, str]]:
    order = list(Outcome)
    return sorted(page.outcomes, key=lambda key: (order.index(Outcome(key[0])), key[1]))


def _ended(key: tuple[str, str], page: ScrapedPage) -> int:
    return page.outcomes.get(key, 0)


def _rate(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.1f}"
