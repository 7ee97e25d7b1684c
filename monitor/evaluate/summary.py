"""What became of a file: outcomes, money, and the mean of every metric with its interval. Pure."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from monitor.evaluate.column import ColumnStatistics, described
from monitor.evaluate.thresholds import RowThresholds
from monitor.ingest.event_time import Replaced
from monitor.judge.provider.remedies import failure_in_words
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Outcome, ScoreRecord, Usage
from monitor.scorer.score_records import JudgingResult
from monitor.stats.estimate import estimate
from monitor.stats.sums import ZERO, Sums, as_worse, terms

#: Tables of more applications and judges than that are counted, and not printed.
MOST_TABLES: Final = 10
_NOBODY: Final = ""
_FAILED: Final = (Outcome.JUDGE_FAILED, Outcome.OVER_BUDGET)


@dataclass(slots=True)
class MetricSums:
    """One metric over the records of an application and judge; ``missing`` is by reason."""

    sums: Sums = ZERO
    scores: array[float] = field(default_factory=lambda: array("d"))
    missing: Counter[str] = field(default_factory=Counter)

    @property
    def valued(self) -> int:
        """How many records have a value."""
        return len(self.scores)

    def statistics(self) -> ColumnStatistics | None:
        """Of the values; None without one."""
        return described(self.scores)

    def interval(self, higher_is_better: bool | None) -> tuple[float, float] | None:
        """The 95 % interval of the mean; None without a value."""
        found = estimate(self.sums, self.sums, higher_is_better)
        if found.lower is None or found.upper is None:
            return None
        return found.lower, found.upper


#: By application and the label of the judge; then by metric.
MetricGroups = dict[tuple[str, str], dict[str, MetricSums]]


@dataclass(slots=True)
class Summary:
    """What became of a file; the number of the row, from 1, before which it was told to stop.

    ``resumed`` of the ``records`` were there before; ``usage`` is that of the others.
    ``replaced`` counts the times that were not the log's own, by reason; ``one_texts`` the rows of
    this run whose context is one text, ``unused_labels`` those with labels of passages that do not
    hold, and ``short_rows`` the numbers of those that end before their header does. ``repeats`` are
    the records whose id another one has before them. ``has_price``: the price of every model is
    known. ``causes`` says of each reason of a failure what to do. ``thresholds`` are those of
    single rows; None: not held.
    """

    records: int = 0
    resumed: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    rejected: int = 0
    answered: int = 0
    stopped_before: int | None = None
    failed: Counter[str] = field(default_factory=Counter)
    causes: dict[str, str] = field(default_factory=dict)
    replaced: Counter[Replaced] = field(default_factory=Counter)
    one_texts: int = 0
    has_price: bool = True
    unused_labels: int = 0
    repeats: int = 0
    short_rows: list[int] = field(default_factory=list)
    thresholds: RowThresholds | None = None
    metrics: dict[tuple[str, str], dict[str, MetricSums]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(MetricSums))
    )
    _keys: set[str] = field(default_factory=set)

    def add(self, record: ScoreRecord, *, resumed: bool = False) -> None:
        """One more record is in the file."""
        self.records += 1
        self.repeats += record.key in self._keys
        self._keys.add(record.key)
        self.resumed += resumed
        self.outcomes[f"{record.outcome}{f' ({record.reason})' if record.reason else ''}"] += 1
        if not resumed:
            self.usage += record.usage
        if record.outcome is Outcome.JUDGE_FAILED:
            self.failed[record.reason or ""] += 1
        elif _has_a_reply(record):
            self.answered += 1
        self._score(record)
        if self.thresholds is not None:
            self.thresholds.add(record)

    def ended(self, result: JudgingResult) -> None:
        """How one ended, before it is a record: that does not hold the cause of a failure."""
        if result.outcome is Outcome.JUDGE_FAILED and result.reason:
            said = failure_in_words(result.reason, result.judge.model, result.found)
            self.causes[result.reason] = said

    @property
    def usd(self) -> float | None:
        """What this run has cost; None where nobody knows."""
        return known_usd(self.usage, has_price=self.has_price)

    def groups(self) -> MetricGroups:
        """The metrics by application and judge, in order.

        What nobody judged counts beside what most of its application was judged by.
        """
        found = {pair: dict(metrics) for pair, metrics in self.metrics.items() if pair[1]}
        for (application, judge), metrics in self.metrics.items():
            if judge != _NOBODY:
                continue
            beside = [pair for pair in found if pair[0] == application]
            if not beside:
                found[application, judge] = dict(metrics)
                continue
            pair = max(beside, key=lambda pair: sum(each.valued for each in found[pair].values()))
            for name, sums in metrics.items():
                found[pair][name] = _sum(found[pair].get(name, MetricSums()), sums)
        return {
            pair: {name: found[pair][name] for name in CATALOGUE if name in found[pair]}
            for pair in sorted(found)
        }

    def _score(self, record: ScoreRecord) -> None:
        # Which version of a model judges is known from its replies only.
        judge = record.judge.label if _has_a_reply(record) else _NOBODY
        found = self.metrics[record.application, judge]
        is_failed = record.outcome in _FAILED
        for name in record.scores or (CATALOGUE if is_failed else ()):
            score = record.scores.get(name)
            if isinstance(score, float):
                if name in CATALOGUE:
                    _add(found[name], as_worse(score, CATALOGUE[name].higher_is_better))
                    found[name].scores.append(score)
            elif is_failed:
                _add(found[name], None)
                found[name].missing[str(record.reason)] += 1
            elif score is not None:
                found[name].missing[score.unscored] += 1

    @property
    def refused(self) -> str | None:
        """Why the judge has failed at all that it was asked; None where it answered anything."""
        if self.answered or not self.failed:
            return None
        reason, times = self.failed.most_common(1)[0]
        said = self.causes.get(reason, reason)
        return f"the judge answers nothing: {times} of {self.failed.total()} times {said}"


def _has_a_reply(record: ScoreRecord) -> bool:
    """Whether a judge has said anything; a call that was cut off has cost only its prompt."""
    usage = record.usage
    return record.outcome is Outcome.SCORED or usage.tokens > usage.prompt_tokens


def known_usd(usage: Usage, *, has_price: bool) -> float | None:
    """US dollars that were spent; None where a model was asked whose price nobody knows.

    >>> known_usd(Usage(calls=2), has_price=False), known_usd(Usage(), has_price=False)
    (None, 0.0)
    """
    return usage.usd if has_price or usage.usd or not usage.calls else None


def _add(found: MetricSums, value_as_worse: float | None) -> None:
    failed = value_as_worse is None
    one = terms(m=1, q=1.0, u=1.0, f_mean=0.0, f=0.0, value_as_worse=value_as_worse, failed=failed)
    found.sums = found.sums.plus(one)


def _sum(one: MetricSums, other: MetricSums) -> MetricSums:
    return MetricSums(
        one.sums.plus(other.sums), one.scores + other.scores, one.missing + other.missing
    )


_COLUMNS: Final = ("median", "min", "max", "sd")
#: What the table says of each.
TABLE_HEAD: Final = (
    f"  {'metric':30} {'mean':>6}  {'95 % interval':15}"
    f"{''.join(f'{name:>7}' for name in _COLUMNS)} {'n':>6}  no value"
)


def table(summary: Summary) -> Iterator[str]:
    """For each application and judge a row a metric: mean, interval, spread, what is missing."""
    groups = summary.groups()
    for (application, judge), metrics in list(groups.items())[:MOST_TABLES]:
        yield f"{application}, judged by {judge or 'nobody'}"
        yield TABLE_HEAD
        for name, found in metrics.items():
            yield _row(name, found)
    if len(groups) > MOST_TABLES:
        yield f"and {len(groups) - MOST_TABLES} more applications or judges"


def _row(name: str, found: MetricSums) -> str:
    said = ", ".join(f"{number:,} {reason}" for reason, number in found.missing.most_common())
    column = found.statistics()
    interval = found.interval(CATALOGUE[name].higher_is_better)
    if column is None or interval is None:
        blank = f"{'':15}{'':{7 * len(_COLUMNS)}}"
        return f"  {name:30} {'–':>6}  {blank} {0:>6}  {said}".rstrip()
    bounds = "–".join(f"{bound:.3f}" for bound in interval)
    spread = "–" if column.deviation is None else f"{column.deviation:.3f}"
    cells = [*(f"{each:.3f}" for each in (column.median, column.min, column.max)), spread]
    columns = "".join(f"{cell:>7}" for cell in cells)
    return (
        f"  {name:30} {column.mean:6.3f}  {bounds:15}{columns} {found.valued:>6,}  {said}".rstrip()
    )


def one_line(summary: Summary) -> str:
    """Outcomes, calls, tokens, money; what was left out, replaced, and there before."""
    outcomes = ", ".join(f"{n} {name}" for name, n in summary.outcomes.most_common())
    usage, stopped = summary.usage, summary.stopped_before
    before = f" ({summary.resumed} of them before)" if summary.resumed else ""
    replaced = "".join(f"; {_replaced(why, n)}" for why, n in summary.replaced.most_common())
    return (
        f"{summary.records} judged{before}: {outcomes or 'none'}; {summary.rejected} lines left "
        f"out; {usage.calls} calls, {usage.prompt_tokens} prompt and {usage.completion_tokens} "
        f"completion tokens, {_money(summary.usd)}{replaced}"
        f"{f'; stopped before line {stopped}' if stopped else ''}"
    )


def _money(usd: float | None) -> str:
    return "price not known" if usd is None else f"{usd:.4f} USD"


def _replaced(why: Replaced, number: int) -> str:
    """The begin of the run stands for a time that is none."""
    what = "without a time" if why == "missing" else "with a time outside the calendar"
    return f"{number} {what}: the run's begin stands for it"


def progress_line(done: int, of: int | None, rate: float, usd: float | None) -> str:
    """How far it is, at so many rows a second; ``of`` is None where nobody knows how many.

    Money is told as soon as there is some: before the first call it says nothing of the price.

    >>> progress_line(120, 200, 4.0, 0.0512)
    '120 of 200, 4.0/s, 0.0512 USD, 20 s left'
    >>> progress_line(120, None, 4.0, 0.0), progress_line(0, 9, 0.0, 0.0)
    ('120, 4.0/s', '0 of 9, 0.0/s')
    >>> progress_line(120, None, 4.0, None)
    '120, 4.0/s, price not known'
    """
    total = "" if of is None else f" of {of:,}"
    left = "" if of is None or not rate else f", {_span(max(0, of - done) / rate)} left"
    money = "" if usd == 0 else f", {_money(usd)}"
    return f"{done:,}{total}, {rate:.1f}/s{money}{left}"


def _span(seconds: float) -> str:
    """In one unit that fits.

    >>> _span(20.0), _span(200.0), _span(20_000.0)
    ('20 s', '3 min', '5.6 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3600:.1f} h"
