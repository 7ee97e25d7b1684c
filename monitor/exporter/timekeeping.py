"""Which time the exporter goes by: its wall clock's, unless the brokers or the records say another.

What is dropped from the horizon does not come back when the clock does, so a clock is not believed
on its word alone. Brokers that tell their time are believed first (``monitor.kafka.clock``). Where
they do not, a leap ahead wants to be confirmed by the records: a broker refuses those whose time is
more than an hour ahead of its own (``message.timestamp.after.max.ms``), so that a record near the
time of the clock stands for the clock, and one near the time that goes on without the leap stands
against it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from monitor.runtime.logs import logger

#: Seconds; by more the clock must not be off the brokers' time, nor leap ahead unconfirmed.
LEAP_S: Final = 3_600.0
#: Seconds; what goes back by less comes right by itself.
BACK_S: Final = 60.0


class _Anchor(NamedTuple):
    wall: float
    steady: float


class Timekeeper:
    """Gives epoch seconds. ``wall`` is the clock, ``steady`` gives seconds that nobody sets.

    ``broker_time`` gives that of the brokers, None while they do not tell. A clock off it by more
    than an hour is not believed, and theirs is given; one that is not off is.

    Untold, a step ahead by more than an hour is not believed until a record says the same, or until
    for an hour none has said otherwise; meanwhile time goes on without it. Steps back are believed.
    """

    def __init__(
        self,
        wall: Callable[[], float],
        steady: Callable[[], float],
        broker_time: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._wall, self._steady, self._broker_time = wall, steady, broker_time
        self._anchor: _Anchor | None = None
        self._newest = float("-inf")
        self._largest = self._latest = float("-inf")
        #: When something last spoke against the clock, by ``steady``; None: it is believed.
        self._doubted_at: float | None = None
        self.ahead_s = 0.0

    @property
    def is_doubted(self) -> bool:
        """Whether the clock is not believed; it is ``ahead_s`` (< 0: behind) off what is."""
        return self._doubted_at is not None

    @property
    def has_gone_back(self) -> bool:
        """Whether time lies a minute or more behind what it has been, as of the last call."""
        return self._largest - self._latest > BACK_S

    def __call__(self) -> float:
        """The time."""
        now, broker_time = _Anchor(self._wall(), self._steady()), self._broker_time()
        anchor = self._anchor or now
        other = anchor.wall + now.steady - anchor.steady if broker_time is None else broker_time
        self.ahead_s = now.wall - other
        is_believed = self._is_believed(now) if broker_time is None else self._is_confirmed(now)
        if is_believed:
            self._anchor, self._latest = now, now.wall
        else:
            self._latest = other
            if broker_time is not None:  # time goes on from there when they tell no more
                self._anchor = _Anchor(broker_time, now.steady)
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

    def _is_confirmed(self, now: _Anchor) -> bool:
        """Whether the brokers' time is about the clock's."""
        if abs(self.ahead_s) <= LEAP_S:
            return self._believe()
        self._doubt(
            now, "it differs from the brokers' clock, which gauges follow: set this one right"
        )
        return False

    def _is_believed(self, now: _Anchor) -> bool:
        leaps = self.ahead_s > LEAP_S
        if not leaps or abs(self._newest - now.wall) <= LEAP_S:
            return self._believe()
        if self._doubted_at is None:
            self._doubt(
                now,
                "the clock has leapt ahead, and no record is from that time; gauges go on without "
                "the leap: set the clock right",
            )
        elif now.steady - self._doubted_at > LEAP_S:
            return self._believe()
        return False

    def _doubt(self, now: _Anchor, what: str) -> None:
        if self._doubted_at is None:
            logger().error("clock_not_believed", ahead_s=round(self.ahead_s), what=what)
        self._doubted_at = now.steady

    def _believe(self) -> bool:
        if self._doubted_at is not None:
            self._doubted_at = None
            logger().warning("clock_believed", ahead_s=round(self.ahead_s))
        return True
