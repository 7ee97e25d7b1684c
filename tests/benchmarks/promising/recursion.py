"""The evidence of many slots at once, as ``monitor.stats.drift`` has it while no alarm opens."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from monitor.stats.baseline import MIX_ERRORS, STANDARD_ERRORS, Baseline
from monitor.stats.drift import BETS
from monitor.stats.recent_mix import MEMORY

Numbers = NDArray[np.float64]
_BOLDEST: Final = 0.95
_BETS: Final = np.array(BETS)[:, None]
#: Powers of what is forgotten with a slot stay far within floats over so many.
_AT_ONCE: Final = 50_000


def combined(scores: Numbers, against: Numbers, dependence: float) -> Numbers:
    """R after each slot, beginning with none; not a number, or ∞, where it outgrows floats.

    Runs of slots go side by side: after i slots of its run R is P_i·R_0 + S_i.

    >>> combined(np.array([0.5, 0.0]), np.array([0.25, 0.25]), 1.0)[:1]
    array([1.3775])
    """
    number = len(scores)
    length = max(1, int(number**0.5))
    runs = -(-number // length)
    with np.errstate(all="ignore"):
        factors = 1.0 + np.minimum(_BETS, _BOLDEST / against) * (scores - against)
        if dependence != 1.0:
            factors **= 1.0 / dependence
        filled = np.ones((len(BETS), runs * length))
        filled[:, :number] = factors
        steps = filled.reshape(len(BETS), runs, length).transpose(2, 0, 1).copy()
        grown, product, total = _side_by_side(steps)
        begin = _begun(product, total)
        found = (grown[0] * begin + grown[1]).mean(axis=1)
    return np.asarray(found.T.reshape(-1)[:number])


def _side_by_side(steps: Numbers) -> tuple[tuple[Numbers, Numbers], Numbers, Numbers]:
    """P and S after each step of each run, and after the last ones."""
    products, totals = np.empty_like(steps), np.empty_like(steps)
    product, total = np.ones(steps.shape[1:]), np.zeros(steps.shape[1:])
    for number, factor in enumerate(steps):
        product, total = product * factor, (total + 1.0) * factor
        products[number], totals[number] = product, total
    return (products, totals), product, total


def _begun(product: Numbers, total: Numbers) -> Numbers:
    """R of each bet before each run."""
    found = np.zeros_like(total)
    for run in range(1, found.shape[1]):
        found[:, run] = product[:, run - 1] * found[:, run - 1] + total[:, run - 1]
    return found


def mix_margins(baseline: Baseline, shares: Numbers, names: list[str]) -> Numbers:
    """What the mix before each slot adds to its baseline; ``shares`` are those of ``names``."""
    variances = np.array([baseline.spreads[name].se ** 2 for name in names])
    errors = MIX_ERRORS * np.sqrt(shares**2 @ variances)
    return np.asarray(np.maximum(0.0, errors - STANDARD_ERRORS * baseline.se))


def recent_shares(begin: Numbers, numbers: NDArray[np.int64]) -> Numbers:
    """The shares before each slot, shape (slots, segments); ``numbers`` are those of the slots.

    >>> recent_shares(np.array([0.25, 0.75]), np.array([0, 0]))[1].round(4)
    array([0.2525, 0.7475])
    """
    found, forgets = np.empty((len(numbers), len(begin))), 1.0 - 1.0 / MEMORY
    for first in range(0, len(numbers), _AT_ONCE):
        some = numbers[first : first + _AT_ONCE]
        powers = forgets ** np.arange(len(some) + 1)
        for segment, share in enumerate(begin):
            came = np.cumsum((some == segment) / powers[1:])
            grown = powers * (share + (1.0 - forgets) * np.concatenate([[0.0], came]))
            found[first : first + len(some), segment] = grown[:-1]
            begin = np.where(np.arange(len(begin)) == segment, grown[-1], begin)
    return found
