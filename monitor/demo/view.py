"""What the demo shows: a live picture on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from monitor.demo.schedule import Schedule
from monitor.export.scrape import Gauge, Page
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Outcome

#: The gauge that the demo's incident moves.
MOVED: Final = "noise_sensitivity_irrelevant"
NO_DATA: Final = "no data yet"
#: Short enough for the first column; a metric without one gets only its arrow.
MEANINGS: Final[Mapping[str, str]] = {
    "faithfulness": "claims that passages support",
    "noise_sensitivity_relevant": "wrong, by a relevant passage",
    "noise_sensitivity_irrelevant": "wrong, by irrelevant ones",
    "incorrect_claims": "wrong by the reference",
    "hallucination": "wrong, and in no passage",
}
OUTCOMES: Final[Mapping[str, str]] = {
    Outcome.SCORED: "judged, and at least one metric has a value",
    Outcome.NOT_SAMPLED: "left out by the sample",
    Outcome.UNSCORABLE: "judged, but claims nothing: a refusal",
    Outcome.JUDGE_FAILED: "the judge gave no usable answer",
    Outcome.DEAD_LETTERED: "could not be read",
    Outcome.HANDED_OVER: "left to the next owner of the partition",
}

HISTORY_S: Final = 60.0
RATE_OVER_S: Final = 10.0
_LEVELS: Final = " ▁▂▃▄▅▆▇█"
_NAME, _WINDOW, _BAR, _SPARK, _PAD = 30, 13, (16, 34), (12, 30), 2


class _Look(NamedTuple):
    elapsed_s: float
    in_incident: bool
    page: Page


class View:
    """Remembers the last minute of scrapes, so that it can show a course and rates.

    ``url`` is where the metrics are served, ``judge`` its label, ``is_screen`` whether it is the
    lexical one.
    """

    def __init__(
        self, schedule: Schedule, windows: tuple[str, ...], *, url: str, judge: str, is_screen: bool
    ) -> None:
        self._schedule, self._windows = schedule, windows
        self._url, self._judge, self._is_screen = url, judge, is_screen
        self._looks: deque[_Look] = deque()

    def look(self, page: Page, now: float) -> None:
        """Take in a scrape made at ``now`` (epoch seconds)."""
        elapsed_s = max(0.0, now - self._schedule.start)
        self._looks.append(_Look(elapsed_s, self._schedule.phase_at(now) == "incident", page))
        while self._looks[0].elapsed_s < elapsed_s - HISTORY_S:
            self._looks.popleft()

    def intro(self) -> str:
        """The first plain line: where to look, and who judges."""
        return f"rag-monitor demo: {self._url}/metrics, judge {self._judged_by()}; Ctrl-C ends it"

    def plain(self) -> str:
        """The last scrape as one line for a log: counts, and the gauge that the incident moves."""
        last, window = self._looks[-1], self._windows[0]
        scored = _totals(last.page).get(Outcome.SCORED, 0)
        phase = self._schedule.phase_at(self._schedule.start + last.elapsed_s)
        gauges = "  ".join(
            f"{metric}[{window}] {said(last.page.gauges.get((metric, window)))}"
            for metric in (MOVED, "faithfulness")
        )
        counts = f"consumed {last.page.consumed:5}  scored {scored:5}"
        return f"{last.elapsed_s:4.0f} s  {phase:8}  {counts}  {gauges}"
