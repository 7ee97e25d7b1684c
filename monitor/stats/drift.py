"""A sequential detector of «worse» with a guaranteed average run length to a false alarm.

The mixture e-SR of Shin, Ramdas and Rinaldo (2022, «E-detectors»): every bet L multiplies its
evidence R_L by 1 + min(L, 0.95/reach)·d, which is an e-value while the mean of x given the past
is at most the baseline, and starts anew from 1 in every step. The mean over bets crosses A at most
once in A slots on average, whatever the distribution of the scores.

An alarm is open from R ≥ A until R is far below it (``closing``), or until nothing is heard for
long (``monitor.stats.silence``). With its end all evidence begins anew (renewal), so that each
opening takes A slots on average, and not only the first one.

Larger x means worse throughout.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

#: A named tuple is made by it in a third of the time, and nothing is made more often.
_made: Final = tuple.__new__

BETS: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
#: One per bet.
BetEvidence = tuple[float, float, float, float, float]
#: What a slot adds as a possible start, and its factor for each bet.
SlotFactors = tuple[float, float, float, float, float, float]
_NOTHING: Final[BetEvidence] = (0.0, 0.0, 0.0, 0.0, 0.0)

_BOLDEST: Final = 0.95
"""Of the largest loss that one slot can bring: a factor is never below 0.05."""
_DIRECTED_REACH: Final = 0.25
"""By how much u·f may lower d below −b̄; the sampling keeps u·f ≤ 1/4."""
MOST_WEIGHT: Final = 5.0
"""Of a pick, u: the sampling keeps to it."""
_CLOSING: Final = 1 / 30
_CLOSING_OF_SMALL: Final = 1 / 10
_OF_NOTHING: Final = 200.0
"""Evidence seldom stays above it while all is well: no alarm may wait for less."""
_FALL: Final = 1_200.0
"""From the ceiling to an alarm's end, so that it ends as seldom in vain at every threshold."""


# Every slot of an open alarm asks for both, nearly always at the threshold of the one before.
@lru_cache(maxsize=64)
def closing(threshold: float) -> float:
    """R below which an alarm ends: A/30, for near the threshold evidence goes to and fro.

    Where that is less than what nothing brings, up to A/10.

    >>> closing(30_000.0), closing(3_000.0), closing(1_000.0)
    (1000.0, 200.0, 100.0)
    """
    return max(threshold * _CLOSING, min(threshold * _CLOSING_OF_SMALL, _OF_NOTHING))


def threshold_closing_at(evidence: float) -> float:
    """The greatest threshold at which an alarm would go on with so much evidence.

    >>> threshold_closing_at(1_000.0), threshold_closing_at(100.0)
    (30000.0, 1000.0)
    """
    return evidence / (_CLOSING_OF_SMALL if evidence < _OF_NOTHING else _CLOSING)


@lru_cache(maxsize=64)
def ceiling(threshold: float) -> float:
    """R at which evidence is scaled down, so that an alarm can clear: 40·A to 120·A.

    >>> round(ceiling(30_000.0)), round(ceiling(1_000.0))
    (1200000, 120000)
    """
    return _FALL * closing(threshold)


def threshold_scaled_at(evidence: float) -> float:
    """The least threshold at which so much evidence would not be scaled down.

    >>> round(threshold_scaled_at(1_200_000.0)), round(threshold_scaled_at(120_000.0))
    (30000, 1000)
    """
    return threshold_closing_at(evidence / _FALL)


class DriftEvidence(NamedTuple):
    """How things stand after a slot: R_L per bet, and whether the alarm is open.

    ``reached`` is R with the slot, before the ceiling and before an alarm's end took it away.
    """

    bets: BetEvidence
    is_open: bool
    reached: float

    @property
    def combined(self) -> float:
        """R, the mean over the bets.

        >>> DriftEvidence((1.0, 2.0, 3.0, 4.0, 5.0), is_open=False, reached=3.0).combined
        3.0
        """
        return _combined(self.bets)


NO_EVIDENCE: Final = DriftEvidence(_NOTHING, is_open=False, reached=0.0)
_ONES: Final = DriftEvidence((1.0, 1.0, 1.0, 1.0, 1.0), is_open=False, reached=1.0)


class Deviation(NamedTuple):
    """How much worse than its baseline one slot was, and the most it can be better.

    ``by`` ≥ −``reach``, and its mean given the past is ≤ 0 while nothing has become worse.
    ``starts`` is what it adds as a possible start of a change: 1, and 0 without a value, for
    picks that fail are no evidence, however many they are. A baseline that is higher by δ makes
    it ``by`` − δ·``by_slope``, and the reach greater by δ·``reach_slope``. ``after_silence`` says
    that nothing was heard before it for so long that an open alarm has ended.
    """

    by: float
    reach: float
    starts: float = 1.0
    by_slope: float = 1.0
    reach_slope: float = 1.0
    after_silence: bool = False

    def against_more(self, margin: float) -> Deviation:
        """The same slot, held against a baseline that is higher by ``margin``.

        >>> uniform(0.5, 0.25).against_more(0.125) == uniform(0.5, 0.375)
        True
        """
        by, reach, starts, by_slope, reach_slope, after_silence = self
        by, reach = by - margin * by_slope, reach + margin * reach_slope
        return _made(Deviation, (by, reach, starts, by_slope, reach_slope, after_silence))

    def moved(self, worse: float, further: float) -> Deviation:
        """The same slot, worse by so much, with a reach that is greater by ``further``.

        >>> uniform(0.5, 0.25).moved(0.25, 0.125)[:2]
        (0.5, 0.375)
        """
        by, reach, *rest = self
        return _made(Deviation, (by + worse, reach + further, *rest))


def uniform(value: float | None, baseline: float) -> Deviation:
    """The deviation of a pick drawn uniformly; ``baseline`` is b of the pick's segment.

    A pick without a value (None) changes nothing.

    >>> uniform(0.5, 0.125)[:3], uniform(None, 0.125)[:3]
    ((0.375, 0.125, 1.0), (0.0, 0.125, 0.0))
    """
    if value is None:
        return Deviation(0.0, baseline, 0.0, 0.0)
    return _made(Deviation, (value - baseline, baseline, 1.0, 1.0, 1.0, False))


def weighted(value: float | None, u: float, baseline: float) -> Deviation:
    """The deviation of a directed pick of which nothing was expected: d = u·(x' − b).

    Whether it was likely to be picked must not say how bad the slot is, hence u; ``baseline`` is b
    of the pick's segment. The reach is the same for all members of a slot, so that no bet goes by
    who was picked: u is at most ``MOST_WEIGHT``.

    >>> weighted(0.5, 1.0, 0.125)[:3], weighted(None, 2.0, 0.125)[:3]
    ((0.375, 0.625, 1.0), (0.0, 0.625, 0.0))
    """
    most = max(MOST_WEIGHT, u)
    if value is None:
        return Deviation(0.0, most * baseline, 0.0, 0.0, most)
    return Deviation(u * (value - baseline), most * baseline, 1.0, u, most)


def directed(
    value: float | None, u: float, f_mean: float, f: float, baseline: float, slot_baseline: float
) -> Deviation:
    """The deviation of a pick that the risk signal chose: d = f̄ − b̄ + u·(x' − f).

    ``baseline`` is b of the pick's segment, ``slot_baseline`` the mean b̄ over the slot's members;
    ``f_mean`` and ``f`` are what the risk signal expected of the slot and of the pick, u·f ≤ 1/4.
    A pick without a value is taken for one at the baseline.

    >>> directed(0.5, 1.0, 0.0, 0.0, 0.125, 0.125)[:3]
    (0.375, 0.375, 1.0)
    """
    reach = slot_baseline + _DIRECTED_REACH
    starts, found, slope = (0.0, baseline, 1.0 - u) if value is None else (1.0, value, 1.0)
    # A record with u·f above 1/4 breaks the sampling's promise: it must not end all evidence.
    by = max(-reach, f_mean - slot_baseline + u * (found - f))
    return _made(Deviation, (by, reach, starts, slope, 1.0, False))


def after(
    evidence: DriftEvidence, deviation: Deviation, threshold: float, dependence: float = 1.0
) -> DriftEvidence:
    """How things stand after one more slot; ``threshold`` is A, ``dependence`` V.

    Scores that repeat each other are evidence only once: each factor counts to the power of 1/V
    (products of factors to 1/V keep a mean of at most 1, by Hölder's inequality).

    >>> after(NO_EVIDENCE, Deviation(0.5, 0.25), 1e4).bets
    (1.125, 1.25, 1.5, 2.0, 2.9)
    >>> after(DriftEvidence((1e4,) * 5, True, 1e4), Deviation(-0.25, 0.25), 1e4).is_open
    True
    >>> silent = Deviation(0.5, 0.25, after_silence=True)
    >>> after(DriftEvidence((1e4,) * 5, True, 1e4), silent, 1e4).bets
    (1.125, 1.25, 1.5, 2.0, 2.9)
    """
    by, reach, starts, _, _, after_silence = deviation
    if after_silence and evidence.is_open:
        evidence = NO_EVIDENCE
    most = _BOLDEST / reach if reach > 0.0 else BETS[-1]
    a, b, c, d, e = BETS
    r, s, t, u, v = evidence.bets
    # Called for every slot, hence neither ``min`` nor ``_combined``.
    f, g, h, i, j = (
        1.0 + (a if a < most else most) * by,
        1.0 + (b if b < most else most) * by,
        1.0 + (c if c < most else most) * by,
        1.0 + (d if d < most else most) * by,
        1.0 + (e if e < most else most) * by,
    )
    if dependence != 1.0:
        power = 1.0 / dependence
        f, g, h, i, j = f**power, g**power, h**power, i**power, j**power
    grown = r, s, t, u, v = (
        (starts + r) * f, (starts + s) * g, (starts + t) * h, (starts + u) * i, (starts + v) * j
    )  # fmt: skip
    reached = (r + s + t + u + v) / 5.0
    if not (reached >= threshold or (evidence.is_open and reached >= closing(threshold))):
        return _made(DriftEvidence, (_NOTHING if evidence.is_open else grown, False, reached))
    most_evidence = ceiling(threshold)
    if reached > most_evidence:
        shrink = most_evidence / reached
        grown = r * shrink, s * shrink, t * shrink, u * shrink, v * shrink
    return _made(DriftEvidence, (grown, True, reached))


def factors(deviation: Deviation) -> SlotFactors:
    """What a slot adds as a possible start, and by what it multiplies the evidence of each bet.

    >>> factors(Deviation(0.5, 0.25))
    (1.0, 1.125, 1.25, 1.5, 2.0, 2.9)
    """
    # With a start it is what nothing grows to, without one what 1 does.
    before = NO_EVIDENCE if deviation.starts else _ONES
    return deviation.starts, *after(before, deviation, math.inf).bets


def until_open(
    bets: BetEvidence, slots: Iterable[SlotFactors], threshold: float
) -> tuple[int | None, BetEvidence]:
    """After how many of these slots an alarm opens, None if none does; and R_L after the last one.

    What ``after`` says slot by slot while no alarm is open, in a third of the time: for simulations
    that see few different slots very often.

    >>> until_open(NO_EVIDENCE.bets, [factors(Deviation(0.5, 0.25))] * 40, 1e4)[0]
    10
    """
    r, s, t, u, v = bets
    for number, (starts, f, g, h, i, j) in enumerate(slots, 1):
        r, s, t, u, v = (
            (starts + r) * f, (starts + s) * g, (starts + t) * h, (starts + u) * i, (starts + v) * j
        )  # fmt: skip
        if (r + s + t + u + v) / 5.0 >= threshold:
            return number, (r, s, t, u, v)
    return None, (r, s, t, u, v)


def until_closed(
    bets: BetEvidence, slots: Iterable[SlotFactors], threshold: float
) -> tuple[int | None, BetEvidence]:
    """After how many of these slots an open alarm ends, None if it does not; and R_L then.

    >>> until_closed((2e4,) * 5, [factors(Deviation(-0.25, 0.5))] * 50, 1e4)
    (40, (0.0, 0.0, 0.0, 0.0, 0.0))
    """
    least, most = closing(threshold), ceiling(threshold)
    r, s, t, u, v = bets
    for number, (starts, f, g, h, i, j) in enumerate(slots, 1):
        r, s, t, u, v = (
            (starts + r) * f, (starts + s) * g, (starts + t) * h, (starts + u) * i, (starts + v) * j
        )  # fmt: skip
        reached = (r + s + t + u + v) / 5.0
        if reached < least:
            return number, _NOTHING
        if reached > most:
            shrink = most / reached
            r, s, t, u, v = r * shrink, s * shrink, t * shrink, u * shrink, v * shrink
    return None, (r, s, t, u, v)


def quiet_after(slots: Iterable[SlotFactors], threshold: float) -> BetEvidence | None:
    """R_L after all of these slots, begun with nothing; None where an alarm is open then.

    >>> better, worse = factors(Deviation(-0.25, 0.5)), factors(Deviation(0.5, 0.25))
    >>> quiet_after([worse] * 10, 1e4) is None
    True
    >>> quiet_after([*[worse] * 10, *[better] * 40], 1e4) == quiet_after([better] * 34, 1e4)
    True
    """
    rest, bets = iter(slots), _NOTHING
    while True:
        opens, bets = until_open(bets, rest, threshold)
        if opens is None:
            return bets
        closes, bets = until_closed(bets, rest, threshold)
        if closes is None:
            return None


def _combined(bets: BetEvidence) -> float:
    a, b, c, d, e = bets
    # Not by ``sum``, which adds up floats differently from Python 3.12 on.
    return (a + b + c + d + e) / 5.0
