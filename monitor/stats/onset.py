"""When did it become worse? The estimated start of a change, and where the alarm was crossed.

The evidence is a sum over possible starts: each adds the product of the factors since, which is
how much better the slots are explained by a change there than by none (Shiryaev–Roberts). The
estimate is the median of that sum: half of the evidence is for an earlier start, half for a later
one. The most likely start, which is CUSUM's, lies as close to the true one, but right before the
worst slots: what is then measured since is exaggerated about twice as much (benchmark
``what_changed.py``). A long row of slots at its beginning that are no worse than normal is left
out: where worse is next to never normal, dozens of them cost the evidence nothing. Evidence that
was scaled down at the ceiling counts as scaled down, so that a change long over is not taken for
the start of this one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final, NamedTuple

from monitor.stats.drift import BETS, NO_EVIDENCE, BetEvidence, Deviation, after, combined

_BETS: Final = range(len(BETS))
#: Slots in a row that a change would not begin with.
LONG_ROW: Final = 8


class Course(NamedTuple):
    """What the evidence went through; both are indices into the deviations.

    ``onset`` is the first slot that belongs to the change. ``crossed`` is the slot with which the
    evidence came to the threshold for good; None while it is below.
    """

    onset: int
    crossed: int | None


def course(deviations: Iterable[Deviation], threshold: float) -> Course | None:
    """Onset and crossing over the deviations in their order; None without one.

    ``threshold`` is A.

    >>> quiet, worse = Deviation(-0.125, 0.125), Deviation(0.5, 0.125)
    >>> course([quiet] * 20 + [worse] * 12, 1e4)
    Course(onset=20, crossed=28)
    >>> never, always = Deviation(-0.005, 0.005), Deviation(0.995, 0.005)
    >>> course([never] * 100 + [always] * 9, 1e6)
    Course(onset=100, crossed=107)
    >>> course([quiet], 1e4), course([], 1e4)
    (Course(onset=0, crossed=None), None)
    """
    evidence: BetEvidence = NO_EVIDENCE
    crossed: int | None = None
    #: All steps, one behind the other: a day of slots in a few megabytes.
    steps, worse = array("d"), bytearray()
    for index, deviation in enumerate(deviations):
        evidence = after(evidence, deviation, threshold)
        steps.extend(evidence)
        worse.append(deviation.by > 0.0)
        if combined(evidence) < threshold:
            crossed = None
        elif crossed is None:
            crossed = index
    if not steps:
        return None
    median = _median(steps)
    first = worse.find(True, median)
    return Course(first if first - median >= LONG_ROW else median, crossed)


def _median(steps: array[float]) -> int:
    """The last slot before whose start less than half of the evidence began.

    What began before a slot stands in the evidence R_L before it, times the factors since.
    """
    here = len(steps) // len(BETS) - 1
    now = _at(steps, here)
    half = sum(now) / 2.0
    since = [1.0] * len(BETS)
    while here > 0:
        before = _at(steps, here - 1)
        since = [since[i] * now[i] / (1.0 + before[i]) for i in _BETS]
        if sum(before[i] * since[i] for i in _BETS) < half:
            break
        here, now = here - 1, before
    return here


def _at(steps: array[float], index: int) -> array[float]:
    return steps[index * len(BETS) : (index + 1) * len(BETS)]
