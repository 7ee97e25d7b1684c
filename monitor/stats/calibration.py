"""What a cheap signal z says of the values that a judge will find, learned from judged picks.

z is cut in bins at quantiles, narrower upwards. Of each bin f is the expected value (never falling
with z) and v the spread around it: where values spread, a judgement teaches most. A raw signal must
not stand in for f: where it says nothing, that would multiply the variance. Larger means worse
throughout.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

#: Percent of the signals up to each edge. What teaches most is rare, and at the upper end: with
#: bins of an eighth each the variance is 4 to 13 % larger at a correlation of 0.6 (seven
#: distributions of values), and the same at 0 and -0.3.
EDGES: Final = (20, 40, 55, 70, 80, 88, 94)
BINS: Final = len(EDGES) + 1
#: Pseudo-observations at the mean and variance of all, in every bin.
PRIOR: Final = 2.0


class JudgedPick(NamedTuple):
    """A judged pick: its signal, its u, and its values by metric (those it has)."""

    signal: float
    u: float
    values: Mapping[str, float]


@dataclass(frozen=True)
class Calibration:
    """``edges`` cut z in bins; per bin the spread v, and per metric the expected value f.

    >>> found = Calibration((0.0, 0.5), (0.5, 1.0, 1.5), {"faithfulness": (0.1, 0.2, 0.6)})
    >>> found.bin(0.0), found.bin(0.5), found.bin(1.0)
    (0, 1, 2)
    """

    edges: tuple[float, ...]
    spreads: tuple[float, ...]
    expected: Mapping[str, tuple[float, ...]]

    def bin(self, signal: float) -> int:
        """The number of the bin that a signal lies in: an edge belongs to the bin below it."""
        return bisect_left(self.edges, signal)


def learned(picks: Iterable[JudgedPick], alarmed: Collection[str]) -> Calibration | None:
    """The calibration of the picks, in any order; None where no alarmed metric has a value.

    f_k = (Σu·x + 2·mean) / (n_k + 2) over the bin with n_k = Σu, made non-decreasing with weights
    n_k + 2; v_k² = (Σu·(x − f_k)² + 2·variance) / (n_k + 2); v is divided by its mean over the
    picks and averaged over the ``alarmed`` metrics.

    >>> picks = [JudgedPick(0.0, 1.0, {"m": 0.0})] * 6 + [JudgedPick(1.0, 1.0, {"m": 1.0})] * 2
    >>> found = learned(picks, ["m"])
    >>> found.edges, found.expected["m"]
    ((0.0,), (0.0625, 0.625))
    """
    seen = list(picks)
    edges = _edges([pick.signal for pick in seen])
    binned = [(bisect_left(edges, pick.signal), pick) for pick in seen]
    spreads: list[list[float]] = []
    expected: dict[str, tuple[float, ...]] = {}
    for name in sorted({name for pick in seen for name in pick.values}):
        points = [(k, pick.u, pick.values[name]) for k, pick in binned if name in pick.values]
        f, v = _fitted(points, len(edges) + 1)
        expected[name] = tuple(f)
        if name in alarmed:
            spreads.append(v)
    if not spreads:
        return None
    mean = [math.fsum(column) / len(spreads) for column in zip(*spreads, strict=True)]
    return Calibration(tuple(edges), tuple(mean), expected)


def _edges(signals: Sequence[float]) -> list[float]:
    """Different quantiles, without the largest signal: above it nothing lies."""
    ordered = sorted(signals)
    n = len(ordered)
    quantiles = {ordered[-(-percent * n // 100) - 1] for percent in EDGES} if n else set()
    return sorted(edge for edge in quantiles if edge < ordered[-1])


_Points = Sequence[tuple[int, float, float]]


def _fitted(points: _Points, bins: int) -> tuple[list[float], list[float]]:
    """F and v of every bin, v divided by its mean over the points."""
    total = math.fsum(u for _, u, _ in points)
    mean = math.fsum(u * x for _, u, x in points) / total
    variance = math.fsum(u * (x - mean) ** 2 for _, u, x in points) / total
    by_bin = [[(u, x) for k, u, x in points if k == number] for number in range(bins)]
    n = [math.fsum(u for u, _ in inside) for inside in by_bin]
    means = [
        (math.fsum(u * x for u, x in inside) + PRIOR * mean) / (weight + PRIOR)
        for inside, weight in zip(by_bin, n, strict=True)
    ]
    f = isotonic(means, [weight + PRIOR for weight in n])
    v = [
        math.sqrt(
            (math.fsum(u * (x - level) ** 2 for u, x in inside) + PRIOR * variance)
            / (weight + PRIOR)
        )
        for inside, weight, level in zip(by_bin, n, f, strict=True)
    ]
    average = math.fsum(map(math.prod, zip(n, v, strict=True))) / total
    return f, [each / average if average else 1.0 for each in v]


def isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The nearest non-decreasing values by weighted squares: pool adjacent violators.

    >>> isotonic([1.0, 3.0, 2.0], [1.0, 1.0, 3.0])
    [1.0, 2.25, 2.25]
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        pools.append((value, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, w_a, n_a), (b, w_b, n_b) = pools[-2:]
            pools[-2:] = [((a * w_a + b * w_b) / (w_a + w_b), w_a + w_b, n_a + n_b)]
    return [value for value, _, number in pools for _ in range(number)]
