"""A sequential detector of «worse» with a guaranteed average run length to a false alarm.

The mixture e-SR of Shin, Ramdas and Rinaldo (2022, «E-detectors»): every bet L multiplies its
evidence R_L by 1 + min(L, 0.95/reach)·d, which is an e-value while the mean of x given the past
is at most the baseline, and starts anew from 1 in every step. The mean over bets crosses A at most
once in A slots on average, whatever the distribution of the scores.

Larger x means worse throughout.
"""

from __future__ import annotations

from typing import Final, NamedTuple

BETS: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
#: One per bet.
BetEvidence = tuple[float, float, float, float, float]
NO_EVIDENCE: Final[BetEvidence] = (0.0, 0.0, 0.0, 0.0, 0.0)

_BOLDEST: Final = 0.95
"""Of the largest loss that one slot can bring: a factor is never below 0.05."""
_DIRECTED_REACH: Final = 0.25
"""By how much u·f may lower d below −b̄; the sampling keeps u·f ≤ 1/4."""
MOST_WEIGHT: Final = 5.0
"""Of a pick, u: the sampling keeps to it."""
CEILING: Final = 100.0
"""Evidence is scaled down at this multiple of the threshold, so that an alarm can clear."""


class Deviation(NamedTuple):
    """How much worse than its baseline one slot was, and the most it can be better.

    ``by`` ≥ −``reach``, and its mean given the past is ≤ 0 while nothing has become worse.
    """

    by: float
    reach: float


def uniform(value: float | None, baseline: float) -> Deviation:
    """The deviation of a pick drawn uniformly; ``baseline`` is b of the pick's segment.

    A pick without a value (None) is taken for one at the baseline.

    >>> uniform(0.5, 0.125), uniform(None, 0.125)
    (Deviation(by=0.375, reach=0.125), Deviation(by=0.0, reach=0.125))
    """
    return Deviation((baseline if value is None else value) - baseline, baseline)


def weighted(value: float | None, u: float, baseline: float) -> Deviation:
    """The deviation of a directed pick of which nothing was expected: d = u·(x' − b).

    Whether it was likely to be picked must not say how bad the slot is, hence u; ``baseline`` is b
    of the pick's segment. The reach is the same for all members of a slot, so that no bet goes by
    who was picked: u is at most ``MOST_WEIGHT``.

    >>> weighted(0.5, 1.0, 0.125), weighted(None, 2.0, 0.125)
    (Deviation(by=0.375, reach=0.625), Deviation(by=0.0, reach=0.625))
    """
    return Deviation(u * uniform(value, baseline).by, max(MOST_WEIGHT, u) * baseline)


def directed(
    value: float | None, u: float, f_mean: float, f: float, baseline: float, slot_baseline: float
) -> Deviation:
    """The deviation of a pick that the risk signal chose: d = f̄ − b̄ + u·(x' − f).

    ``baseline`` is b of the pick's segment, ``slot_baseline`` the mean b̄ over the slot's members;
    ``f_mean`` and ``f`` are what the risk signal expected of the slot and of the pick, u·f ≤ 1/4.

    >>> directed(0.5, 1.0, 0.0, 0.0, 0.125, 0.125)
    Deviation(by=0.375, reach=0.375)
    """
    found, reach = baseline if value is None else value, slot_baseline + _DIRECTED_REACH
    # A record with u·f above 1/4 breaks the sampling's promise: it must not end all evidence.
    return Deviation(max(-reach, f_mean - slot_baseline + u * (found - f)), reach)


def after(evidence: BetEvidence, deviation: Deviation, threshold: float) -> BetEvidence:
    """The evidence after one more slot; ``threshold`` is A.

    >>> after(NO_EVIDENCE, Deviation(0.5, 0.25), 1e4)
    (1.125, 1.25, 1.5, 2.0, 2.9)
    >>> after((1e6,) * 5, Deviation(0.0, 0.25), 1e4) == (1e6,) * 5
    True
    """
    by, reach = deviation
    most = _BOLDEST / reach if reach > 0.0 else BETS[-1]
    a, b, c, d, e = BETS
    r, s, t, u, v = evidence
    grown = (
        (1.0 + r) * (1.0 + min(a, most) * by),
        (1.0 + s) * (1.0 + min(b, most) * by),
        (1.0 + t) * (1.0 + min(c, most) * by),
        (1.0 + u) * (1.0 + min(d, most) * by),
        (1.0 + v) * (1.0 + min(e, most) * by),
    )
    total = combined(grown)
    ceiling = CEILING * threshold
    if total <= ceiling:
        return grown
    shrink = ceiling / total
    return (
        grown[0] * shrink,
        grown[1] * shrink,
        grown[2] * shrink,
        grown[3] * shrink,
        grown[4] * shrink,
    )


def combined(evidence: BetEvidence) -> float:
    """R, the mean over the bets; the alarm is open while R ≥ A.

    >>> combined((1.0, 2.0, 3.0, 4.0, 5.0))
    3.0
    """
    a, b, c, d, e = evidence
    # Not by ``sum``, which adds up floats differently from Python 3.12 on.
    return (a + b + c + d + e) / 5.0
