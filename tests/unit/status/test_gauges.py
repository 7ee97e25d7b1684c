"""The table of gauges on a terminal: a row for each metric, and what it is the share of."""

from __future__ import annotations

import pytest
from rich.text import Text

from monitor.exporter.serve.scraped import ScrapedPage
from monitor.metrics.catalogue import CATALOGUE
from monitor.status.gauges import WORDS, gauge_table
from monitor.status.history import Look, ScrapeHistory
from monitor.status.layout import layout


def test_every_metric_says_what_it_is_the_share_of() -> None:
    """Below its name, where there are two lines for it."""
    history = ScrapeHistory()
    history.add(Look(0.0, ScrapedPage({}, {}, 0, 0, 0)))
    table = gauge_table(history, "5m", layout(150, ("5m",)), CATALOGUE, 2, lambda *_: "green")
    names = [cell.plain.split("\n") for cell in table.columns[0].cells if isinstance(cell, Text)]
    assert [name.split()[0] for name, _ in names] == list(CATALOGUE)
    assert [name for name, meaning in names if not meaning.strip()] == []


@pytest.mark.parametrize("name", CATALOGUE)
def test_it_is_called_as_everywhere(name: str) -> None:
    """In words of the catalogue, as alerts and pages say them, with some left out where it is long.

    No longer than a column on a terminal of 80.
    """
    left = iter(CATALOGUE[name].plain.split())
    said = WORDS[name].split()
    assert [word for word in said if word not in left] == []
    assert len(WORDS[name]) <= 30


def test_a_short_name_is_of_a_metric() -> None:
    """None stands for a metric that is no more."""
    assert WORDS.keys() == CATALOGUE.keys()
