"""Do the 95 % intervals hold the mean 95 times in 100, also of five scores?

Windows of n picks, some of them unscored, from seven distributions of scores with means around
0.08 and around 0.30: from half of it to one and a half. (Of whole answers that are right or wrong
there are only n + 1 different windows: at a single mean the coverage of any interval jumps. That
is printed last, exactly.)

Ours, of ``monitor/stats/estimate.py``, in a young series (fewer than 500 scored in the horizon) and
in a settled one (2,000 picks); in a young one without h, as if unscored picks counted; Wald's (mean
± 1.96 standard errors) and the bootstrap's (2.5th and 97.5th percentile of 499 resamples).

Then answers in sessions, of which three or ten go on at a time, with an intra-class correlation of
0.3: with V by neighbours, by sessions, and without it, and how much wider the intervals are for it.
All of it is the product's own code.

The formulas are computed here once more for many windows at a time, and held against
``estimate`` on windows drawn from all of them.

    python -m tests.benchmarks.coverage [--full] [--seed 1] [--runs 20000]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.exporter.scores.cluster_sums import ClusterSums
from monitor.exporter.scores.observation import Observation
from monitor.records import JudgeIdentity
from monitor.stats.estimate import Z95, estimate
from monitor.stats.sums import ZERO, Sums, added_up, terms
from monitor.stats.windows import RollingSums
from tests.benchmarks._sizes import parser
from tests.benchmarks.drifting.streams import STANDARD, STREAMS, Stream

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

SEVEN: Final[dict[str, Stream]] = {"some claims": STANDARD, **STREAMS}
SIZES: Final = (5, 10, 20, 50, 200)
MEANS: Final = (0.08, 0.30)
BAR: Final = 0.94
SETTLED: Final = 2_000
#: Means on either side of a middle one.
AROUND: Final = 16
RESAMPLES: Final = 499
#: Of the scores of a session; sessions that go on at the same time; and what is promised of them.
ICC: Final = 0.3
AT_A_TIME: Final = (3, 10)
MEAN: Final = 0.15
SESSIONS_BAR: Final = 0.93
#: Windows that are held against ``estimate``, of each kind.
CHECKED: Final = 20


class Windows(NamedTuple):
    """Scores x, whether they are there, and weights W; of shape (runs, n)."""

    x: Numbers
    scored: Flags
    w: Numbers

    def first(self, runs: int) -> Windows:
        """The first of them."""
        return Windows(self.x[:runs], self.scored[:runs], self.w[:runs])


class Bounds(NamedTuple):
    """Intervals of shape (runs,); NaN where there is none."""

    lower: Numbers
    upper: Numbers


def drawn(
    rng: np.random.Generator, stream: Stream, mean: float, shape: tuple[int, int], unscored: float
) -> Windows:
    """Windows of picks with equal weights."""
    x = stream(rng, shape[0] * shape[1], mean).reshape(shape)
    return Windows(x, rng.random(shape) >= unscored, np.ones(shape))


def spread(windows: Windows, instead: float = 1.0) -> Numbers:
    """D of every window: the spread of its scores against that of a proportion, or ``instead``."""
    x, a, w = windows.x, windows.scored, windows.w
    with np.errstate(invalid="ignore", divide="ignore"):
        p = (w * a * x).sum(1) / (w * a).sum(1)
        h = (w * a).sum(1) / w.sum(1)
        e = w * a * (x - p[:, None])
        found = (e * e).sum(1) / (w * w).sum(1) / (h * p * (1 - p))
    return np.where(np.isfinite(found) & (p * (1 - p) != 0), found, instead)


def ours(windows: Windows, long: float) -> Bounds:
    """The interval of ``monitor/stats/estimate.py``; ``long`` is D of the horizon."""
    a, w = windows.scored, windows.w
    h = (w * a).sum(1) / w.sum(1)
    d = np.clip(np.maximum(long, spread(windows, long)), 0.05, 1.5)
    with np.errstate(invalid="ignore", divide="ignore"):
        return wilson((w * a * windows.x).sum(1) / (w * a).sum(1), h * kish(w) / d)


def kish(w: Numbers) -> Numbers:
    """The effective number of unequal weights."""
    found: Numbers = w.sum(1) ** 2 / (w * w).sum(1)
    return found


def wilson(p: Numbers, n: Numbers) -> Bounds:
    """Score intervals."""
    shrink = 1 + Z95**2 / n
    centre = (p + Z95**2 / (2 * n)) / shrink
    half = Z95 * np.sqrt(p * (1 - p) / n + Z95**2 / (4 * n * n)) / shrink
    return Bounds(np.clip(centre - half, 0, p), np.clip(centre + half, p, 1))


def without_h(windows: Windows, long: float) -> Bounds:
    """The same with K instead of h·K: picks without a value counted as if they had one."""
    a, w = windows.scored, windows.w
    h = (w * a).sum(1) / w.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        d = np.clip(np.maximum(long, spread(windows) / h), 0.05, 1.5)
        return wilson((w * a * windows.x).sum(1) / (w * a).sum(1), kish(w) / d)


def wald(windows: Windows) -> Bounds:
    """The mean of the scored ± 1.96 standard errors; of one score, the score itself."""
    x, a = windows.x, windows.scored
    n = a.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (a * x).sum(1) / n
        error = np.sqrt((a * (x - mean[:, None]) ** 2).sum(1) / np.maximum(n - 1, 1) / n)
    return Bounds(mean - Z95 * error, mean + Z95 * error)


def bootstrap(rng: np.random.Generator, windows: Windows) -> Bounds:
    """Percentiles of the means of resampled windows."""
    x, a = windows.x, windows.scored
    size = x.shape[1]
    times = rng.multinomial(size, np.full(size, 1 / size), RESAMPLES).astype(float).T
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.sort(((a * x) @ times) / (a.astype(float) @ times), axis=1)
    # Resamples without a score are NaN and stand last.
    there = np.isfinite(means).sum(1)
    rows = np.arange(len(means))
    lower, upper = (
        means[rows, np.minimum(RESAMPLES - 1, (q * np.maximum(there - 1, 0)).round().astype(int))]
        for q in (0.025, 0.975)
    )
    return Bounds(lower, upper)


def coverage(bounds: Bounds, truth: float) -> float:
    """How many of the intervals that there are hold the truth (to rounding)."""
    there = np.isfinite(bounds.lower)
    held = (bounds.lower <= truth + 1e-12) & (truth - 1e-12 <= bounds.upper)
    return float(held[there].mean())


def check(windows: Windows, horizon: Windows) -> None:
    """The first windows against ``estimate``; raises when a bound differs."""
    whole = added(horizon, 0)
    long = float(spread(horizon)[0]) if whole.scored >= 500 else 1.0
    found = ours(windows, long)
    for run in range(min(CHECKED, len(windows.x))):
        one = estimate(added(windows, run), whole, None)
        if one.lower is None or one.upper is None:
            assert not np.isfinite(found.lower[run])
            continue
        got = float(found.lower[run]), float(found.upper[run])
        if max(abs(got[0] - one.lower), abs(got[1] - one.upper)) > 1e-7:
            raise AssertionError(f"{got} is not {one}")


def added(windows: Windows, run: int) -> Sums:
    """The sums of one window, by the code of the monitor."""
    total = ZERO
    for x, scored, w in zip(windows.x[run], windows.scored[run], windows.w[run], strict=True):
        value = float(x) if scored else None
        total = total.plus(terms(1, 1.0 / float(w), 1.0, 0.0, 0.0, value, False))
    return total


class Row(NamedTuple):
    """Coverages of one distribution, mean, size and share of unscored."""

    young: float
    settled: float
    without_h: float
    wald: float
    bootstrap: float


def row(
    rng: np.random.Generator, stream: Stream, middle: float, n: int, unscored: float, runs: int
) -> Row:
    """Simulate one kind of window, with means from half of ``middle`` to one and a half."""
    found = []
    for number in range(AROUND):
        mean = middle * (0.5 + (number + 0.5) / AROUND)
        windows = drawn(rng, stream, mean, (runs // AROUND, n), unscored)
        horizon = drawn(rng, stream, mean, (1, SETTLED), unscored)
        if number == 0:
            check(windows, windows.first(1))
            check(windows, horizon)
        fewer = windows.first(max(20, len(windows.x) // 10))
        settled = float(spread(horizon)[0])
        bounds = (
            ours(windows, 1.0),
            ours(windows, settled),
            without_h(windows, 1.0),
            wald(windows),
            bootstrap(rng, fewer),
        )
        found.append([coverage(each, mean) for each in bounds])
    return Row(*np.mean(found, axis=0).tolist())


def table(seed: int, unscored: float, runs: int) -> Iterator[Row]:
    """Print one table: a line for each distribution and mean, a column for each size."""
    print(f"\n{unscored:.0%} unscored: coverage at n = {', '.join(map(str, SIZES))}")
    kinds = ("young", "settled", "without h", "Wald", "bootstrap")
    print(" " * 26 + "".join(f"{kind:^33}" for kind in kinds))
    for number, (name, stream) in enumerate(SEVEN.items()):
        for mean in MEANS:
            rng = np.random.default_rng([seed, number, round(100 * mean), round(100 * unscored)])
            rows = [row(rng, stream, mean, n, unscored, runs) for n in SIZES]
            cells = (
                "  ".join(f"{value:.3f}" for value in kind) for kind in zip(*rows, strict=True)
            )
            print(f"  {name:18} {mean:.2f}  " + " │ ".join(cells))
            yield from rows


class InSessions(NamedTuple):
    """Event time, number of the session, and score."""

    at: float
    session: int
    x: float


def in_sessions(
    rng: np.random.Generator, picks: int, mean: float, answers: int, at_a_time: int
) -> list[InSessions]:
    """Some sessions at a time, of ``answers`` on average; a pick a second."""
    a, b = (part * (1 - ICC) / ICC for part in (mean, 1 - mean))

    def session(number: int) -> tuple[int, float, int]:
        return number, float(rng.beta(a, b)), int(rng.geometric(1 / answers))

    running = [session(number) for number in range(at_a_time)]
    found = []
    for at, place in enumerate(rng.integers(0, at_a_time, picks).tolist()):
        number, p, left = running[place]
        found.append(InSessions(float(at), number, float(rng.random() < p)))
        running[place] = session(at + at_a_time) if left == 1 else (number, p, left - 1)
    return found


def sessions_row(
    rng: np.random.Generator, answers: int, at_a_time: int, n: int, series: int, picks: int
) -> list[tuple[float, float]]:
    """Coverage and mean width with V by neighbours, by sessions, and with 1 in its place."""
    held: list[list[tuple[bool, float]]] = [[], [], []]
    for _ in range(series):
        found = in_sessions(rng, picks, MEAN, answers, at_a_time)
        sums = [terms(1, 1.0, 1.0, 0.0, 0.0, one.x, False) for one in found]
        rolling, clusters = RollingSums(60, {"1h": 3_600}), ClusterSums(86_400)
        for one, slot in zip(found, sums, strict=True):
            rolling.add(one.at, slot, +1)
            clusters.add(one.at, observed(one), +1)
        rolling.advance(found[-1].at)
        horizon = rolling.horizon()
        for begin in range(0, picks - n + 1, max(n, picks // 8)):
            window = added_up(sums[begin : begin + n])
            for into, v in zip(
                held, (rolling.dependence(), clusters.dependence("x"), 1.0), strict=True
            ):
                got = estimate(window, horizon, None, v)
                assert got.lower is not None
                assert got.upper is not None
                into.append((got.lower <= MEAN <= got.upper, got.upper - got.lower))
    return [
        (float(np.mean([ok for ok, _ in each])), float(np.mean([w for _, w in each])))
        for each in held
    ]


def observed(one: InSessions) -> Observation:
    """A slot of a metric x."""
    judge = JudgeIdentity(name="j", version="1", model="", prompts="", pipeline="p")
    plain: dict[str, tuple[float, float]] = {}
    return Observation(
        judge, "j@1", 1, 1.0, 1.0, plain, ("x",), (one.x,), False, "", {}, cluster=one.session + 1
    )


def sessions(seed: int, series: int) -> None:
    """Print the table of sessions."""
    print(f"\nSessions, intra-class correlation {ICC}: coverage (width against that with V = 1)")
    print(" " * 45 + "".join(f"{name:>18}" for name in ("neighbours", "sessions", "V = 1")))
    sizes, lowest = (1_000, SETTLED, 8_000), [[1.0, 1.0] for _ in range(3)]
    for answers, at_a_time, picks, n in itertools.product((4, 10), AT_A_TIME, sizes, (20, 50, 200)):
        rng = np.random.default_rng([seed, answers, at_a_time, picks, n])
        found = sessions_row(rng, answers, at_a_time, n, series, picks)
        cells = "".join(f"{c:12.3f} ({w / found[2][1]:.2f})" for c, w in found)
        print(f"  {answers:2} answers, {at_a_time:2} at a time, {picks:5,} picks, n = {n:3}{cells}")
        low = lowest[sizes.index(picks)]
        low[:] = [min(a, c) for a, (c, _) in zip(low, found, strict=False)]
    slack = 2 * math.sqrt(SESSIONS_BAR * (1 - SESSIONS_BAR) / (8 * series))
    for number, by in enumerate(("neighbours", "sessions")):
        shown: list[str] = []
        for picks, low in zip(sizes, lowest, strict=True):
            held = "ok" if low[number] >= SESSIONS_BAR - slack else "MISSED"
            shown.append(f"{low[number]:.3f} of {picks:,} picks {held}")
        print(f"  lowest by {by}: {', '.join(shown)}  (bar {SESSIONS_BAR})")


def main() -> None:
    """Print the tables, and whether the bar is held where it is set."""
    line = parser(__doc__)
    line.add_argument("--seed", type=int, default=1)
    line.add_argument("--runs", type=int, help="windows of each kind; default 2,000")
    chosen = line.parse_args()
    runs = chosen.runs or (20_000 if chosen.full else 2_000)
    # The lowest of many coverages lies below the truth by chance alone: by two standard errors.
    slack = 2 * math.sqrt(BAR * (1 - BAR) / runs)
    for unscored in (0.0, 0.2, 0.5, 0.8):
        rows = list(table(chosen.seed, unscored, runs))
        lowest = min(min(found.young, found.settled) for found in rows)
        others = [min(column) for column in list(zip(*rows, strict=True))[2:]]
        bar = f"bar {BAR}  {'ok' if lowest >= BAR - slack else 'MISSED'}" if unscored < 0.5 else ""
        names = ", ".join(
            f"{name} {value:.3f}"
            for name, value in zip(("without h", "Wald", "bootstrap"), others, strict=True)
        )
        print(f"  lowest: {lowest:.3f}  {bar}  ({names})")
    sessions(chosen.seed, max(40, runs // 50))
    single_means()


def single_means() -> None:
    """Print the exact coverage for whole answers at single means, none unscored."""
    print(
        "\nWhole answers 0/1 at a single mean, exactly: lowest and highest over 0.02, 0.03 … 0.50"
    )
    for n in SIZES:
        k = np.arange(n + 1)
        bounds = wilson(k / n, np.full(n + 1, float(n)))
        held = []
        for mean in np.arange(0.02, 0.505, 0.01):
            chance = np.array([math.comb(n, int(i)) for i in k], float) * mean**k
            chance *= (1 - mean) ** (n - k)
            held.append(chance[(bounds.lower <= mean) & (mean <= bounds.upper)].sum())
        print(f"  n = {n:3}  {min(held):.3f} … {max(held):.3f}, mean {np.mean(held):.3f}")


if __name__ == "__main__":
    main()
