"""Scores with a known mean, larger meaning worse: arrays of shape (runs,)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
#: That of all runs, or of each.
Mean = float | Scores
#: (generator, number of runs, mean) → one score for each run.
Stream = Callable[[np.random.Generator, int, Mean], Scores]

ICC: Final = 1 / 3
"""Correlation of the claims of one answer."""


def claims(extra: float) -> Stream:
    """1 + Poisson(``extra``) claims, each wrong at a Beta rate with correlation ``ICC``."""
    spread = (1 - ICC) / ICC

    def draw(rng: np.random.Generator, runs: int, mean: Mean) -> Scores:
        number = 1 + rng.poisson(extra, runs)
        rate = rng.beta(mean * spread, (1 - mean) * spread, runs)
        return rng.binomial(number, rate) / number

    return draw


def whole(rng: np.random.Generator, runs: int, mean: Mean) -> Scores:
    """The whole answer is right (0) or wrong (1)."""
    return (rng.random(runs) < mean).astype(float)


def half_zero(rng: np.random.Generator, runs: int, mean: Mean) -> Scores:
    """Half of the answers have nothing wrong, the rest twice the mean, spread out."""
    return np.where(rng.random(runs) < 0.5, 0.0, rng.beta(4 * mean, 2 - 4 * mean, runs))


def continuous(rng: np.random.Generator, runs: int, mean: Mean) -> Scores:
    """Never exactly 0 or 1."""
    return rng.beta(10 * mean, 10 * (1 - mean), runs)


def two_modes(rng: np.random.Generator, runs: int, mean: Mean) -> Scores:
    """Most answers near 0, a few near 0.6."""
    high = rng.random(runs) < (mean - 0.02) / 0.58
    return np.where(high, rng.beta(60, 40, runs), rng.beta(2, 98, runs))


STANDARD: Final[Stream] = claims(4)
STREAMS: Final[dict[str, Stream]] = {
    "few claims": claims(1),
    "many claims": claims(14),
    "whole answer 0/1": whole,
    "half zero": half_zero,
    "continuous": continuous,
    "two modes": two_modes,
}
