"""How likely so many of some trials are, where neither need be whole.

P(X ≥ x) of a binomial X is the regularized incomplete beta function I_p(x, n − x + 1) (DLMF
8.17.5), which is there for numbers that are not whole, too. With an effective number of trials in
the place of n it gives the bounds of Clopper and Pearson (1934) for answers that are weighted or
repeat each other (Korn and Graubard 1998).
"""

from __future__ import annotations

import math
from typing import Final

_TINY: Final = 1e-300
_CLOSE: Final = 1e-14
#: Far more than it takes: about the root of the larger of both numbers.
_MOST_STEPS: Final = 10_000


def at_least(x: float, n: float, p: float) -> float:
    """P(at least x of n trials), of which each comes out with probability p; 0 ≤ x ≤ n.

    >>> [round(at_least(*of), 6) for of in ((2, 30, 0.01), (0, 30, 0.01), (2, 2, 0.5))]
    [0.036148, 1.0, 0.25]
    """
    if x <= 0.0 or p >= 1.0:
        return 1.0
    return _incomplete_beta(x, n - x + 1.0, p) if p > 0.0 else 0.0


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b), 0 < x < 1, by its continued fraction (DLMF 8.17.22) from the nearer side."""
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _incomplete_beta(b, a, 1.0 - x)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a
    return min(1.0, front * _fraction(a, b, x))


def _fraction(a: float, b: float, x: float) -> float:
    """1/(1 + d₁/(1 + d₂/(1 + …))), by Lentz's method, which begins at 1 more."""
    value, c, d = 1.0, 1.0, 0.0
    for step in range(_MOST_STEPS):
        m = step // 2
        if step == 0:
            term = 1.0
        elif step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 + term * d
        c = 1.0 + term / c
        d, c = 1.0 / (d or _TINY), c or _TINY
        value *= c * d
        if step and abs(1.0 - c * d) < _CLOSE:
            break
    return value - 1.0
