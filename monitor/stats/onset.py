"""When did it become worse, and well again? The estimated start of a change, and of its end.

The evidence is a sum over possible starts: each adds the product of the factors since, which is
how much better the slots are explained by a change there than by none (Shiryaev–Roberts). The
estimate is the median of that sum: half of the evidence is for an earlier start, half for a later
one. The most likely start, which is CUSUM's, lies as close to the true one, but right before the
worst slots: what is then measured since is exaggerated about twice as much (benchmark
``what_changed.py``). A long row of slots at its beginning that are no worse than normal is left
out: where worse is next to never normal, dozens of them cost the evidence nothing. Evidence that
was scaled down at the ceiling counts as scaled down, so that a change long over is not taken for
the start of this one.

A small change is found late, and its start then often far too late. So what was normal is told from
fewer slots than those before the estimate: of those for whose starts there is little evidence. And
what the mean changed to is told from more than those since: from all with any to speak of.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final, NamedTuple

from monitor.stats.drift import BETS, NO_EVIDENCE, Deviation, after, ceiling

_BETS: Final = range(len(BETS))
#: Slots in a row that a change would not begin with.
LONG_ROW: Final = 8
#: Of the evidence, for starts before a slot: of those before the estimated start, and before what
#: may belong to the change.
HALF, LITTLE = 0.5, 0.1
#: And before what it may begin with at all.
NEXT_TO_NONE: Final = 0.005


class Onset(NamedTuple):
    """Slots before ``first`` come before the estimated start, those before ``earliest`` surely.

    Next to no evidence is for starts before ``possible``.
    """

    earliest: int
    first: int
    possible: int


def onset(
    deviations: Iterable[Deviation], threshold: float, dependence: float = 1.0
) -> Onset | None:
    """Which of the deviations, in their order, is the first of the change; None without one.

    ``threshold`` is A, ``dependence`` V.

    >>> quiet, worse = Deviation(-0.125, 0.125), Deviation(0.5, 0.125)
    >>> onset([quiet] * 20 + [worse] * 12, 1e4)
    Onset(earliest=17, first=20, possible=13)
    >>> never, always = Deviation(-0.005, 0.005), Deviation(0.995, 0.005)
    >>> onset([never] * 100 + [always] * 9, 1e6).first
    100
    >>> onset([quiet], 1e4), onset([], 1e4)
    (Onset(earliest=0, first=0, possible=0), None)
    """
    evidence = NO_EVIDENCE
    #: All steps, one behind the other: a day of slots in a few megabytes.
    steps, worse, starts = array("d"), bytearray(), bytearray()
    for deviation in deviations:
        evidence = after(evidence, deviation, threshold, dependence)
        steps.extend(evidence.bets)
        worse.append(deviation.by > 0.0)
        starts.append(deviation.starts > 0.0)
    if not steps:
        return None
    median, earliest, possible = _cuts(steps, starts)
    first = worse.find(True, median)
    return Onset(earliest, first if first - median >= LONG_ROW else median, possible)


def recovery(deviations: Iterable[Deviation], threshold: float, dependence: float = 1.0) -> int:
    """How many of the deviations of an alarm, in their order, come before its recovery.

    Evidence falls from then on: those up to the last at which it stood highest. While a change
    lasts it stands near its ceiling, time and again.

    >>> quiet, worse = Deviation(-0.125, 0.125), Deviation(0.5, 0.125)
    >>> recovery([worse] * 40 + [quiet] * 12, 1e4)
    40
    """
    evidence, highest, before = NO_EVIDENCE, 0.0, 0
    for number, deviation in enumerate(deviations, 1):
        evidence = after(evidence, deviation, threshold, dependence)
        if (reached := min(evidence.reached, ceiling(threshold))) >= highest:
            highest, before = reached, number
    return before


def _cuts(steps: array[float], starts: bytearray) -> tuple[int, int, int]:
    """The last slots before whose starts less than half, a tenth … of the evidence began.

    What began before a slot stands in the evidence R_L before it, times the factors since.
    """
    here = len(steps) // len(BETS) - 1
    now = _at(steps, here)
    total, since, cuts = sum(now), [1.0] * len(BETS), list[int]()
    for share in (HALF, LITTLE, NEXT_TO_NONE):
        while here > 0:
            before = _at(steps, here - 1)
            # Where nothing was there before, and nothing started, there is nothing of before.
            then = [since[i] * now[i] / ((starts[here] + before[i]) or 1.0) for i in _BETS]
            if sum(before[i] * then[i] for i in _BETS) < share * total:
                break
            here, now, since = here - 1, before, then
        cuts.append(here)
    median, earliest, possible = cuts
    return median, earliest, possible


def _at(steps: array[float], index: int) -> array[float]:
    return steps[index * len(BETS) : (index + 1) * len(BETS)]
