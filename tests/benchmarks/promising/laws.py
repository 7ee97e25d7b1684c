"""Laws that scores follow, and several metrics of one answer that follow them together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from tests.benchmarks.drifting.streams import STANDARD, Mean, Scores, Stream, whole

#: In so many answers a metric goes with the others, else by itself: their correlation is 1/4.
TOGETHER: Final = 0.5
#: Beyond this a mean leaves no room to become worse.
LARGEST_MEAN: Final = 0.95
_ZEROS: Final = 0.95


def mostly_zero(rng: np.random.Generator, runs: int, mean: Mean) -> Scores:
    """95 % are exactly 0; the others are spread out, with a mean 20 times that of all."""
    high = np.minimum(mean / (1.0 - _ZEROS), LARGEST_MEAN)
    return np.where(rng.random(runs) < _ZEROS, 0.0, rng.beta(2 * high, 2 * (1 - high), runs))


def heavy(rng: np.random.Generator, runs: int, mean: Mean) -> Scores:
    """A power law on [0, 1]: U^(1/mean − 1) for uniform U, most of it near 0, some of it at 1."""
    found: Scores = rng.random(runs) ** (1.0 / np.asarray(mean) - 1.0)
    return found


class Law(NamedTuple):
    """How scores with a mean are drawn, and what the mean usually is."""

    draw: Stream
    mean: float


LAWS: Final[Mapping[str, Law]] = {
    "claims 0.005": Law(STANDARD, 0.005),
    "claims 0.08": Law(STANDARD, 0.08),
    "claims 0.3": Law(STANDARD, 0.3),
    "claims 0.6": Law(STANDARD, 0.6),
    "95 % zeros": Law(mostly_zero, 0.01),
    "heavy tails": Law(heavy, 0.3),
    "whole 0/1": Law(whole, 0.08),
}


def together(rng: np.random.Generator, law: Law, mean: Scores, metrics: int) -> Scores:
    """Scores of shape (answers, metrics), larger meaning worse; ``mean`` is that of each answer."""
    runs = len(mean)
    shared = law.draw(rng, runs, mean)
    own = [
        np.where(rng.random(runs) < TOGETHER, shared, law.draw(rng, runs, mean))
        for _ in range(metrics)
    ]
    return np.stack(own, axis=1)
