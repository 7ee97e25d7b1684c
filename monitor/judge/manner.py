"""In which manner a model is asked: the cheapest that it keeps to."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable
from contextvars import ContextVar
from enum import IntEnum
from functools import partial
from typing import Final, Literal

Examples = Literal["fixed", "shaped", "auto"]

#: With the fixed example a first reply that is refused counts so much, one that is read takes one
#: back, and so much asks for another. Six in a row come to it, and of a model that breaks one in
#: twenty not one in thousands: it would be another judge at a random hour, after each restart anew
#: (``tests/benchmarks/manner_changes.py``).
_REFUSED_COUNTS: Final = 5
_ASKS: Final = 30
#: ``auto`` goes on from ``SHAPED`` once so many of so many latest first replies were refused.
_REFUSED: Final = 5
_OF: Final = 20
#: Claims asked alone, and read each time, that show that this helps.
_ALONE: Final = 20
#: With so many a trial is over that has shown nothing: nobody asks about several claims any more,
#: or of the shape that is on trial so seldom that it is not worth another manner for all.
_MOST_ALONE: Final = 120
_MOST_ALONE_OF_ALL: Final = 5 * _MOST_ALONE
#: After a trial in vain so many replies about several claims pass before the next, then twice as
#: many, and so on up to a thousand times: a judge is not two judges for a good part of its time.
_PAUSE: Final = 40
_LONGEST_PAUSE: Final = 1_000 * _PAUSE
#: All requests together.
_ANY: Final = ""
#: Whose turns they are: with a canary or a recheck for each interaction, traffic would have all of
#: its turns in one manner, and those in the other.
WHOSE_TURN: Final = ContextVar("WHOSE_TURN", default="traffic")


class Manner(IntEnum):
    """From the cheapest to what the smallest models need; each has what the one before it has."""

    FIXED = 0
    """With the examples of the instructions alone."""
    SHAPED = 1
    """With turns of the very shape that is asked."""
    ONE_CLAIM = 2
    """And verified claim by claim: no reply has several lines to keep apart."""


class MannerChoice:
    """The manner in which the models of a judge are asked.

    ``fixed`` and ``shaped`` stay what they are. ``auto`` begins as ``fixed``, and goes on for good
    to the next manner when the model needs it; ``report`` is called then. Larger models hardly need
    it, and it costs tokens. One claim a call costs most, and a provider in trouble spoils replies
    about one claim, too. So there is a trial first, of which ``report_trial`` tells: every second
    interaction is asked about claim by claim, and both must show what they are. What is refused is
    counted by the shape of the request (of ``Request.shape``): a model may keep to the format of
    some, and not of others. The manner is one for all of them, since each is another judge.
    """

    def __init__(
        self,
        wanted: Examples = "auto",
        report: Callable[[Manner], None] = lambda _: None,
        report_trial: Callable[[], None] = lambda: None,
    ) -> None:
        self.now = Manner.SHAPED if wanted == "shaped" else Manner.FIXED
        #: How often it went on, began a trial or ended one.
        self.changes = 0
        self._may_change, self._report = wanted == "auto", report
        self._report_trial = report_trial
        self._against = Counter[str]()  # the fixed example: of each shape, and of all together
        self._latest: defaultdict[str, deque[bool]] = defaultdict(partial(deque, maxlen=_OF))
        self._tried: str | None = None  # the shape that is on trial
        self._alone = Counter[str]()  # read in this trial
        self._pause, self._next_pause = 0, _PAUSE
        self._was_alone = defaultdict[str, bool](bool)

    @property
    def shaped(self) -> bool:
        """Whether turns of the very shape of a request go before it."""
        return self.now >= Manner.SHAPED

    def of_next(self) -> Manner:
        """The manner of an interaction that begins; a trial takes turns, apart for who asks."""
        if self._tried is None:
            return self.now
        whose = WHOSE_TURN.get()
        self._was_alone[whose] = not self._was_alone[whose]
        return Manner.ONE_CLAIM if self._was_alone[whose] else self.now

    def observe(
        self, task: str, changes: int, *, refused: bool, several: bool = False, shape: str = ""
    ) -> None:
        """The first reply to a request, sent after so many ``changes``, was refused or not.

        Texts have no shape. ``several``: about claims of which each can be asked alone. Nothing
        else is a reason to go on from ``SHAPED``.
        """
        if not self._may_change or changes != self.changes or task == "extract_claims":
            return
        if self.now == Manner.FIXED:
            for which in {_ANY, shape}:
                counted = self._against[which] + (_REFUSED_COUNTS if refused else -1)
                self._against[which] = max(0, counted)
            if max(self._against.values()) >= _ASKS:
                self._go_on()
        elif self.now == Manner.SHAPED and task == "verify_claims":
            self._observe_claims(shape, refused=refused, several=several)

    def ask_for_shaped(self) -> bool:
        """The judge has shown that it needs examples of the shape; whether that changes anything.

        It does not where the setting says ``fixed``, nor a second time.
        """
        if not self._may_change or self.shaped:
            return False
        self._go_on()
        return True

    def _is_refused(self, shape: str) -> bool:
        return sum(self._latest[shape]) >= _REFUSED

    def _observe_claims(self, shape: str, *, refused: bool, several: bool) -> None:
        if several:
            self._latest[shape].append(refused)
        if self._tried is None:
            if several and self._pause:
                self._pause -= 1
            if self._is_refused(shape) and not self._pause:
                self._change(tried=shape)
                self._report_trial()
            return
        self._alone[shape] += not several
        if shape == self._tried:
            self._observe_tried(refused_alone=refused and not several)
        elif self._alone.total() >= _MOST_ALONE_OF_ALL:
            self._end_in_vain()

    def _observe_tried(self, *, refused_alone: bool) -> None:
        shape = self._tried or _ANY
        is_refused, alone = self._is_refused(shape), self._alone[shape]
        was_only_once = len(self._latest[shape]) == _OF and not is_refused
        if was_only_once or refused_alone:
            self._end_in_vain()
        elif is_refused and alone >= _ALONE:
            self._go_on()
        elif alone >= _MOST_ALONE:
            self._end_in_vain()

    def _end_in_vain(self) -> None:
        self._change(tried=None)
        self._pause = self._next_pause
        self._next_pause = min(2 * self._next_pause, _LONGEST_PAUSE)

    def _go_on(self) -> None:
        self.now = Manner(self.now + 1)
        self._change(tried=None)
        self._report(self.now)

    def _change(self, tried: str | None) -> None:
        self._latest.clear()
        self._alone.clear()
        self._tried = tried
        self.changes += 1
