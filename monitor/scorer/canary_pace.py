"""When it is a model's turn to be asked about a canary."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from monitor.stats.guessing import Guessing

#: At a start, and while a judge guesses, so many times as many canaries are asked. Twice as many
#: where a few more decide: in doubt, in a new search with other examples, before a return. It takes
#: the same number of them.
QUICKER: Final = 25
#: The first comes after this part of the judgements to one canary.
FIRST: Final = 6
#: Answers that make a start no start any more; and attempts, where none comes.
KNOWN, TRIED = 4, 12
#: What is turned away passes faster than canaries do: so many are made up for, enough for a return.
MADE_UP: Final = 20


class CanaryPace:
    """The canaries of one model: one in ``every`` judgements, more at its start and in doubt.

    One in as many judgements of others, while it judges none and there is something to find out.
    """

    def __init__(self, every: int) -> None:
        self._every, self._known, self._tried = every, 0, 0
        self._due = 1 - Fraction(max(1, every // FIRST), every)
        self._has_begun = self._begins_anew = False

    @property
    def is_due(self) -> bool:
        """Whether it is time for a canary."""
        return self._due >= 1

    def judged(self, state: Guessing) -> None:
        """The model has judged one more interaction, or been turned away from it."""
        self._pass(self._pause(state))

    def waited(self) -> None:
        """Another one has, and of this one there is something to find out."""
        self._pass(self._every)

    def begin(self) -> None:
        """A canary is asked."""
        self._due -= 1
        self._has_begun = True

    def heard(self, state: Guessing) -> None:
        """A canary has said something, which led to this state."""
        self._known += 1
        self._due = min(self._due, self._most(self._pause(state)))

    def ended(self) -> None:
        """A canary has ended, however."""
        self._tried += 1

    def start(self, *, anew: bool = False) -> None:
        """From here on nothing is known of the model; ``anew``: since it is asked otherwise."""
        self._known, self._tried, self._has_begun = 0, 0, True
        self._begins_anew = self._begins_anew or anew

    def _pass(self, pause: int) -> None:
        self._due = min(self._due + Fraction(1, pause), self._most(pause))

    def _most(self, pause: int) -> Fraction:
        """That may be due: none is left over from a doubt that has ended."""
        return Fraction(1 if pause == self._every else MADE_UP)

    def _pause(self, state: Guessing) -> int:
        starts = self._has_begun and self._known < KNOWN and self._tried < TRIED
        if state.is_doubtful or state.may_be_back or (starts and self._begins_anew):
            return max(1, self._every // (2 * QUICKER))
        return max(1, self._every // QUICKER) if starts or state.is_guessing else self._every
