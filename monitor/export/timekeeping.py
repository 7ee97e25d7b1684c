"""Which time the exporter goes by: its wall clock's, unless that leaps where nobody else is.

What is dropped from the horizon does not come back when the clock does, so a leap ahead is not
believed on the clock's word alone. A broker refuses records whose time is more than an hour ahead
of its own (``message.timestamp.after.max.ms``): a record near the time of the clock stands for the
clock, one near the time that goes on without the leap stands against it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from monitor.logs import logger

#: Seconds; a longer step ahead wants to be confirmed. What broker time may be off by, too.
LEAP_S: Final = 3_600.0
#: Seconds; what goes back by less comes right by itself.
BACK_S: Final = 60.0


def steady_seconds() -> float:
    """Seconds that nobody sets, and that go on while the machine sleeps, where it can tell."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class _Anchor(NamedTuple):
    wall: float
    steady: float


class Timekeeper:
    """Gives epoch seconds. ``wall`` is the clock, ``steady`` gives seconds that nobody sets.

    A step ahead by more than an hour is not believed until a record says the same, or until for an
    hour none has said otherwise; meanwhile time goes on without it. Steps back are believed.
    """

    def __init__(self, wall: Callable[[], float], steady: Callable[[], float]) -> None:
        self._wall, self._steady = wall, steady
        self._anchor: _Anchor | None = None
        self._newest = float("-inf")
        self._largest = self._latest = float("-inf")
        #: When something last spoke against the clock, by ``steady``; None: it is believed.
        self._doubted_at: float | None = None
        self.ahead_s = 0.0

    @property
    def is_doubted(self) -> bool:
        """Whether the clock is not believed; it is ``ahead_s`` ahead of what is."""
        return self._doubted_at is not None

    @property
    def has_gone_back(self) -> bool:
        """Whether time lies a minute or more behind what it has been, as of the last call."""
        return self._largest - self._latest > BACK_S

    def __call__(self) -> float:
        """The time."""
        now = _Anchor(self._wall(), self._steady())
        anchor = self._anchor or now
        expected = anchor.wall + now.steady - anchor.steady
        self.ahead_s = now.wall - expected
        if self._is_believed(now):
            self._anchor, self._latest = now, now.wall
        else:
            self._latest = expected
        self._largest = max(self._largest, self._latest)
        return self._latest

    def seen(self, recorded_at: float) -> None:
        """A record has been read whose time on its topic is this, in epoch seconds."""
        self._newest = recorded_at
        if self._doubted_at is not None and abs(recorded_at - self._latest) <= LEAP_S:
            self._doubted_at = self._steady()

    def begin_anew(self) -> None:
        """Whatever has gone back was dealt with."""
        self._largest = self._latest

    def _is_believed(self, now: _Anchor) -> bool:
        leaps = self.ahead_s > LEAP_S
        if not leaps or abs(self._newest - now.wall) <= LEAP_S:
            return self._believe()
        if self._doubted_at is None:
            self._doubted_at = now.steady
            logger().error(
                "clock_not_believed",
                ahead_s=round(self.ahead_s),
                what="the clock has leapt ahead, and no record is from that time; gauges go on "
                "without the leap: set the clock right",
            )
        elif now.steady - self._doubted_at > LEAP_S:
            return self._believe()
        return False

    def _believe(self) -> bool:
        if self._doubted_at is not None:
            self._doubted_at = None
            logger().warning("clock_believed", ahead_s=round(self.ahead_s))
        return True
