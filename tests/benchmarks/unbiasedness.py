"""Are the estimates of picked interactions those of all, whatever the screen is worth?

Each run is a stream of interactions in three segments whose quality gets worse midway, while the
share that is taken and the length of the blocks change too; a fifth of the values is missing, more
of them in the worse segments. The code is the scorer's and the exporter's: hash, blocks, weights,
picks, terms, estimate and interval. The signal is the value and normal noise, as much as makes
for the correlation; at −0.3 it is the value turned round. The calibration is learned from judged
picks of other interactions.

For each correlation: the mean of the estimates against the truth, the coverage of the intervals,
and the variance of a judgement against a uniform pick's from the same slots: in that stream, in one
whose quality stays as it was, and in a steady one whose values are all there. (A signal learned
before quality changed is worth less after it.) Then the same for the shipped screen, by its
verdicts on the labelled pairs of tests/data/claim_pairs.

    python -m tests.benchmarks.unbiasedness [--full] [--seed 1] [--runs 50]
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.judge.offline.judge import supported
from monitor.sampling.blocks import BlockCutter, BlockPlan
from monitor.sampling.hashing import is_sampled
from monitor.sampling.picks import pick, waiting
from monitor.scorer.picking import signalled
from monitor.stats.calibration import Calibration, JudgedPick, learned
from monitor.stats.estimate import estimate
from monitor.stats.sums import Sums, added_up, segment_terms, terms
from tests.benchmarks._sizes import parser
from tests.benchmarks.drifting.streams import ICC, STANDARD

PAIRS: Final = Path(__file__).parents[1] / "data/claim_pairs"
METRIC: Final = "faithfulness"
SEGMENTS: Final = ("a", "b", "c")
LAST: Final = len(SEGMENTS) - 1
MIX: Final = (0.5, 0.3, 0.2)
RATES: Final = (0.04, 0.08, 0.16)
CORRELATIONS: Final = (0.0, 0.6, -0.3)
#: The largest variance of a judgement against a uniform pick's, by correlation.
BARS: Final = {0.0: 1.10, 0.6: 0.50}
INTERACTIONS: Final = 3_200
LEARNED: Final = 1_000
COVERAGE: Final = 0.94
Numbers = NDArray[np.float64]


class Half(NamedTuple):
    """What rates are multiplied by, the share that is taken, and the length of the blocks."""

    times: float
    q: float
    length: int


class World(NamedTuple):
    """Two halves, and the probability that an interaction has no value, by segment."""

    halves: tuple[Half, Half]
    unscored: tuple[float, ...]

    @property
    def truth(self) -> float:
        """The mean over all interactions that have a value."""
        share = np.array(MIX) * (1 - np.array(self.unscored))
        return float((share * RATES).sum() / share.sum() * self.worse)

    @property
    def worse(self) -> float:
        """What rates are multiplied by on average."""
        return float(np.mean([half.times for half in self.halves]))


CHANGING: Final = World((Half(1.0, 1.0, 16), Half(1.5, 0.6, 32)), (0.14, 0.20, 0.35))
#: The same, but for the quality.
NO_WORSE: Final = World((Half(1.0, 1.0, 16), Half(1.0, 0.6, 32)), CHANGING.unscored)
STEADY: Final = World((Half(1.0, 1.0, 16), Half(1.0, 1.0, 32)), (0.0, 0.0, 0.0))


class Stream(NamedTuple):
    """Interactions in the order of their offsets; x is NaN where there is no value."""

    segment: NDArray[np.int64]
    x: Numbers
    signal: Numbers


def screened_claims(rng: np.random.Generator, means: Numbers) -> tuple[Numbers, Numbers]:
    """Values with these means, and what the shipped screen says of answers with such claims.

    Every claim is a labelled pair, wrong or right, and the screen's verdict is that on the pair.
    """
    wrong, right = flagged()
    spread = (1 - ICC) / ICC
    number = 1 + rng.poisson(4, len(means))
    bad = rng.binomial(number, rng.beta(means * spread, (1 - means) * spread))
    seen = rng.binomial(bad, wrong) + rng.binomial(number - bad, right)
    return bad / number, seen / number


@cache
def flagged() -> tuple[float, float]:
    """Shares of unsupported and of supported labelled pairs that the screen finds unsupported."""
    pairs = [
        json.loads(line)
        for path in sorted(PAIRS.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    found: dict[bool, list[bool]] = {True: [], False: []}
    for pair in pairs:
        found[pair["supported"]].append(not supported(pair["claim"], pair["passage"]))
    return sum(found[False]) / len(found[False]), sum(found[True]) / len(found[True])


def drawn(
    rng: np.random.Generator, count: int, times: float, correlation: float | None, world: World
) -> Stream:
    """Interactions of one half; correlation None is the shipped screen."""
    segment = rng.choice(len(MIX), size=count, p=MIX)
    if correlation is None:
        x, signal = screened_claims(rng, np.array(RATES)[segment] * times)
    else:
        x = np.zeros(count)
        for number, rate in enumerate(RATES):
            members = segment == number
            x[members] = STANDARD(rng, int(members.sum()), rate * times)
        noise = rng.standard_normal(count)
        if correlation:
            noise *= x.std() * math.sqrt(1 / correlation**2 - 1)
        signal = noise + np.sign(correlation) * x
    missing = rng.random(count) < np.array(world.unscored)[segment]
    return Stream(segment, np.where(missing, np.nan, x), signal)


def calibration(rng: np.random.Generator, correlation: float | None, world: World) -> Calibration:
    """Learned from so many scored picks of the time before, each as likely as any other."""
    stream = drawn(rng, 2 * LEARNED, 1.0, correlation, world)
    scored = [
        JudgedPick(float(z), 1.0, {METRIC: float(x)})
        for x, z in zip(stream.x, stream.signal, strict=True)
        if not math.isnan(x)
    ]
    found = learned(scored[:LEARNED], [METRIC])
    assert found is not None
    return found


class Run(NamedTuple):
    """Sums over the slots of one stream: of all, and of the last segment."""

    whole: Sums
    last_segment: Sums


class Drawn(NamedTuple):
    """A slot's members by their numbers and ids, and how long each of them waits."""

    taken: tuple[int, ...]
    ids: tuple[str, ...]
    waits: tuple[float, ...]


@lru_cache(maxsize=512)
def slots(count: int, first: int, name: str, q: float, length: int) -> Sequence[Drawn]:
    """The members of each slot: what was taken of each block of so many interactions.

    Kept, as it is the same for every way to pick, and for every correlation.
    """
    cutting, found = BlockCutter(), list[Drawn]()
    for span in cutting.read(first, first + count - 1, BlockPlan(length)):
        inside = range(span.first - first, min(span.last + 1 - first, count))
        taken = [i for i in inside if is_sampled(f"{name}/{first + i}".encode(), q)]
        if taken:
            ids = tuple(f"{name}/{first + i}" for i in taken)
            found.append(Drawn(tuple(taken), ids, tuple(map(waiting, ids))))
    return found


class Judged(NamedTuple):
    """A slot by the numbers of its first and last member, its pick, and what that adds to sums.

    ``last_sums`` are those of the last segment, None where the pick is of another.
    """

    first: int
    last: int
    pick: int
    sums: Sums
    last_sums: Sums | None


def picks(
    stream: Stream, first: int, name: str, q: float, length: int, known: Calibration | None
) -> Iterator[Judged]:
    """One half: every slot has its pick, and the pick its value."""
    # Lists: a number of an array is made anew whenever it is asked for.
    segments = [SEGMENTS[number] for number in stream.segment.tolist()]
    xs, signals = stream.x.tolist(), stream.signal.tolist()
    for taken, ids, waits in slots(len(xs), first, name, q, length):
        members = [
            signalled(one, segments[i], signals[i], known)
            for one, i in zip(ids, taken, strict=True)
        ]
        found = pick(members, waits)
        i = taken[found.number]
        x = None if math.isnan(xs[i]) else xs[i]
        f_mean, f = found.expected.get(METRIC, (0.0, 0.0))
        whole = terms(len(taken), q, found.u, f_mean, f, x, False)
        is_last = segments[i] == SEGMENTS[LAST]
        last = segment_terms(len(taken), q, found.u, x, False) if is_last else None
        yield Judged(first + taken[0], first + taken[-1], first + i, whole, last)


def judged(
    stream: Stream, first: int, name: str, q: float, length: int, known: Calibration | None
) -> Run:
    """Sums over one half."""
    found = list(picks(stream, first, name, q, length, known))
    last = [each.last_sums for each in found if each.last_sums is not None]
    return Run(added_up([each.sums for each in found]), added_up(last))


class Row(NamedTuple):
    """What the runs of one correlation say; ``off`` is in standard errors of the mean."""

    mean: float
    off: float
    segment_off: float
    coverage: float
    uniform_off: float
    uniform_coverage: float
    variance: float


def simulated(
    seed: int,
    runs: int,
    correlation: float | None,
    world: World,
    interactions: int = INTERACTIONS,
) -> tuple[list[Run], list[Run]]:
    """The same streams, with directed picks and with uniform ones; each has its calibration."""
    rng = np.random.default_rng([seed, round(100 * (correlation or 0.0)) + 100])
    directed: list[Run] = []
    uniform: list[Run] = []
    for run in range(runs):
        known = calibration(rng, correlation, world)
        count = interactions // 2
        halves = [drawn(rng, count, half.times, correlation, world) for half in world.halves]
        for kept, told in ((directed, known), (uniform, None)):
            parts = [
                judged(stream, number * count, f"{run}", half.q, half.length, told)
                for number, (stream, half) in enumerate(zip(halves, world.halves, strict=True))
            ]
            kept.append(Run(*map(added_up, zip(*parts, strict=True))))
    return directed, uniform


def row(
    seed: int,
    runs: int,
    correlation: float | None,
    world: World = CHANGING,
    interactions: int = INTERACTIONS,
) -> Row:
    """Simulate one correlation."""
    directed, uniform = simulated(seed, runs, correlation, world, interactions)
    last = np.array([one.last_segment.wg / one.last_segment.wh for one in directed])
    means = _means(directed)
    return Row(
        float(means.mean()),
        _off(means, world.truth),
        _off(last, RATES[-1] * world.worse),
        _coverage(directed, world.truth),
        _off(_means(uniform), world.truth),
        _coverage(uniform, world.truth),
        _variance(directed) / _variance(uniform),
    )


def _means(runs: Sequence[Run]) -> Numbers:
    return np.array([run.whole.wg / run.whole.wh for run in runs])


def _off(estimates: Numbers, true: float) -> float:
    return float((estimates.mean() - true) / (estimates.std(ddof=1) / math.sqrt(len(estimates))))


def _variance(runs: Sequence[Run]) -> float:
    """Of one judgement, from all slots together: runs alone are too few to tell it."""
    total = added_up([run.whole for run in runs])
    theta, h = total.wg / total.wh, total.wh / total.w
    squares = total.w2g2 - 2 * theta * total.w2gh + theta * theta * total.w2h2
    return squares / total.w2 / (h * h)


def _coverage(runs: Sequence[Run], true: float) -> float:
    held = 0
    for run in runs:
        found = estimate(run.whole, run.whole, None)
        assert found.lower is not None
        assert found.upper is not None
        held += found.lower <= true <= found.upper
    return held / len(runs)


def shipped(seed: int, runs: int) -> None:
    """Print what the shipped screen is worth."""
    wrong, right = flagged()
    sample = drawn(np.random.default_rng([seed, 9]), 100_000, 1.0, None, STEADY)
    correlation = np.corrcoef(sample.x, sample.signal)[0, 1]
    runs = _enough(runs)
    steady, no_worse = (row(seed, runs, None, world).variance for world in (STEADY, NO_WORSE))
    print(
        f"the shipped screen on labelled pairs: finds {wrong:.0%} of the unsupported claims, and "
        f"{right:.0%} of the supported ones; correlation with the value {correlation:.2f}, "
        f"variance {steady:.2f}, {no_worse:.2f} where shares change and a fifth has no value"
    )


def _enough(runs: int) -> int:
    """Runs that tell a variance."""
    return max(50, runs // 5)


def main() -> int:
    """Print the table; the exit code says whether all bars are held."""
    line = parser(__doc__)
    line.add_argument("--seed", type=int, default=1)
    line.add_argument("--runs", type=int, help="default 50; full: 500")
    chosen = line.parse_args()
    runs, began, missed = chosen.runs or (500 if chosen.full else 50), time.monotonic(), 0
    # Ratios of few judgements are off by a little, which that many runs see in the small segment.
    interactions = 4 * INTERACTIONS if chosen.full else INTERACTIONS
    print(f"{runs} runs of {interactions:,} interactions; truth {CHANGING.truth:.4f}")
    print(
        "correlation    mean   off (SE)  segment  coverage  variance, no worse, steady"
        " | uniform: off, cov."
    )
    for correlation in CORRELATIONS:
        found = row(chosen.seed, runs, correlation, interactions=interactions)
        no_worse, steady = (
            row(chosen.seed, _enough(runs), correlation, world).variance
            for world in (NO_WORSE, STEADY)
        )
        # Below the bar by chance alone: by two standard errors.
        slack = 2 * math.sqrt(COVERAGE * (1 - COVERAGE) / runs)
        held = (
            max(map(abs, (found.off, found.segment_off, found.uniform_off))) <= 2
            and found.coverage >= COVERAGE - slack
            and max(no_worse, steady) <= BARS.get(correlation, math.inf)
        )
        missed += not held
        print(
            f"  {correlation:+.1f}       {found.mean:.4f}   {found.off:+.2f}     "
            f"{found.segment_off:+.2f}     {found.coverage:.3f}     {found.variance:.2f}      "
            f"{no_worse:.2f}      {steady:.2f}   |         "
            f"{found.uniform_off:+.2f}   {found.uniform_coverage:.3f}"
            f"   {'ok' if held else 'MISSED'}"
        )
    shipped(chosen.seed, runs)
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
