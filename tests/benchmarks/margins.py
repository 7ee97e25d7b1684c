"""What a learned baseline's margin costs: judged until ×2 is seen, and false alarms, by the margin.

Installations with three metrics that learn from their first day, 50/h or one a second, claims with
a mean of 0.08, nothing else changing. Then the mean is ×2: judged until the first of the three
alarms, median with its standard error. Beside it openings a week before that (promised: at most 1).

- "one SE": 1,000 scores and one standard error, the rule at first, which ends an alarm below A;
- "all": 2·SE + what is tolerated (10 % of the mean);
- "shipped": what ``Baseline.margin`` has.

Promised: "shipped" at most 1.6 times "one SE". The recursion is that of ``monitor.stats.drift``,
for all installations at a time; ``promise.py`` plays the whole product, and is slow.

    python -m tests.benchmarks.margins [--full] [--seed 1] [--installations 200]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.stats.baseline import Baseline, ScoredPick, Tolerance, learned
from monitor.stats.drift import BETS, ceiling, closing
from tests.benchmarks._sizes import parser
from tests.benchmarks.promising.laws import LAWS, together
from tests.benchmarks.promising.worlds import METRICS

Numbers = NDArray[np.float64]
Margin = Callable[[Baseline], float]

LAW: Final = LAWS["claims 0.08"]
TOLERATED: Final = Tolerance(share=0.1)
#: Judged since the evidence began, and after the change at most.
CONTROL, MOST = 1_200, 1_000
TIMES: Final = 2.0
BAR: Final = 1.6
FIRST_RULE: Final = 1_000
RESAMPLES: Final = 400


class Pace(NamedTuple):
    """Scores of the first day that are learned from, and A."""

    learned_from: int
    threshold: float


PACES: Final = {"50/h": Pace(1_200, 25_200.0), "1/s": Pace(10_000, 1_814_400.0)}


class Rule(NamedTuple):
    """A margin; of how many scores; whether an alarm goes on below A; and whether V counts."""

    margin: Margin
    most: int | None = None
    goes_on: bool = True
    by_dependence: bool = True


RULES: Final = {
    "one SE": Rule(lambda one: one.se, FIRST_RULE, goes_on=False, by_dependence=False),
    "all": Rule(lambda one: 2.0 * one.se + TOLERATED.of(one.mean)),
    "shipped": Rule(lambda one: one.margin(TOLERATED)),
}


class Seen(NamedTuple):
    """Judged until the first alarm of each installation that was quiet, and openings a week."""

    judged: Numbers
    weekly: float


def scores(rng: np.random.Generator, installations: int, judged: int, times: float) -> Numbers:
    """Of shape (judged, installations, metrics)."""
    means = np.full(judged * installations, LAW.mean * times)
    return together(rng, LAW, means, len(METRICS)).reshape(judged, installations, -1)


def baselines(first: Numbers) -> list[Baseline]:
    """Of each installation and metric, in that order."""
    columns = first.reshape(len(first), -1).T.tolist()
    found = [learned([ScoredPick("", 1.0, x) for x in column]) for column in columns]
    return [one for one in found if one is not None]


def seen(rule: Rule, first: Numbers, usual: Numbers, worse: Numbers, threshold: float) -> Seen:
    """Play the recursion."""
    known, shape = baselines(first[: rule.most]), usual.shape[1:]
    b = np.array([one.mean + rule.margin(one) for one in known]).reshape(shape)
    v = np.array([one.dependence if rule.by_dependence else 1.0 for one in known]).reshape(shape)
    bets = np.minimum(BETS, 0.95 / b[..., None])
    evidence, is_open = np.zeros((*shape, len(BETS))), np.zeros(shape, bool)
    end = closing(threshold) if rule.goes_on else threshold
    openings, quiet, judged = 0, np.ones(shape[0], bool), np.full(shape[0], np.inf)
    for number, x in enumerate([*usual, *worse]):
        grown = (1.0 + evidence) * (1.0 + bets * (x - b)[..., None]) ** (1.0 / v[..., None])
        reached = grown.mean(-1)
        now = (reached >= threshold) | (is_open & (reached >= end))
        if number < len(usual):
            openings += int((now & ~is_open).sum())
            quiet = ~now.any(1)
        else:
            is_first = np.isinf(judged) & now.any(1)
            judged[is_first] = number + 1 - len(usual)
        shrink = np.minimum(1.0, ceiling(threshold) / np.maximum(reached, 1.0))
        evidence = np.where((is_open & ~now)[..., None], 0.0, grown * shrink[..., None])
        is_open = now
    week = threshold / len(METRICS)
    return Seen(judged[quiet], openings / shape[0] / len(usual) * week)


def median(rng: np.random.Generator, values: Numbers) -> tuple[float, float]:
    """With its standard error by the bootstrap."""
    again = [np.median(rng.choice(values, len(values))) for _ in range(RESAMPLES)]
    return float(np.median(values)), float(np.std(again))


def table(pace: str, seed: int, installations: int) -> None:
    """Print a line for each rule."""
    learned_from, threshold = PACES[pace]
    rng = np.random.default_rng(seed)
    first = scores(rng, installations, learned_from, 1.0)
    usual, worse = (scores(rng, installations, n, t) for n, t in ((CONTROL, 1.0), (MOST, TIMES)))
    at_first = error_at_first = 0.0
    for name, rule in RULES.items():
        found = seen(rule, first, usual, worse, threshold)
        judged, error = median(rng, found.judged)
        at_first, error_at_first = at_first or judged, error_at_first or error
        ratio = judged / at_first
        off = ratio * float(np.hypot(error / judged, error_at_first / at_first))
        held = "" if name != "shipped" else "  ok" if ratio <= BAR else "  MISSED"
        print(
            f"{pace:5} {name:8} ×2 after {judged:5.1f} ± {error:.1f} judged,"
            f" {ratio:.2f} ± {off:.2f} times; {found.weekly:.2f} openings a week{held}",
            flush=True,
        )


def main() -> None:
    """Print both tables."""
    line = parser(__doc__)
    line.add_argument("--seed", type=int, default=1)
    line.add_argument("--installations", type=int, help="default 100; full: 1,000, at 1/s 300")
    chosen = line.parse_args()
    began = time.monotonic()
    for pace, full in (("50/h", 1_000), ("1/s", 300)):
        table(pace, chosen.seed, chosen.installations or (full if chosen.full else 100))
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
