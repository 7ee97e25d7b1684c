"""Whether this machine's clock is right: held against the brokers', who agree with one another.

A broker tells its time in three ways: a controller when it is asked for its quorum (Kafka 3.3 with
KRaft, and the right to Describe the cluster), a leader in its answer to a write to a topic with
``message.timestamp.type=LogAppendTime``, and any leader when it refuses a record's time. The times
of records that others have written are not asked: by default they are the times of their writers.
"""

from __future__ import annotations

import time
from collections.abc import Callable

#: Of an answer that took longer nobody knows when it was given.
LONGEST_ANSWER_S = 5.0
#: By how much a broker lets a record's time be ahead of its own, unless its topic says otherwise.
AHEAD_S = 3_600.0
#: 2016, when records were given times: what is before it is none (librdkafka's mock cluster, by
#: which the demo runs, answers 1,234 ms to every write).
FIRST_S = 1_451_606_400.0
#: A refusal tells more than what was measured longer ago: clocks are set meanwhile.
STALE_S = 30.0
#: For so long the brokers' word goes on by seconds that nobody sets, when they tell no more.
TOLD_S = 3_600.0


def steady_seconds() -> float:
    """Seconds that nobody sets, and that go on while the machine sleeps, where it can tell."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class BrokerClock:
    """The brokers' time, as far as it is known. ``own`` is this machine's (epoch seconds).

    ``steady`` gives seconds that nobody sets.
    """

    def __init__(
        self,
        own: Callable[[], float] = time.time,
        steady: Callable[[], float] = steady_seconds,
    ) -> None:
        self.own, self._steady = own, steady
        #: Broker's time − own, in seconds; None while nobody knows.
        self.offset_s: float | None = None
        self._measured = False
        self._measured_s = 0.0
        #: What they said last, and when that was by ``steady``.
        self._last_answer: tuple[float, float] | None = None

    def now(self) -> float:
        """Epoch seconds, by the brokers' clock where that is known."""
        return self.own() + (self.offset_s or 0.0)

    def broker_time(self) -> float | None:
        """Epoch seconds as the brokers have told them within ``TOLD_S``; None where they do not.

        Whatever this machine's clock was set to meanwhile.
        """
        if self._last_answer is None:
            return None
        answered_s, steady_s = self._last_answer
        passed_s = self._steady() - steady_s
        return answered_s + passed_s if passed_s <= TOLD_S else None

    def broker_time_for(self, clock: Callable[[], float]) -> Callable[[], float | None]:
        """``broker_time`` where ``clock`` is our own; nothing is known of another clock."""
        return self.broker_time if clock is self.own else lambda: None

    def observe(self, broker_s: float, began_s: float) -> None:
        """A broker has told its time in an answer to what was sent at ``began_s`` by our clock.

        What cannot be a time is ignored.
        """
        ended_s = self.own()
        if broker_s >= FIRST_S and 0 <= ended_s - began_s <= LONGEST_ANSWER_S:
            self.offset_s, self._measured = broker_s - (began_s + ended_s) / 2, True
            self._measured_s = ended_s
            self._last_answer = broker_s + (ended_s - began_s) / 2, self._steady()

    def refused(self) -> None:
        """A record with our own time was refused for it: we are ahead, by an hour or more."""
        if not self._measured or abs(self.own() - self._measured_s) > STALE_S:
            self.offset_s, self._measured = -AHEAD_S, False

    def taken(self) -> None:
        """A record with our own time was taken."""
        if not self._measured:
            self.offset_s = None

    def is_off(self, limit_s: float) -> bool:
        """Whether the two are known to differ by more."""
        return self.offset_s is not None and abs(self.offset_s) > limit_s

    @property
    def in_words(self) -> str:
        """What is wrong, in words.

        >>> clock = BrokerClock(lambda: 2e9); clock.observe(2e9 - 7_100, 2e9); clock.in_words
        'this clock is 2 h ahead of the broker'
        >>> clock.observe(2e9 + 400, 2e9); clock.in_words
        'this clock is 7 min behind the broker'
        """
        if self.offset_s is None:
            return "whether this clock is right is unknown"
        more = "" if self._measured else "at least "
        way = "behind" if self.offset_s > 0 else "ahead of"
        return f"this clock is {more}{in_words(abs(self.offset_s))} {way} the broker"


def in_words(seconds: float) -> str:
    """A length of time in its largest unit.

    >>> [in_words(each) for each in (3.2, 400, 7_100, 260_000)]
    ['3 s', '7 min', '2 h', '3 days']
    """
    for unit, name in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 1.5 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"
