"""The demo's last line: what went in, what came out, truth and estimate per phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.demo.mix import expected
from monitor.demo.schedule import Phase
from monitor.demo.traffic import APPLICATION
from monitor.export.book import ScoreBook, SeriesKey
from monitor.export.scrape import Page
from monitor.metrics.catalogue import CATALOGUE


def report(
    page: Page,
    book: ScoreBook,
    phases: list[Phase],
    *,
    acknowledged: int,
    end_offset: int,
    first_gauge_s: float | None,
) -> dict[str, Any]:
    """One JSON object; estimates are over event time, truth is the mix's exact expectation."""
    judges = [judge.label for judge in book.judges()]
    return {
        "acknowledged": acknowledged,
        "end_offset": end_offset,
        "consumed": page.consumed,
        "in_flight": page.in_flight,
        "outcomes": _outcomes(page.outcomes),
        "judges": judges,
        "first_gauge_s": first_gauge_s,
        "truth": {phase.name: expected(phase.mix) for phase in phases},
        "estimate": {phase.name: _estimates(book, phase, judges) for phase in phases},
    }


def _outcomes(outcomes: Mapping[tuple[str, str], int]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for (outcome, _), count in outcomes.items():
        totals[outcome] = totals.get(outcome, 0) + count
    return totals


def _estimates(book: ScoreBook, phase: Phase, judges: list[str]) -> dict[str, Any]:
    return {
        metric: {"value": found.value, "lower": found.lower, "upper": found.upper,
                 "samples": found.samples}
        for metric in CATALOGUE
        for judge in judges[-1:]
        if (
            found := book.estimate_between(
                SeriesKey(metric, APPLICATION, judge), phase.start, phase.end
            )
        )
    }  # fmt: skip
