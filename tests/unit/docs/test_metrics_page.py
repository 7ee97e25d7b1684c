"""The tables of docs/metrics.md are the catalogue, row by row."""

from __future__ import annotations

from tests.metrics_page import PAGE, written


def test_the_tables_are_the_catalogue() -> None:
    """Write them anew with ``python -m tests.metrics_page``."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page)
