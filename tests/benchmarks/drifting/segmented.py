"""Runs with a learned baseline and three segments: worse inside them, or only another mix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from monitor.stats.baseline import PRIOR_WEIGHT, STANDARD_ERRORS
from tests.benchmarks.drifting.ours import Array, Detectors
from tests.benchmarks.drifting.streams import STANDARD

RATES: Final = (0.04, 0.08, 0.16)
#: Shares of the segments while the baseline is learned, and after a shift towards the best one:
#: with all rates doubled the mean over everything is what it was.
MIX, SHIFTED = (1 / 3, 1 / 3, 1 / 3), (0.87, 0.10, 0.03)
WORSE_MIX = (0.10, 0.20, 0.70)


@dataclass(frozen=True)
class Phase:
    """What the traffic is like: shares of the segments, and what all rates are multiplied by."""

    mix: tuple[float, ...] = MIX
    times: float = 1.0


NORMAL: Final = Phase()


class World:
    """Many runs of one monitor each; ``tolerate`` is a share of the mean."""

    def __init__(
        self,
        rng: np.random.Generator,
        runs: int,
        learn: int,
        threshold: float,
        tolerate: float = 0.0,
    ) -> None:
        self._rng = rng
        self._baselines = _learn(rng, runs, learn, tolerate)
        self._detectors = Detectors(runs, threshold)
        self.runs = runs

    def step(self, phase: Phase) -> Array:
        """One judged interaction in each run; the evidence, shape (runs,)."""
        segment, x = draw(self._rng, self.runs, phase)
        baseline = self._baselines[segment, np.arange(self.runs)]
        return self._detectors.step(x - baseline, baseline)

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """In which runs an alarm is open, shape (runs,)."""
        return self._detectors.is_open

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Go on with these runs only."""
        if which.all():  # nearly always
            return
        self._detectors.keep(which)
        self._baselines = self._baselines[:, which]
        self.runs = int(which.sum())


def draw(rng: np.random.Generator, runs: int, phase: Phase) -> tuple[NDArray[np.int64], Array]:
    """Segments and values of so many interactions."""
    segment = rng.choice(len(RATES), size=runs, p=np.array(phase.mix))
    x = np.zeros(runs)
    for i, rate in enumerate(RATES):
        members = segment == i
        x[members] = STANDARD(rng, int(members.sum()), min(0.999, rate * phase.times))
    return segment, x


def _learn(rng: np.random.Generator, runs: int, learn: int, tolerate: float) -> Array:
    """b per segment and run: the formulas of ``monitor/stats/baseline.py``, over arrays."""
    count, total = np.zeros((3, runs)), np.zeros((3, runs))
    squares = np.zeros(runs)
    here = np.arange(runs)
    for _ in range(learn):
        segment, x = draw(rng, runs, NORMAL)
        count[segment, here] += 1
        total[segment, here] += x
        squares += x * x
    mean = total.sum(axis=0) / learn
    se: Array = np.sqrt(squares - learn * mean**2 + 1) / learn
    drawn: Array = (total + PRIOR_WEIGHT * mean) / (count + PRIOR_WEIGHT)
    margin: Array = np.maximum(STANDARD_ERRORS * se, se + tolerate * mean)
    return drawn + margin
