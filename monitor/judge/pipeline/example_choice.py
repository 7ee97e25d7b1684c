"""Whether requests go with an example of their very shape."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Literal

Examples = Literal["fixed", "shaped", "auto"]

#: ``auto`` takes shaped examples once so many of so many latest first replies were refused.
_REFUSED: Final = 5
_OF: Final = 20


class ExampleChoice:
    """``fixed``: the examples of the instructions alone; ``shaped``: turns of the shape asked.

    ``auto`` begins as ``fixed``, and is ``shaped`` for good once the model needs it; ``report`` is
    called then. Larger models hardly need it, and it costs tokens.
    """

    def __init__(
        self, wanted: Examples = "auto", report: Callable[[], None] = lambda: None
    ) -> None:
        self.shaped = wanted == "shaped"
        self._may_change, self._report = wanted == "auto", report
        self._latest: deque[bool] = deque(maxlen=_OF)

    def observe(self, task: str, *, refused: bool) -> None:
        """The first reply to a request was refused or not; texts are split by no shape."""
        if self.shaped or not self._may_change or task == "extract_claims":
            return
        self._latest.append(refused)
        if sum(self._latest) >= _REFUSED:
            self.ask_for_shaped()

    def ask_for_shaped(self) -> bool:
        """The judge has shown that it needs them; whether that changes anything.

        It does not where the setting says ``fixed``, nor a second time.
        """
        if not self._may_change or self.shaped:
            return False
        self.shaped = True
        self._report()
        return True
