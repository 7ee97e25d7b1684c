"""How much traffic there is, where a minute may hold none of it by chance."""

from __future__ import annotations

from typing import Final

#: What traffic is known by: its latest offsets, and at most so many minutes before the last one.
_ENOUGH: Final = 64.0
_LONG: Final = 4.0


class Recent:
    """How many of something come in a minute: by the latest 64 of them, however few there are.

    But not of more than five minutes. In a minute there may be none of what comes once in a minute.

    >>> recent = Recent()
    >>> [round(recent.add(amount, 1.0), 1) for amount in (4, 4, 0, 4, 400, 4_000, 40)]
    [4.0, 4.0, 2.7, 3.0, 400.0, 4000.0, 63.6]
    """

    def __init__(self) -> None:
        self._amount = self._minutes = 0.0

    def add(self, amount: float, minutes: float) -> float:
        """So many have come in so many minutes; how many come in one."""
        keep = min(1.0, _LONG / max(_LONG, self._minutes))
        if self._amount > 0:
            keep = min(keep, max(0.0, _ENOUGH - amount) / self._amount)
        self._amount = keep * self._amount + amount
        self._minutes = keep * self._minutes + minutes
        return self._amount / self._minutes if self._minutes > 0 else 0.0
