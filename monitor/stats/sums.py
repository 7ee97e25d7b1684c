"""What one slot adds to the sums of a series, as integers.

A slot is a group of m interactions of which one was picked and judged; it was sampled with
probability q, and u is 1 / (m × the probability of the pick). x is the value of the pick with
larger meaning worse, a = 1 when it has one, else 0 (x := 0). W = m/q weighs the slot.

Integers, because sums of floats depend on the order of adding: round(v·2^40) per slot and term
gives the same bits in any order of adding and taking away.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Final, NamedTuple

SCALE: Final = 2**40
ENOUGH_SCORED: Final = 500
"""Scored slots of a horizon below which it says nothing of how scores spread."""
_SCALE_F: Final = float(SCALE)
_made = tuple.__new__
_FEW: Final = 2


class Sums(NamedTuple):
    """Sums over slots: every field but ``scored`` in units of 2^-40.

    ``w_failed`` is ΣW over picks whose judgement failed; ``scored`` counts the slots whose pick
    has a value.
    """

    w: int
    w_failed: int
    w2: int
    wg: int
    wh: int
    w2g2: int
    w2gh: int
    w2h2: int
    scored: int

    def plus(self, other: Sums) -> Sums:
        """The sum, field by field (``+`` would put the two tuples one behind the other).

        >>> one = terms(m=1, q=0.5, u=1.0, f_mean=0.0, f=0.0, value_as_worse=1.0, failed=False)
        >>> one.plus(one).w == 4 * SCALE, one.plus(one).scored
        (True, 2)
        """
        w, w_failed, w2, wg, wh, w2g2, w2gh, w2h2, scored = self
        o_w, o_w_failed, o_w2, o_wg, o_wh, o_w2g2, o_w2gh, o_w2h2, o_scored = other
        # Written out, this takes half the time of a loop, and nothing is done more often.
        return _made(
            Sums,
            (
                w + o_w,
                w_failed + o_w_failed,
                w2 + o_w2,
                wg + o_wg,
                wh + o_wh,
                w2g2 + o_w2g2,
                w2gh + o_w2gh,
                w2h2 + o_w2h2,
                scored + o_scored,
            ),
        )

    def minus(self, other: Sums) -> Sums:
        """What is left when ``other`` is taken away.

        >>> one = terms(m=3, q=1.0, u=1.0, f_mean=0.0, f=0.0, value_as_worse=0.1, failed=False)
        >>> one.minus(one) == ZERO
        True
        """
        return _made(Sums, map(operator.sub, self, other))


ZERO: Final = Sums(0, 0, 0, 0, 0, 0, 0, 0, 0)


def added_up(parts: Sequence[Sums]) -> Sums:
    """The sum of all; of three and more in less time than one by one.

    >>> one = terms(m=1, q=0.5, u=1.0, f_mean=0.0, f=0.0, value_as_worse=1.0, failed=False)
    >>> added_up([one] * 3) == one.plus(one).plus(one), added_up([]) == ZERO
    (True, True)
    """
    if len(parts) > _FEW:
        return _made(Sums, map(sum, zip(*parts, strict=True)))
    total = parts[0] if parts else ZERO
    for part in parts[1:]:
        total = total.plus(part)
    return total


def as_worse(score: float, higher_is_better: bool | None) -> float:
    """The score with larger meaning worse; its own inverse.

    >>> as_worse(0.75, higher_is_better=True), as_worse(0.75, higher_is_better=None)
    (0.25, 0.75)
    """
    return 1.0 - score if higher_is_better else score


def terms(
    m: int,
    q: float,
    u: float,
    f_mean: float,
    f: float,
    value_as_worse: float | None,
    failed: bool,
) -> Sums:
    """The terms of one slot: G = f̄ + u·(a·x − f), H = 1 − u·(1 − a).

    ``f_mean`` and ``f`` are what the risk signal expected, on average over the slot and for the
    pick (both 0 without a calibration). Averaged over the picks that could have been made, G is the
    mean of a·x over the slot and H the mean of a, whatever the expectations are worth.

    >>> half = terms(m=4, q=0.5, u=1.0, f_mean=0.0, f=0.0, value_as_worse=0.5, failed=False)
    >>> [total / SCALE for total in half[:8]], half.scored
    ([8.0, 0.0, 64.0, 4.0, 8.0, 16.0, 32.0, 64.0], 1)
    """
    if value_as_worse is None:
        return _slot(m / q, f_mean - u * f, 1.0 - u, failed, 0)
    return _slot(m / q, f_mean + u * (value_as_worse - f), 1.0, failed, 1)


def segment_terms(
    m: int,
    q: float,
    u: float,
    value_as_worse: float | None,
    failed: bool,
) -> Sums:
    """The terms of one slot for the segment that its pick lies in: G = u·a·x, H = u·a.

    >>> one = segment_terms(m=2, q=1.0, u=0.5, value_as_worse=1.0, failed=False)
    >>> one.w / SCALE, one.wg / SCALE, one.wh / SCALE
    (2.0, 1.0, 1.0)
    """
    if value_as_worse is None:
        return _slot(m / q, 0.0, 0.0, failed, 0)
    return _slot(m / q, u * value_as_worse, u, failed, 1)


def _slot(w: float, g: float, h: float, failed: bool, scored: int) -> Sums:
    wg, wh = w * g, w * h
    weight = round(w * _SCALE_F)
    return _made(
        Sums,
        (
            weight,
            weight if failed else 0,
            round(w * w * _SCALE_F),
            round(wg * _SCALE_F),
            round(wh * _SCALE_F),
            round(wg * wg * _SCALE_F),
            round(wg * wh * _SCALE_F),
            round(wh * wh * _SCALE_F),
            scored,
        ),
    )
