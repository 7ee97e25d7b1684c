"""In which manner a model is asked: the cheapest that it keeps to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Final, Literal

Examples = Literal["fixed", "shaped", "auto"]

#: ``auto`` goes on to the next manner once so many of so many latest first replies were refused.
_REFUSED: Final = 5
_OF: Final = 20


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
    it, and it costs tokens.
    """

    def __init__(
        self, wanted: Examples = "auto", report: Callable[[Manner], None] = lambda _: None
    ) -> None:
        self.now = Manner.SHAPED if wanted == "shaped" else Manner.FIXED
        self._may_change, self._report = wanted == "auto", report
        self._latest: deque[bool] = deque(maxlen=_OF)

    @property
    def shaped(self) -> bool:
        """Whether turns of the very shape of a request go before it."""
        return self.now >= Manner.SHAPED

    def observe(self, task: str, asked: Manner, *, refused: bool, several: bool = False) -> None:
        """The first reply to a request of this manner was refused or not; texts have no shape.

        ``several``: about claims of which each can be asked alone. Nothing else is a reason to go
        on from ``SHAPED``.
        """
        if not self._may_change or asked != self.now or task == "extract_claims":
            return
        alone_helps = several and task == "verify_claims"
        if self.now == Manner.FIXED or (alone_helps and self.now == Manner.SHAPED):
            self._latest.append(refused)
            if sum(self._latest) >= _REFUSED:
                self._go_on()

    def ask_for_shaped(self) -> bool:
        """The judge has shown that it needs examples of the shape; whether that changes anything.

        It does not where the setting says ``fixed``, nor a second time.
        """
        if not self._may_change or self.shaped:
            return False
        self._go_on()
        return True

    def _go_on(self) -> None:
        self.now = Manner(self.now + 1)
        self._latest.clear()
        self._report(self.now)
