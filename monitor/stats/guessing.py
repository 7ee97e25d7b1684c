"""Does a judge judge, or does it guess? A sequential test on interactions with known answers. Pure.

X is the share of right verdicts of one canary. While the mean of X given the past is at least
``USEFUL``, 1 + λ·(USEFUL − X) with λ < 1/(1 − USEFUL) is an e-value: a bet that the judge is not
useful (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B
86 (2024) 1–27). That holds for every distribution, however the verdicts of one canary depend on
each other. The product starts anew from 1 where it falls below (Page's CUSUM). So it is at most the
e-SR detector of Shin, Ramdas and Rinaldo ("E-detectors", 2022), whose expected value after n
canaries is at most n. It reaches ``THRESHOLD`` within n canaries with a probability of at most
n/``THRESHOLD``, looked at after every one: at one canary in 50 judgements, and some more where a
verdict was wrong, that is 0.5 % in 10,000 judgements.

A judge that is worse than useful, but no guesser, is left alone: the 95 % interval of what it got
right since the evidence began to grow must not lie above ``CHANCE``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from monitor.stats.clustered import Estimated, proportion

#: Share of right verdicts on canaries that no useful judge falls below, on average.
USEFUL: Final = 0.9
BET: Final = 6.0
#: Evidence that a judge is not useful, from which on it may be called guessing.
THRESHOLD: Final = 1e5
#: From which on it is shown more examples first, where it may be. Of errors in 5 of 100 verdicts
#: none of 400 simulated judges came to it within 200 canaries; of errors in 10 of 100 a fifth did.
NEEDS_EXAMPLES: Final = 1e2
CHANCE: Final = 0.5
#: What a guesser gets right, on average, is no more than this; and the bet that a judge beats it.
GUESSED: Final = 0.6
RETURN_BET: Final = 1.5
#: Evidence that it judges again. A guesser reaches it within n canaries with probability ≤ n/1000.
RETURNED: Final = 1e3
#: From which on it may be back: a guesser comes to it one time in four.
MAYBE_BACK: Final = 4.0
#: Latest canaries of a doubt that the interval is taken over.
LATEST: Final = 50
#: Canaries in which a doubt is to be resolved; one that lasts longer is in no hurry.
SOON: Final = 24


@dataclass(frozen=True, slots=True)
class Guessing:
    """What is known of a judge. ``evidence`` is that it is not useful.

    ``since``: (right, asked) of the canaries since that began to grow. ``back``: the evidence that
    a guesser judges again.
    """

    evidence: float = 1.0
    since: tuple[tuple[int, int], ...] = ()
    back: float = 1.0
    is_guessing: bool = False

    @property
    def is_doubtful(self) -> bool:
        """Whether a few more canaries would decide it."""
        return 0 < len(self.since) < SOON and self.evidence < THRESHOLD

    @property
    def may_be_back(self) -> bool:
        """Whether a guesser seems to judge again, and a few more canaries would say so."""
        return self.is_guessing and self.back >= MAYBE_BACK

    @property
    def accuracy(self) -> Estimated:
        """Share of right verdicts since the doubt began, with its 95 % interval."""
        return proportion([right for right, _ in self.since], [asked for _, asked in self.since])


def after(before: Guessing, right: int, asked: int) -> Guessing:
    """What is known after one more canary, of which so many verdicts are right; ``asked`` ≥ 1.

    >>> after(Guessing(), 4, 4) == Guessing()
    True
    >>> round(after(Guessing(), 2, 4).evidence, 3)
    3.4
    """
    share, since = right / asked, (*before.since, (right, asked))[-LATEST:]
    if before.is_guessing:
        back = max(1.0, before.back) * (1.0 + RETURN_BET * (share - GUESSED))
        return Guessing() if back >= RETURNED else replace(before, since=since, back=back)
    evidence = before.evidence * (1.0 + BET * (USEFUL - share))
    if evidence <= 1.0:
        return Guessing()
    # It grows no further, so that doubt about a judge that was weak, and mends, can end.
    found = Guessing(min(evidence, THRESHOLD), since)
    if evidence < THRESHOLD:
        return found
    lower = found.accuracy.lower
    return replace(found, is_guessing=lower is not None and lower <= CHANCE)
