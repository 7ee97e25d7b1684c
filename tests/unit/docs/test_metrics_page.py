"""The table of docs/metrics.md is the catalogue, row by row."""

from __future__ import annotations

import re
from pathlib import Path

from monitor.metrics.catalogue import CATALOGUE, Metric

PAGE = Path(__file__).parents[3] / "docs/metrics.md"
HEAD = (
    "| metric | meaning | formula | good | needs | usual | says nothing | same as |\n"
    "|---|---|---|---|---|---|---|---|\n"
)


def row(metric: Metric) -> str:
    """A metric as a line of the page."""
    needs = {"passages": metric.needs_contexts, "reference": metric.needs_reference}
    cells = (
        f"`{metric.name}`",
        metric.meaning.removesuffix("."),
        metric.formula,
        {True: "high", False: "low", None: "–"}[metric.higher_is_better],
        ", ".join(name for name, needed in needs.items() if needed),
        "{:g}–{:g}".format(*metric.typical),
        metric.says_nothing,
        metric.same_as,
    )
    return "| " + " | ".join(cells) + " |\n"


def test_the_table_is_the_catalogue() -> None:
    """What the page should hold between its marks is in the message when it does not."""
    found = re.search(
        r"<!-- catalogue -->\n(.*?)<!-- /catalogue -->", PAGE.read_text(encoding="utf-8"), re.S
    )
    assert found
    assert found[1] == HEAD + "".join(row(metric) for metric in CATALOGUE.values())
