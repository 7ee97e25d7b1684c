"""What changed? A change of the mean, split over the segments of the traffic.

With p_s the share of segment s and m_s its mean, before (p, b) and since (p', m')::

    Σp'm' − Σp·b  =  Σ(p'_s − p_s)·b_s   +   Σp'_s·(m'_s − b_s)
                     mix shift               within-segment shift

exactly. Shares and means are those of the sums per segment (G = u·a·x, H = u·a, weighted by W).
A segment that was not there before has the mean of all for b_s: its coming is mix shift only as
far as it displaces others, and what it does differently is its own.

Larger means worse throughout.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, NamedTuple

from monitor.stats.sums import ZERO, Sums

_STANDS_OUT: Final = 2.5
"""Standard errors: a segment that is nearer to the others is not blamed."""
_STANDS_OUT_LEVEL: Final = 0.05
_LEAST_SCORED: Final = 5.0
"""Independent scores since the change: of fewer nobody can tell, as their mean is not normal."""
_LEAST_ERROR: Final = 1e-12
_PSEUDO: Final = 2.0
"""Judgements at the variance of all, so that three equal scores do not look certain."""


@dataclass(frozen=True)
class Shift:
    """One segment: shares of the traffic, means, and what it adds to the change of the mean.

    ``share_before`` is None where the traffic before is not known, ``now`` where nothing was
    scored since. ``within`` is p'_s·(m'_s − b_s), ``error`` its standard error and ``mix``
    (p'_s − p_s)·(b_s − mean before), which adds up to the same as with b_s alone. ``alike`` is the
    standard error of m'_s − b_s where scores spread in each segment as they do in all, ``n`` how
    many equal scores since are worth as much.
    """

    segment: str
    share_before: float | None
    share: float
    before: float
    now: float | None
    within: float
    error: float
    mix: float | None
    alike: float = 0.0
    n: float = math.inf

    @property
    def surely(self) -> float:
        """What the segment explains at least, by one standard error: the order of the segments.

        The plain contribution puts a large segment first by its noise alone, the contribution in
        standard errors a tiny difference of a segment that is measured well; the difference of
        both does neither.
        """
        return self.within - self.error


class StandsOut(NamedTuple):
    """A segment that has become worse than all others together, by ``z`` standard errors.

    Means before and now: its own, and those of the others.
    """

    segment: str
    before: float
    now: float
    others_before: float
    others_now: float
    z: float


@dataclass(frozen=True)
class Split:
    """The change of the mean from ``before`` to ``now``; the worst segment stands first.

    Without known traffic before, ``before`` has the mix of now and ``mix`` is None.
    """

    before: float
    now: float
    mix: float | None
    within: float
    segments: tuple[Shift, ...]

    @property
    def explained_by_mix(self) -> float | None:
        """The share of the worsening that the mix explains, at most 1; negative: it hides as much.

        Where both have become worse, mix/(mix + within); where the mix has become better, it hides
        −mix/within. None where nothing has become worse, or the mix before is not known.

        >>> Split(0.25, 0.5, 0.0625, 0.1875, ()).explained_by_mix
        0.25
        >>> Split(0.25, 0.25, -0.125, 0.125, ()).explained_by_mix
        -1.0
        """
        if self.mix is None or (self.mix <= 0.0 and self.within <= 0.0):
            return None
        if self.mix < 0.0:
            return self.mix / self.within
        return self.mix / (self.mix + max(0.0, self.within))


def standing_out(segments: Sequence[Shift], dependence: float = 1.0) -> StandsOut | None:
    """The segment whose change differs most from that of the others; None where none surely does.

    Its change m'_s − b_s is held against the share-weighted one of the others, in standard errors
    of the difference: at least 2.5, and at most one in twenty times by chance over all segments
    (Bonferroni). Whichever segment contributes most is the largest one where all change alike.

    The errors are those of segments that are alike: of three scores that happen to be 1 the own
    spread is none. ``dependence`` is by how much answers that belong together (V) widen variances;
    a segment of fewer than five independent scores is not named.

    >>> from dataclasses import replace
    >>> big = Shift("acme", 0.5, 0.5, 0.1, 0.4, 0.15, 0.02, 0.0, alike=0.04)
    >>> small = Shift("globex", 0.5, 0.5, 0.1, 0.4, 0.15, 0.03, 0.0, alike=0.06)
    >>> standing_out([big, small]) is None
    True
    >>> found = standing_out([big, replace(small, now=0.9, within=0.4)])
    >>> found.segment, found.before, found.now, found.others_before, found.others_now
    ('globex', 0.1, 0.9, 0.1, 0.4)
    >>> standing_out([big, replace(small, now=0.9, within=0.4)], dependence=49.0) is None
    True
    """
    scored = [shift for shift in segments if shift.now is not None and shift.share > 0.0]
    if len(scored) < 2:
        return None
    enough = [shift for shift in scored if shift.n >= _LEAST_SCORED * dependence]
    found = max(
        (_held_against(one, scored, dependence) for one in enough),
        key=lambda each: each.z,
        default=None,
    )
    if found is None:
        return None
    level = _STANDS_OUT_LEVEL / (2 * len(scored))
    return found if found.z >= max(_STANDS_OUT, NormalDist().inv_cdf(1.0 - level)) else None


def _held_against(one: Shift, scored: Sequence[Shift], dependence: float) -> StandsOut:
    others = [shift for shift in scored if shift is not one]
    share = math.fsum(shift.share for shift in others)
    before = math.fsum(shift.share * shift.before for shift in others) / share
    change = math.fsum(shift.within for shift in others) / share
    error = math.hypot(*(shift.share * shift.alike for shift in others)) / share
    difference = one.within / one.share - change
    spread = math.hypot(one.alike, error) * math.sqrt(dependence)
    z = difference / max(spread, _LEAST_ERROR)
    now = one.before + one.within / one.share
    return StandsOut(one.segment, one.before, now, before, before + change, z)


def split(
    before: Mapping[str, Sums], since: Mapping[str, Sums], normal: Callable[[str], float] | None
) -> Split | None:
    """Split the change over the segments; None when nothing was scored since.

    ``normal`` gives b_s where ``before`` is not enough to go by, and is None where it is.

    >>> from monitor.stats.sums import segment_terms
    >>> good, bad = (segment_terms(1, 1.0, 1.0, x, failed=False) for x in (0.0, 1.0))
    >>> before = {"a": good.plus(good).plus(good).plus(bad), "b": good.plus(good)}
    >>> before["b"] = before["b"].plus(before["b"])
    >>> found = split(before, {"a": bad.plus(good), "b": good.plus(good)}, None)
    >>> found.before, found.now, found.mix, found.within, found.segments[0].segment
    (0.125, 0.25, 0.0, 0.125, 'a')
    """
    scored_since = _total(since)
    scored_before = _total(before)
    if scored_since.wh <= 0 or (normal is None and scored_before.wh <= 0):
        return None
    usual = normal or _means(before, scored_before)
    shares = None if normal else {name: _part(sums, scored_before) for name, sums in before.items()}
    variance = _variance([*before.values(), *since.values()])
    alike = (_variance_within({} if normal else before), _variance_within(since))
    names = sorted({*since, *(shares or {})})
    mean = _mean_before(shares, since, scored_since, usual)
    shifts = [
        _shift(
            name,
            None if shares is None else shares.get(name, Fraction(0)),
            (since.get(name, ZERO), scored_since),
            (ZERO if normal else before.get(name, ZERO), Fraction(usual(name)), mean),
            variance,
            alike,
        )
        for name in names
    ]
    return _ordered(mean, scored_since, shifts, shares is not None)


_ExactShift = tuple[Shift, Fraction, Fraction]


def _ordered(mean: Fraction, since: Sums, shifts: list[_ExactShift], mixed: bool) -> Split:
    ranked = sorted((shift for shift, _, _ in shifts), key=lambda s: (-s.surely, s.segment))
    return Split(
        before=float(mean),
        now=float(Fraction(since.wg, since.wh)),
        mix=float(sum(mix for _, mix, _ in shifts)) if mixed else None,
        within=float(sum(within for _, _, within in shifts)),
        segments=tuple(ranked),
    )


def _shift(
    name: str,
    share_before: Fraction | None,
    since: tuple[Sums, Sums],
    usual: tuple[Sums, Fraction, Fraction],
    variance: float,
    alike: tuple[float, float],
) -> _ExactShift:
    """One segment: its sums and those of all since; its sums, b_s and the mean of all before.

    ``alike`` is the variance of a score, before and since, in a segment like all others.
    """
    sums, everything = since
    reference, before, mean = usual
    share = _part(sums, everything)
    now = Fraction(sums.wg, sums.wh) if sums.wh > 0 else None
    within = share * (now - before) if now is not None else Fraction(0)
    mix = None if share_before is None else (share - share_before) * (before - mean)
    error = math.hypot(_error(sums, variance), _error(reference, variance))
    shift = Shift(
        segment=name,
        share_before=None if share_before is None else float(share_before),
        share=float(share),
        before=float(before),
        now=None if now is None else float(now),
        within=float(within),
        error=float(share) * error,
        mix=None if mix is None else float(mix),
        alike=math.hypot(_spread(reference, alike[0]), _spread(sums, alike[1])),
        n=sums.wh**2 / (sums.w2h2 * 2.0**40) if sums.w2h2 > 0 else 0.0,
    )
    return shift, mix or Fraction(0), within


def _mean_before(
    shares: Mapping[str, Fraction] | None,
    since: Mapping[str, Sums],
    scored_since: Sums,
    usual: Callable[[str], float | Fraction],
) -> Fraction:
    if shares is None:
        shares = {name: _part(sums, scored_since) for name, sums in since.items()}
    return sum((share * Fraction(usual(name)) for name, share in shares.items()), Fraction(0))


def _means(before: Mapping[str, Sums], everything: Sums) -> Callable[[str], Fraction]:
    mean = Fraction(everything.wg, everything.wh)

    def usual(name: str) -> Fraction:
        sums = before.get(name, ZERO)
        return Fraction(sums.wg, sums.wh) if sums.wh > 0 else mean

    return usual


def _error(sums: Sums, variance: float) -> float:
    """The standard error of a segment's mean; 0 without a score (there is nothing to be wrong)."""
    if sums.wh <= 0:
        return 0.0
    extra = _PSEUDO * variance * sums.w2h2 / max(1, sums.scored)
    return math.sqrt((_squares(sums) + extra) * 2.0**40) / sums.wh


def _spread(sums: Sums, variance: float) -> float:
    """The standard error of a segment's mean at the variance of one score; 0 without a score."""
    return math.sqrt(variance * sums.w2h2 * 2.0**40) / sums.wh if sums.wh > 0 else 0.0


def _variance_within(parts: Mapping[str, Sums]) -> float:
    """The variance of a score in its segment, with a degree of freedom less for each of them."""
    scored = [sums for sums in parts.values() if sums.scored]
    number = sum(sums.scored for sums in scored)
    free = number - len(scored)
    # Where each has one there is nothing to go by: the spread of all of them is more.
    if free <= 0:
        return _variance([_total(parts)])
    return _variance(scored) * number / free


def _variance(every: list[Sums]) -> float:
    """Σe²/Σ(WH)² over all segments, before and since: the variance of a score in its segment."""
    weight = sum(sums.w2h2 for sums in every)
    return math.fsum(_squares(sums) for sums in every) / weight if weight > 0 else 0.0


def _squares(sums: Sums) -> float:
    """Σ(WG − m·WH)² in the unit of the sums."""
    if sums.wh <= 0:
        return 0.0
    m = sums.wg / sums.wh
    return max(0.0, sums.w2g2 - 2.0 * m * sums.w2gh + m * m * sums.w2h2)


def _part(sums: Sums, everything: Sums) -> Fraction:
    return Fraction(sums.wh, everything.wh)


def _total(parts: Mapping[str, Sums]) -> Sums:
    return functools.reduce(Sums.plus, parts.values(), ZERO)
