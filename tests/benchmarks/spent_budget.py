"""Are the estimates unbiased where the day's money is spent before the day is over?

Each run is two days of the streams of ``unbiasedness.py``: quality gets worse at noon of each, when
the share that is taken and the length of blocks change too. What a judgement costs grows with the
value, by a correlation that is printed, and dear ones take longer. Eight are made at once; the
money is gone some time after noon; the scorer is restarted before and after that, and reads from
the records what was spent. The code is the scorer's and the exporter's: hash, blocks, picks,
budget, terms, estimate and interval.

What was judged speaks for the hours in which it was judged: the truth of a run is the mean over all
interactions up to the last judged block of each day, judged or not. Printed are, in standard errors
of the mean, how far the mean of the estimates is from that, and the same where all runs are one
(by Wald's identity exactly without bias: whether a judgement is affordable is decided before
anybody knows what it costs); the coverage of the intervals; and, beside it, a budget that looks at
each judgement's own cost, and lets cheap ones through when dear ones are not affordable any more.

    python tests/benchmarks/spent_budget.py [--full] [--seed 1] [--runs 50]
"""

from __future__ import annotations

import heapq
import math
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC
from typing import Final, NamedTuple

import numpy as np

from monitor.judge.limits.budget import Budget, SourceOffset
from monitor.stats.calibration import Calibration
from monitor.stats.estimate import estimate
from monitor.stats.sums import ZERO, Sums
from tests.benchmarks._sizes import parser
from tests.benchmarks.unbiasedness import (
    CHANGING,
    COVERAGE,
    INTERACTIONS,
    Half,
    Judged,
    Numbers,
    Stream,
    World,
    calibration,
    drawn,
    picks,
)

CORRELATIONS: Final = (0.0, 0.6)
#: More judgements in a day than there: a fixed budget is about many.
WORLD: Final = World((Half(1.0, 1.0, 4), Half(1.5, 0.6, 8)), CHANGING.unscored)
DAYS: Final = 2
DAY_S: Final = 86_400.0
AT_ONCE: Final = 8
#: Part of what the day's judgements cost on average.
MONEY: Final = 0.8
#: Seconds that a judgement of the mean cost takes: two thirds of the places are taken.
MEAN_S: Final = DAY_S / (INTERACTIONS / 2 / 4) * AT_ONCE * 2 / 3
#: Where the scorer is restarted, in parts of the day.
RESTARTS: Final = (0.3, 0.95)


class Candid(Budget):
    """One that knows what a judgement costs, and refuses it unless all at once may cost as much."""

    cost = 0.0

    def admit(self) -> bool:
        """Whether this very judgement is affordable."""
        return self.cost * AT_ONCE <= self.left() and super().admit()


class Day(NamedTuple):
    """A stream with what each of its judgements costs, in units of the mean."""

    stream: Stream
    costs: Numbers
    picked: list[Judged]


def costly(rng: np.random.Generator, stream: Stream) -> Numbers:
    """Long answers have more that can be wrong, and cost more."""
    x = np.nan_to_num(stream.x, nan=0.0)
    return np.asarray(rng.lognormal(0.0, 0.3, len(x)) * (0.5 + 6.0 * x))


def a_day(
    rng: np.random.Generator, name: str, correlation: float, known: Calibration | None
) -> Day:
    """Both halves of a day, and the pick of each slot with its terms."""
    count = INTERACTIONS // 2
    halves = [drawn(rng, count, half.times, correlation, WORLD) for half in WORLD.halves]
    picked = [
        each
        for number, (stream, half) in enumerate(zip(halves, WORLD.halves, strict=True))
        for each in picks(stream, number * count, name, half.q, half.length, known)
    ]
    stream = Stream(*(np.concatenate(parts) for parts in zip(*halves, strict=True)))
    return Day(stream, costly(rng, stream), picked)


class Judging:
    """Eight at once, in order, while there is money; ``new`` makes a process's budget."""

    def __init__(self, new: Callable[[Callable[[], float]], Budget]) -> None:
        self._new, self._now = new, 0.0
        self.budget = new(self._clock)
        self._under_way: list[tuple[float, SourceOffset, float]] = []
        self._records: list[tuple[float, SourceOffset, float]] = []

    def is_judged(self, due: float, place: SourceOffset, cost: float) -> bool:
        """Whether there was money for what was due at a time (epoch seconds)."""
        now = due
        self._ended(now)
        while len(self._under_way) == AT_ONCE:
            now = max(now, self._under_way[0][0])
            self._ended(now)
        self._now = now
        if isinstance(self.budget, Candid):
            self.budget.cost = cost
        if not self.budget.admit():
            return False
        heapq.heappush(self._under_way, (now + MEAN_S * cost, place, cost))
        return True

    def restart(self, now: float) -> None:
        """Those under way end, and another process reads the records."""
        self._ended(math.inf)
        self._now, self.budget = now, self._new(self._clock)
        for judged_at, place, usd in self._records:
            self.budget.recorded(judged_at, place, usd)

    def _clock(self) -> float:
        return self._now

    def _ended(self, now: float) -> None:
        while self._under_way and self._under_way[0][0] <= now:
            at, place, cost = heapq.heappop(self._under_way)
            self._now = at
            self.budget.settle(place, cost)
            self._records.append((at, place, cost))


class Run(NamedTuple):
    """Sums over what was judged, the truth of that time, and the part of the days it was."""

    sums: Sums
    truth: float
    judged: float
    part: float


def spent(days: list[Day], usd: float, kind: type[Budget]) -> Run:
    """Judge day after day, each with so much money (in mean costs)."""
    judging = Judging(lambda clock: kind(usd, UTC, clock))
    sums, xs, judged, part = ZERO, list[Numbers](), 0, 0.0
    for number, day in enumerate(days):
        last, restarts = 0, iter((*RESTARTS, math.inf))
        restart = next(restarts)
        for each in day.picked:
            at = each.first / INTERACTIONS
            now = DAY_S * (number + at)
            if at >= restart:
                judging.restart(now)
                restart = next(restarts)
            if judging.is_judged(now, ("t", number, each.first), float(day.costs[each.pick])):
                sums, last, judged = sums.plus(each.sums), each.last, judged + 1
        xs.append(day.stream.x[: last + 1])
        part += (last + 1) / INTERACTIONS / len(days)
    return Run(sums, float(np.nanmean(np.concatenate(xs))), judged, part)


class Row(NamedTuple):
    """What the runs say; ``off`` and ``pooled_off`` are in standard errors of the mean."""

    off: float
    pooled_off: float
    coverage: float
    judged: float
    part: float
    cost_correlation: float


def rows(seed: int, runs: int, correlation: float) -> tuple[Row, Row]:
    """One correlation of the signal, under the budget and under one that looks at own costs."""
    rng = np.random.default_rng([seed, round(100 * correlation), 7])
    known = calibration(rng, correlation, WORLD)
    found, candid, correlations = list[Run](), list[Run](), list[float]()
    for run in range(runs):
        days = [a_day(rng, f"{run}/{n}", correlation, known) for n in range(DAYS)]
        usd = MONEY * sum(float(day.costs[each.pick]) for day in days for each in day.picked) / DAYS
        found.append(spent(days, usd, Budget))
        candid.append(spent(days, usd, Candid))
        values = np.concatenate([np.nan_to_num(day.stream.x) for day in days])
        costs = np.concatenate([day.costs for day in days])
        correlations.append(float(np.corrcoef(values, costs)[0, 1]))
    return _row(found, float(np.mean(correlations))), _row(candid, float(np.mean(correlations)))


def _row(found: list[Run], cost_correlation: float) -> Row:
    estimates = np.array([run.sums.wg / run.sums.wh for run in found])
    truths = np.array([run.truth for run in found])
    # A sum that is 0 on average wherever one stops.
    sums = np.array([run.sums.wg - run.truth * run.sums.wh for run in found])
    return Row(
        _in_errors(estimates - truths),
        _in_errors(sums),
        sum(_covers(run) for run in found) / len(found),
        float(np.mean([run.judged for run in found])),
        float(np.mean([run.part for run in found])),
        cost_correlation,
    )


def _in_errors(values: Numbers) -> float:
    return float(values.mean() / (values.std(ddof=1) / math.sqrt(len(values))))


def _covers(run: Run) -> bool:
    found = estimate(run.sums, run.sums, None)
    assert found.lower is not None
    assert found.upper is not None
    return found.lower <= run.truth <= found.upper


def table(seed: int, runs: int) -> Iterator[tuple[str, bool]]:
    """Lines, and whether their bars are held."""
    slack = 2 * math.sqrt(COVERAGE * (1 - COVERAGE) / runs)
    for correlation in CORRELATIONS:
        found, candid = rows(seed, runs, correlation)
        held = max(abs(found.off), abs(found.pooled_off)) <= 2
        yield (
            f"  {correlation:+.1f}       {found.off:+.2f}   {found.pooled_off:+.2f}    "
            f"{found.coverage:.3f}      {found.judged:.0f} in {found.part:.0%} of the time   "
            f"{found.cost_correlation:.2f}  |  {candid.off:+.2f}   {candid.pooled_off:+.2f}",
            held and found.coverage >= COVERAGE - slack,
        )


def main() -> int:
    """Print the table; the exit code says whether all bars are held."""
    line = parser(__doc__)
    line.add_argument("--seed", type=int, default=1)
    line.add_argument("--runs", type=int, help="default 50; full: 500")
    chosen = line.parse_args()
    runs, began, missed = chosen.runs or (500 if chosen.full else 50), time.monotonic(), 0
    print(f"{runs} runs of {DAYS} days of {INTERACTIONS:,} interactions")
    print(
        "correlation  off   pooled  coverage  judged   of the cost | by its own cost: off, pooled"
    )
    for told, held in table(chosen.seed, runs):
        missed += not held
        print(f"{told}   {'ok' if held else 'MISSED'}", flush=True)
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
