"""How often the intervals of ``monitor.stats.agreement`` hold the truth: their simulated coverage.

``python -m tests.benchmarks.agreement [--runs 2000] [--seed 1]``. Each run draws interactions of
1 + Poisson(4) claims; the share of supported claims and both error rates of an interaction are
Beta distributed around the scenario's, with intraclass correlation ``icc``. Printed per scenario
and measure: the share of runs whose interval holds the true value, and of the naive interval for
κ (Fleiss, Cohen & Everitt 1969, all verdicts independent). Then the same for the area under the
ROC curve, of normal scores that share an effect within an interaction.
"""

from __future__ import annotations

import argparse
import math
from itertools import product
from random import Random
from statistics import NormalDist
from typing import NamedTuple

from monitor.stats.agreement import Agreement, Confusion, agreement
from monitor.stats.ranking import area

MEASURES = ("accuracy", "balanced_accuracy", "precision", "recall", "kappa")


class Scenario(NamedTuple):
    """``fp`` and ``fn`` are the judge's error rates on unsupported and supported claims."""

    interactions: int
    supported: float
    fp: float
    fn: float
    icc: float

    def truth(self) -> dict[str, float]:
        """The measures on infinitely many interactions."""
        tp, fn = self.supported * (1 - self.fn), self.supported * self.fn
        fp, tn = (1 - self.supported) * self.fp, (1 - self.supported) * (1 - self.fp)
        chance = (tp + fp) * self.supported + (fn + tn) * (1 - self.supported)
        return {
            "accuracy": tp + tn,
            "balanced_accuracy": 1 - (self.fp + self.fn) / 2,
            "precision": tp / (tp + fp),
            "recall": 1 - self.fn,
            "kappa": (tp + tn - chance) / (1 - chance),
        }


def draw(scenario: Scenario, rng: Random) -> list[Confusion]:
    """One table per interaction."""
    return [_table(scenario, rng) for _ in range(scenario.interactions)]


def _table(scenario: Scenario, rng: Random) -> Confusion:
    supported = _beta(scenario.supported, scenario.icc, rng)
    fp, fn = _beta(scenario.fp, scenario.icc, rng), _beta(scenario.fn, scenario.icc, rng)
    table = Confusion()
    for _ in range(1 + _poisson(4.0, rng)):
        label = rng.random() < supported
        wrong = rng.random() < (fn if label else fp)
        table += Confusion.of(label, label != wrong)
    return table


def _beta(mean: float, icc: float, rng: Random) -> float:
    if icc == 0 or mean in (0.0, 1.0):
        return mean
    size = 1 / icc - 1
    return rng.betavariate(mean * size, (1 - mean) * size)


def _poisson(mean: float, rng: Random) -> int:
    limit, k, p = math.exp(-mean), 0, rng.random()
    while p > limit:
        k, p = k + 1, p * rng.random()
    return k


def naive_kappa(whole: Confusion) -> tuple[float, float]:
    """κ ± 1.96·SE with every verdict on its own."""
    n, kappa = whole.n, whole.kappa or 0.0
    a, b = (whole.tp + whole.fn) / n, (whole.tp + whole.fp) / n
    chance = a * b + (1 - a) * (1 - b)
    agree = whole.tp / n * (1 - (a + b) * (1 - kappa)) ** 2
    agree += whole.tn / n * (1 - (2 - a - b) * (1 - kappa)) ** 2
    differ = whole.fp / n * (b + 1 - a) ** 2 + whole.fn / n * (a + 1 - b) ** 2
    square = agree + (1 - kappa) ** 2 * differ - (kappa - chance * (1 - kappa)) ** 2
    half = 1.96 * math.sqrt(max(0.0, square) / n) / (1 - chance)
    return kappa - half, kappa + half


def _holds(found: Agreement, name: str, truth: float) -> bool | None:
    estimated = getattr(found, name)
    if estimated.lower is None:
        return None
    return bool(estimated.lower - 1e-12 <= truth <= estimated.upper + 1e-12)


def coverage(scenario: Scenario, runs: int, seed: int) -> dict[str, float]:
    """By measure: how often the interval held the truth, of the runs where it was defined."""
    truth = scenario.truth()
    held: dict[str, list[bool]] = {name: [] for name in (*MEASURES, "naive_kappa")}
    for run in range(runs):
        found = agreement(draw(scenario, Random(f"{seed}/{run}/{scenario}")))
        for name in MEASURES:
            answer = _holds(found, name, truth[name])
            if answer is not None:
                held[name].append(answer)
        if found.kappa.value is not None:
            low, high = naive_kappa(found.confusion)
            held["naive_kappa"].append(low <= truth["kappa"] <= high)
    return {name: sum(answers) / max(1, len(answers)) for name, answers in held.items()}


class Scores(NamedTuple):
    """Supported claims score ``apart`` higher; ``shared`` is the variance between interactions.

    Within an interaction it is 1.
    """

    interactions: int
    apart: float
    shared: float

    def truth(self) -> float:
        """The area on infinitely many interactions."""
        return NormalDist().cdf(self.apart / math.sqrt(2 * (1 + self.shared)))


def area_coverage(scenario: Scores, runs: int, seed: int) -> float:
    """How often the interval of the area held the truth."""
    truth, held = scenario.truth(), []
    for run in range(runs):
        rng = Random(f"{seed}/{run}/{scenario}")
        found = area([_scored(scenario, rng) for _ in range(scenario.interactions)])
        if found.lower is not None and found.upper is not None:
            held.append(found.lower <= truth <= found.upper)
    return sum(held) / len(held)


def _scored(scenario: Scores, rng: Random) -> list[tuple[bool, float]]:
    shared = rng.gauss(0.0, math.sqrt(scenario.shared))
    labels = [rng.random() < 0.5 for _ in range(1 + _poisson(4.0, rng))]
    return [(label, shared + scenario.apart * label + rng.gauss(0.0, 1.0)) for label in labels]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    names = (*MEASURES, "naive_kappa")
    print(f"{'m':>4} {'sup':>4} {'fp':>5} {'fn':>5} {'icc':>4}  " + "  ".join(names))
    rates = ((0.02, 0.02), (0.1, 0.1), (0.05, 0.3))
    for m, supported, (fp, fn), icc in product((10, 30, 100), (0.5, 0.8), rates, (0.0, 1 / 3)):
        scenario = Scenario(m, supported, fp, fn, icc)
        found = coverage(scenario, options.runs, options.seed)
        shown = "  ".join(f"{found[name]:{len(name)}.3f}" for name in names)
        print(f"{m:>4} {supported:>4} {fp:>5} {fn:>5} {icc:>4.2f}  {shown}", flush=True)
    print(f"{'m':>4} {'true':>5} {'shared':>6}  area")
    for m, apart, variance in product((10, 30, 100), (1.0, 2.5), (0.0, 0.5)):
        scores = Scores(m, apart, variance)
        held = area_coverage(scores, options.runs, options.seed)
        print(f"{m:>4} {scores.truth():>5.3f} {variance:>6}  {held:.3f}", flush=True)


if __name__ == "__main__":
    main()
