"""What is plotted of a file, metric by metric: the same numbers for HTML and for PNG. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from monitor.evaluate.column import BINS, ColumnStatistics, histogram, whiskers
from monitor.evaluate.outcome import FileOutcome
from monitor.evaluate.risks import RiskSign
from monitor.metrics.catalogue import CATALOGUE


class MetricPlot(NamedTuple):
    """Histogram and box of one metric over the rows of an application and judge.

    ``counts`` are of equal parts of [0, 1]. ``ends`` are those of the whiskers, ``outliers`` the
    distinct scores beyond them. ``better`` says which direction is good.
    """

    application: str
    judge: str
    metric: str
    plain: str
    better: str
    column: ColumnStatistics
    counts: tuple[int, ...]
    ends: tuple[float, float]
    outliers: tuple[float, ...]
    missing: int
    signs: tuple[RiskSign, ...]

    def bounds(self) -> Iterator[tuple[float, float, int]]:
        """Of each part its beginning, its end and its count."""
        for part, count in enumerate(self.counts):
            yield part / BINS, (part + 1) / BINS, count

    def in_words(self) -> str:
        """For whoever does not see it."""
        column = self.column
        counted = ", ".join(
            f"{low:.1f} to {high:.1f}: {count}" for low, high, count in self.bounds() if count
        )
        return (
            f"{self.metric}: {column.n} rows, mean {column.mean:.3f}, median {column.median:.3f}. "
            f"Rows by value: {counted}."
        )


def plots(outcome: FileOutcome) -> Iterator[MetricPlot]:
    """One for each metric that has a value, in the order of the table."""
    for (application, judge), metrics in outcome.groups.items():
        for name, found in metrics.items():
            column, metric = found.statistics(), CATALOGUE[name]
            if column is None:
                continue
            ends = whiskers(found.scores, column)
            beyond = sorted({one for one in found.scores if not ends[0] <= one <= ends[1]})
            yield MetricPlot(
                *(application, judge, name, metric.plain, _better(metric.higher_is_better)),
                *(column, histogram(found.scores), ends, tuple(beyond)),
                found.missing.total(),
                tuple(outcome.signs(name, found)),
            )


def _better(higher_is_better: bool | None) -> str:
    if higher_is_better is None:
        return ""
    return "more is better" if higher_is_better else "less is better"
