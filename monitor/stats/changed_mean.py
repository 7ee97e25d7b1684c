"""What did the mean change to? Told at the alarm, from the scores that raised it.

An alarm comes where it looks worst: the mean of the scores since the estimated start is
overstated, of small changes most, for they are found in their worst stretch. How much, the size of
the evidence does not tell: it is about the same at every alarm. So the estimate is Bayes', which
when one stops to look does not bias (Berger and Wolpert 1988, the stopping rule principle): each
possible start and each worse mean count by how well they explain the scores, against nothing having
changed. That is the mixture of Shiryaev and Roberts over likelihoods, in the place of bets. Starts
for which the bets have next to no evidence do not count: what is tolerated for days explains a
thousand scores better than a change explains fifty.

Any start is as likely as another, as in the evidence. A change by δ has the density δ^-1.6: a large
one is rarer. (δ^-1 favours no order of magnitude, and tells ×1.5 too large; δ^-2 tells ×3 too small
by a tenth. Found on other means, streams and seeds than those of the benchmark
``what_it_rose_to.py``, which chose between two settings.)

Where an alarm needs little evidence, the scores say less against changes too small to be seen, and
such a prior tells all others too small: ×3 by two fifths at a threshold of 1,300. So it is the
flatter, the lower the threshold is. To leave out what a false alarm would forestall, as needing
more scores than the threshold, does worse: ×1.5 is then told by half too large. No prior that we
tried tells both ×1.5 and ×3 within 15 % there: they look too much alike.

The likelihood is binomial, to the power of how many trials a score is worth (a quasi-likelihood;
McCullagh and Nelder 1989, chapter 9).
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

#: The density of a change by δ is δ to the power of −1.6, from such a threshold on.
_RARER: Final = 1.6
_ENOUGH: Final = 10_000.0
#: With a tenth of that threshold the power is less by so much, but not less than 1, with which no
#: order of magnitude is rarer than another.
_FLATTER, _AS_RARE = 1 / 3, 1.0
#: Of p(1 − p), p the usual mean: a change of the odds by a twentieth is the least.
_LEAST_CHANGE: Final = 0.05
#: Cells of log δ, each with the likelihood of its middle.
_CELLS: Final = 80
#: Of what is likely, below the value and the two ends of the interval.
_SHARES: Final = 0.5, 0.025, 0.975
#: A usual mean that nothing can exceed, or that is never wrong, would explain nothing.
_LEAST, _MOST = 1e-3, 0.999
#: Of starts so far back and further every second, fourth … is looked at.
_EACH: Final = 128


class ChangedMean(NamedTuple):
    """Half of what is likely lies below ``value``; the interval holds 95 % of it."""

    value: float
    lower: float
    upper: float


class _Start(NamedTuple):
    """Number and sum of the scores since; ``weight`` is how many starts it stands for."""

    number: int
    total: float
    weight: int


def changed_mean(
    scores: Sequence[float], usual: float, trials: float, threshold: float
) -> ChangedMean:
    """The mean since some of the scores, in their order; larger is worse, and it became worse.

    ``usual`` is what it was before, ``trials`` how many independent answers, right or wrong, tell
    as much as one score, ``threshold`` is A, which the evidence reached.

    >>> scores = [0.0, 0.0, 0.0, 0.5] * 20 + [0.5] * 12
    >>> [round(one, 2) for one in changed_mean(scores, 0.125, 2.0, 25_200.0)]
    [0.4, 0.15, 0.63]
    >>> [round(one, 2) for one in changed_mean(scores, 0.125, 2.0, 1_300.0)]
    [0.42, 0.18, 0.64]
    >>> [round(one, 2) for one in changed_mean([0.0, 0.5] * 100, 0.125, 2.0, 25_200.0)]
    [0.24, 0.2, 0.29]
    """
    before = min(max(usual, _LEAST), _MOST)
    starts, rarer = _starts(scores), _rarer(threshold)
    least, most = math.log(_LEAST_CHANGE * before * (1.0 - before)), math.log(1.0 - before)
    likely = list[float]()
    for cell in range(_CELLS):
        change = math.exp(least + (most - least) * (cell + 0.5) / _CELLS)
        prior = (1.0 - rarer) * math.log(change)
        likely.append(prior + _log_likelihood(starts, before, before + change, trials))
    highest = max(likely)
    sums = [0.0, *itertools.accumulate(math.exp(one - highest) for one in likely)]
    edges = [before + math.exp(least + (most - least) * i / _CELLS) for i in range(_CELLS + 1)]
    value, lower, upper = (_where(sums, share * sums[-1], edges) for share in _SHARES)
    return ChangedMean(value, lower, min(1.0, upper))


def _rarer(threshold: float) -> float:
    """The power of the prior.

    >>> [round(_rarer(a), 2) for a in (1.8e6, 1e4, 5_000.0, 1_300.0, 420.0, 1.0)]
    [1.6, 1.6, 1.5, 1.3, 1.14, 1.0]
    """
    flatter = _FLATTER * math.log10(_ENOUGH / max(1.0, threshold))
    return min(_RARER, max(_AS_RARE, _RARER - flatter))


def _starts(scores: Sequence[float]) -> list[_Start]:
    """The possible starts from the last one back, thinned out evenly by their distance.

    A score above 1, of a pick that stands for others, weighs as much as its value: no mean is above
    1. But all scores together tell no more than so many do; else a single one, which is just what
    raises an alarm, would tell of a mean of 1.
    """
    found, worth, total, step = list[_Start](), 0.0, 0.0, 1
    for number, score in enumerate(reversed(scores), 1):
        worth += max(1.0, score)
        total += score
        if number % step == 0:
            found.append(_Start(number, total * (number / worth), step))
            if number == step * _EACH:
                step *= 2
    return found


def _log_likelihood(starts: Sequence[_Start], before: float, mean: float, trials: float) -> float:
    """The log of the sum over the starts of the likelihood, over that of no change."""
    wrong = trials * math.log(mean / before)
    right = trials * math.log((1.0 - mean) / (1.0 - before))
    logs = [wrong * total + right * (number - total) for number, total, _ in starts]
    highest = max(logs)
    added = math.fsum(
        start.weight * math.exp(one - highest) for start, one in zip(starts, logs, strict=True)
    )
    return highest + math.log(added)


def _where(sums: Sequence[float], wanted: float, edges: Sequence[float]) -> float:
    """The edge at which the sum is as wanted, on the line between two of them."""
    above = max(1, bisect_left(sums, wanted))
    low, high = sums[above - 1], sums[above]
    share = (wanted - low) / (high - low)
    return edges[above - 1] + share * (edges[above] - edges[above - 1])
