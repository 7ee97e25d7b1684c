"""The detector of ``monitor/stats/drift.py`` over many runs at once.

The recursion is written again over arrays, for its speed; ``agrees`` holds it against the
package's, step by step, and the benchmark refuses to print anything when they differ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.stats.drift import BETS, NO_EVIDENCE, after, ceiling, closing, uniform

Array = NDArray[np.float64]


class Detectors:
    """Evidence of many runs, shape (bets, runs)."""

    def __init__(self, runs: int, threshold: float) -> None:
        self.threshold = threshold
        self._bets = np.array(BETS)[:, None]
        self._evidence = np.zeros((len(BETS), runs))
        self.is_open = np.zeros(runs, np.bool_)

    def step(self, by: Array, reach: Array) -> Array:
        """One slot in each run; its deviation and reach, each of shape (runs,). R, (runs,)."""
        with np.errstate(divide="ignore"):
            bet = np.minimum(self._bets, 0.95 / reach)
        self._evidence = (1.0 + self._evidence) * (1.0 + bet * by)
        total: Array = self._evidence.mean(axis=0)
        most, was_open = ceiling(self.threshold), self.is_open
        goes_on = was_open & (total >= closing(self.threshold))
        self.is_open = (total >= self.threshold) | goes_on
        # Nearly always nothing is open, and nothing has to be scaled down.
        if not was_open.any() and total.max(initial=0.0) <= most:
            return total
        self._evidence *= np.minimum(1.0, most / np.maximum(total, most))
        self._evidence[:, was_open & ~self.is_open] = 0.0
        found: Array = self._evidence.mean(axis=0)
        return found

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Go on with these runs only."""
        self._evidence = self._evidence[:, which]
        self.is_open = self.is_open[which]


def agrees(seed: int) -> bool:
    """Whether arrays and package give the same evidence, to rounding, ceiling included."""
    rng = np.random.default_rng(seed)
    many, one, threshold = Detectors(1, 50.0), NO_EVIDENCE, 50.0
    for x in rng.beta(0.5, 2.0, 2_000):
        deviation = uniform(float(x), 0.15)
        found = many.step(np.array([deviation.by]), np.array([deviation.reach]))[0]
        one = after(one, deviation, threshold)
        if not np.isclose(found, one.combined, rtol=1e-9):
            return False
    return True
