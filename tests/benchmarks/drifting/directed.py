"""Runs with a learned baseline, three segments, and picks that a screen directs.

Each slot has twenty members, of which one is judged; formulas as in ``monitor/sampling`` and
``monitor/exporter/scores/detector.py``, over arrays; the calibration is learned by the package
itself.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from monitor.sampling.picks import LEAST_WEIGHT, MOST_EXPECTED
from monitor.stats.baseline import PRIOR_WEIGHT, STANDARD_ERRORS
from monitor.stats.calibration import BINS, JudgedPick, learned
from tests.benchmarks.drifting.ours import Array, Detectors
from tests.benchmarks.drifting.segmented import NORMAL, RATES, Phase, draw

MEMBERS: Final = 20
METRIC: Final = "faithfulness"


class DirectedWorld:
    """Many runs of one monitor each; ``correlation`` is the signal's with the value."""

    def __init__(
        self,
        rng: np.random.Generator,
        runs: int,
        learn: int,
        threshold: float,
        correlation: float,
    ) -> None:
        self._rng, self.runs = rng, runs
        spread = float(draw(rng, 100_000, NORMAL)[1].std())
        self._noise = spread * math.sqrt(1 / correlation**2 - 1)
        self._baselines = np.zeros((runs, len(RATES)))
        self._edges = np.full((runs, BINS - 1), np.inf)
        self._spreads, self._expected = np.zeros((runs, BINS)), np.zeros((runs, BINS))
        for run in range(runs):
            self._learn(run, learn)
        self._detectors = Detectors(runs, threshold)

    def step(self, phase: Phase) -> Array:
        """One slot in each run, of which one member is judged; the evidence, shape (runs,)."""
        shape = (self.runs, MEMBERS)
        drawn = draw(self._rng, self.runs * MEMBERS, phase)
        segment, x = drawn[0].reshape(shape), drawn[1].reshape(shape)
        k = self._bins(self._signal(x))
        here = np.arange(self.runs)
        v = self._spreads[here[:, None], k]
        w = LEAST_WEIGHT + (1 - LEAST_WEIGHT) * v / v.mean(axis=1, keepdims=True)
        f = np.minimum(self._expected[here[:, None], k], MOST_EXPECTED * w)
        pick = np.argmin(self._rng.exponential(size=shape) / w, axis=1)
        u = 1 / w[here, pick]
        baseline = self._baselines[here[:, None], segment].mean(axis=1)
        by = f.mean(axis=1) - baseline + u * (x[here, pick] - f[here, pick])
        return self._detectors.step(by, baseline + MOST_EXPECTED)

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Go on with these runs only."""
        if which.all():  # nearly always
            return
        self._detectors.keep(which)
        self._baselines, self._edges = self._baselines[which], self._edges[which]
        self._spreads, self._expected = self._spreads[which], self._expected[which]
        self.runs = int(which.sum())

    def _signal(self, x: Array) -> Array:
        signal: Array = x + self._noise * self._rng.standard_normal(x.shape)
        return signal

    def _bins(self, signal: Array) -> NDArray[np.int64]:
        # Edge by edge: a sum along so short an axis takes several times as long.
        found = np.zeros(signal.shape, np.int64)
        for edge in self._edges.T:
            found += signal > edge[:, None]
        return found

    def _learn(self, run: int, learn: int) -> None:
        """Baseline and calibration of one run, from the same uniform picks."""
        segment, x = draw(self._rng, learn, NORMAL)
        mean = x.mean()
        se = math.sqrt(((x - mean) ** 2).sum() + 1) / learn
        for number in range(len(RATES)):
            inside = x[segment == number]
            drawn = (inside.sum() + PRIOR_WEIGHT * mean) / (len(inside) + PRIOR_WEIGHT)
            self._baselines[run, number] = drawn + STANDARD_ERRORS * se
        seen = zip(self._signal(x).tolist(), x.tolist(), strict=True)
        found = learned((JudgedPick(z, 1.0, {METRIC: value}) for z, value in seen), [METRIC])
        assert found is not None
        self._edges[run, : len(found.edges)] = found.edges
        self._spreads[run, : len(found.spreads)] = found.spreads
        self._expected[run, : len(found.spreads)] = found.expected[METRIC]
