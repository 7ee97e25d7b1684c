"""What ``evaluate`` gives: values by row and metric, and means with their intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from monitor.api.arguments import meant
from monitor.api.results import MetricResult
from monitor.api.samples import frame_of
from monitor.evaluate.column import ColumnStatistics, described
from monitor.evaluate.summary import known_usd
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Outcome, ScoreRecord, Usage
from monitor.stats.estimate import estimate
from monitor.stats.sums import ZERO, as_worse, terms

_NO_JUDGEMENT = (Outcome.JUDGE_FAILED, Outcome.OVER_BUDGET)


@dataclass(frozen=True)
class MeanScore:
    """The mean of a metric over ``n`` rows with a value, and its 95 % interval.

    ``missing`` counts the other rows by reason. Where no row has a value, all three are None.
    Failed judgements widen the interval, as in gauges: they may be the hard rows.
    """

    value: float | None
    lower: float | None
    upper: float | None
    n: int
    missing: Mapping[str, int]

    def __str__(self) -> str:
        """Rounded, with the interval.

        >>> print(MeanScore(0.25, 0.1, 0.5, 12, {}))
        0.250 (0.100–0.500)
        """
        if self.value is None or self.lower is None or self.upper is None:
            return "–"
        return f"{self.value:.3f} ({self.lower:.3f}–{self.upper:.3f})"


class EvaluationResult(Mapping[str, list[float | None]]):
    """The values of each metric, by name and in the order of the rows.

    A row without a value has None. ``means`` has the mean of each metric with its interval.
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        columns: Mapping[str, tuple[str, Sequence[ScoreRecord]]],
        *,
        has_price: bool = True,
        index: Any = None,
    ) -> None:
        self._rows, self._columns, self._has_price = rows, columns, has_price
        self._index = index
        self.means = {
            name: _mean(metric, self.results(name)) for name, (metric, _) in columns.items()
        }

    def __getitem__(self, name: str) -> list[float | None]:
        return [result.value for result in self.results(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def results(self, name: str) -> list[MetricResult]:
        """Of one metric, each with its evidence."""
        if name not in self._columns:
            raise KeyError(f"no metric {name!r}: {meant(name, self._columns)}")
        metric, records = self._columns[name]
        return [MetricResult(metric, record) for record in records]

    @property
    def statistics(self) -> dict[str, ColumnStatistics | None]:
        """Of each metric median, spread, quartiles and more; None where no row has a value."""
        return {
            name: described([value for value in values if value is not None])
            for name, values in self.items()
        }

    @property
    def scores(self) -> list[dict[str, float | None]]:
        """The values by row."""
        return [dict(zip(self, row, strict=True)) for row in zip(*self.values(), strict=True)]

    @property
    def records(self) -> list[ScoreRecord]:
        """What ``rag-monitor evaluate`` would write, a record a row and judge."""
        found = {id(record): record for _, records in self._columns.values() for record in records}
        return list(found.values())

    @property
    def usage(self) -> Usage:
        """Calls, tokens and US dollars of all rows; no dollars where ``usd`` is None."""
        return sum((record.usage for record in self.records), Usage())

    @property
    def usd(self) -> float | None:
        """What all rows cost in US dollars; None where a model's price is not known."""
        return known_usd(self.usage, has_price=self._has_price)

    def explain(self, row: int, metric: str | None = None) -> str:
        """The evidence of a row, counted from 0; of one metric, or of all of them."""
        names = list(self) if metric is None else [metric]
        return "\n\n".join(self.results(name)[row].explain() for name in names)

    def to_list(self) -> list[dict[str, Any]]:
        """The rows as they were given, with a column for each metric."""
        return [{**row, **score} for row, score in zip(self._rows, self.scores, strict=True)]

    def to_pandas(self) -> Any:
        """The same as a DataFrame, with the index of the one that was given.

        Raises ``ImportError`` where pandas is not installed.
        """
        return frame_of(self.to_list(), self._index)

    def lines(self) -> Iterator[str]:
        """A line for each metric: mean, interval, rows with a value, and why others have none."""
        yield f"{'metric':30} {'mean':>6}  {'95 % interval':15} {'n':>6}  no value"
        for name, mean in self.means.items():
            said = ", ".join(f"{number:,} {reason}" for reason, number in mean.missing.items())
            value = "–" if mean.value is None else f"{mean.value:.3f}"
            span = "" if mean.lower is None else f"{mean.lower:.3f}–{mean.upper:.3f}"
            yield f"{name:30} {value:>6}  {span:15} {mean.n:>6,}  {said}".rstrip()

    def __repr__(self) -> str:
        """The table of means."""
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        head, *rows = ("metric", "mean (95 % interval)", "n", "no value"), *self._cells()
        cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"

    def _cells(self) -> Iterator[tuple[str, str, str, str]]:
        for name, mean in self.means.items():
            said = ", ".join(f"{number:,} {reason}" for reason, number in mean.missing.items())
            yield name, str(mean), f"{mean.n:,}", said


def _mean(metric: str, results: Sequence[MetricResult]) -> MeanScore:
    better, sums = CATALOGUE[metric].higher_is_better, ZERO
    missing: Counter[str] = Counter()
    for result in results:
        value, failed = result.value, result.record.outcome in _NO_JUDGEMENT
        if value is None:
            missing[str(result.reason)] += 1
        if value is not None or failed:
            worse = None if value is None else as_worse(value, better)
            one = terms(m=1, q=1.0, u=1.0, f_mean=0.0, f=0.0, value_as_worse=worse, failed=failed)
            sums = sums.plus(one)
    found = estimate(sums, sums, better)
    n = len(results) - missing.total()
    return MeanScore(found.value, found.lower, found.upper, n, dict(missing.most_common()))
