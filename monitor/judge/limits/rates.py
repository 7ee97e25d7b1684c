"""Requests and tokens a minute: what may be asked now, and how long the rest waits. Pure."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

#: A minute, and some more: two requests may come to the server closer together than they left.
WINDOW_S = 60.5


@dataclass(slots=True)
class Taken:
    """What a request has taken of a rate, at ``at`` (monotonic seconds)."""

    at: float
    amount: float


class Rate:
    """A sliding log: within any ``window_s`` seconds at most ``limit`` is taken.

    A request that alone is more than the limit is let through when nothing else is in the window:
    waiting longer would not help it.

    >>> rate = Rate(10, window_s=60)
    >>> rate.wait_s(0.0, 6), rate.take(0.0, 6).amount
    (0.0, 6)
    >>> rate.wait_s(1.0, 5), rate.wait_s(1.0, 4)
    (59.0, 0.0)
    """

    def __init__(self, limit: float, window_s: float = WINDOW_S) -> None:
        self.limit = self._whole = limit
        self._window_s = window_s
        self._log: deque[Taken] = deque()

    def scale(self, share: float) -> None:
        """From now on the limit is this part of the whole."""
        self.limit = self._whole * share

    def fill(self, now: float, steps: int = 60) -> None:
        """As if all that is left had been taken in even steps over the window that ends now."""
        step = max(0.0, self.limit - self.used(now)) / steps
        made = [Taken(now - self._window_s * (1 - i / steps), step) for i in range(1, steps + 1)]
        self._log = deque(sorted([*self._log, *made], key=lambda taken: taken.at))

    def used(self, now: float) -> float:
        """What is taken of the window that ends now."""
        while self._log and self._log[0].at + self._window_s <= now:
            self._log.popleft()
        return sum(taken.amount for taken in self._log)

    def wait_s(self, now: float, amount: float) -> float:
        """Seconds until so much may be taken; 0 for now."""
        left = self.limit - self.used(now)
        wait_s = 0.0
        for taken in self._log:
            if amount <= left:
                break
            left += taken.amount
            wait_s = max(wait_s, taken.at + self._window_s - now)
        return wait_s

    def take(self, now: float, amount: float) -> Taken:
        """It is taken, whether or not there was room; change the amount when it is known."""
        taken = Taken(now, amount)
        self._log.append(taken)
        return taken


class TokenEstimate:
    """Tokens of a call by the bytes of its messages: a running ratio, and its spread.

    Reserved is the mean and one spread, so that most calls stay within; what was too much is given
    back with the reply. Before the first reply: a third of the bytes, and some for the answer.
    """

    def __init__(self, weight: float = 0.05) -> None:
        self._weight = weight
        self._seen = 0
        self._mean = self._variance = 0.0

    def of(self, size: int) -> int:
        """Tokens to reserve for so many bytes."""
        if self._seen == 0:
            return size // 3 + 200
        return math.ceil(size * (self._mean + math.sqrt(self._variance)))

    def learn(self, size: int, tokens: int) -> None:
        """A call of so many bytes has used so many tokens."""
        if size <= 0 or tokens <= 0:
            return
        self._seen += 1
        weight = max(self._weight, 1.0 / self._seen)
        apart = tokens / size - self._mean
        self._mean += weight * apart
        self._variance = (1.0 - weight) * (self._variance + weight * apart * apart)
