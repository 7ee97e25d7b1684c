"""What in a column of scores deserves a look before its mean is believed. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from monitor.evaluate.column import ColumnStatistics


class RiskLimits(NamedTuple):
    """Beyond which a sign shows.

    ``skew`` is of |mean − median|. A score beyond ``bad``, in the direction that is worse, is bad;
    ``bad_share`` is how many may be. Where more is better the bound is 1 − ``bad``.
    """

    skew: float = 0.1
    deviation: float = 0.3
    bad: float = 0.5
    bad_share: float = 0.2


class RiskSign(NamedTuple):
    """One sign: its name, its value, the limit that it is beyond, and what it means."""

    name: str
    value: float
    limit: float
    meaning: str


def risk_signs(
    scores: Sequence[float],
    found: ColumnStatistics,
    higher_is_better: bool | None,
    limits: RiskLimits,
    *,
    two_valued: bool = False,
) -> Iterator[RiskSign]:
    """The signs that a column shows; ``found`` is what ``described`` says of it.

    Of a ``two_valued`` metric mean, median and deviation are one fact, so only its share is looked
    at.

    >>> from monitor.evaluate.column import described
    >>> scores = [0.0, 0.0, 0.0, 1.0, 0.0]
    >>> [(sign.name, round(sign.value, 3)) for sign in
    ...  risk_signs(scores, described(scores), False, RiskLimits())]
    [('skew', 0.2), ('deviation', 0.447)]
    >>> scores = [0.6] * 3 + [0.4] * 2
    >>> [sign[:3] for sign in risk_signs(scores, described(scores), False, RiskLimits())]
    [('bad_share', 0.6, 0.2)]
    >>> bits = [1.0] * 3 + [0.0] * 2
    >>> [sign.name for sign in
    ...  risk_signs(bits, described(bits), True, RiskLimits(), two_valued=True)]
    ['bad_share']
    >>> [sign[:3] for sign in risk_signs(scores, described(scores), True, RiskLimits())]
    [('bad_share', 0.4, 0.2)]
    """
    skew = abs(found.mean - found.median)
    if skew > limits.skew and not two_valued:
        yield RiskSign("skew", skew, limits.skew, "mean and median differ: few rows decide")
    spread = None if two_valued else found.deviation
    if spread is not None and spread > limits.deviation:
        meaning = "rows differ much: look at them one by one"
        yield RiskSign("deviation", spread, limits.deviation, meaning)
    if higher_is_better is None:
        return
    bound = 1.0 - limits.bad if higher_is_better else limits.bad
    bad = sum(score < bound if higher_is_better else score > bound for score in scores)
    share = bad / len(scores)
    if share > limits.bad_share:
        side = "below" if higher_is_better else "above"
        meaning = f"{bad:,} of {len(scores):,} rows are {side} {bound:g}"
        yield RiskSign("bad_share", share, limits.bad_share, meaning)
