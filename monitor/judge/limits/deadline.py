"""The deadline of a judgement, which stands still while one of its calls waits for a limit.

It knows its calls, too: whether any was paid for, is under way, and how long the others wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from math import inf
from types import TracebackType
from typing import Self


class Deadline:
    """Raises ``TimeoutError`` inside after so many seconds, without those that were held."""

    def __init__(self, seconds: float) -> None:
        self._timeout = asyncio.timeout(seconds)
        self._holders: list[Callable[[], float]] = []
        self._under_way, self._is_paid = 0, False
        self._left_s = 0.0
        self._is_over = True
        self._before: Token[Deadline | None] | None = None

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._is_over = False
        self._before = _CURRENT.set(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over = True
        if self._before is not None:
            _CURRENT.reset(self._before)
        await self._timeout.__aexit__(kind, error, trace)

    def reschedule(self, when: float | None) -> None:
        """Let it pass at this time of the event loop."""
        self._timeout.reschedule(when)

    @property
    def is_held(self) -> bool:
        """Whether it stands still."""
        return bool(self._holders)

    def may_be_left(self, within_s: float) -> bool:
        """Whether nothing is lost by leaving the judgement: it only waits for limits.

        That is while no call is under way, and none was answered, or those that wait cannot be made
        in so many seconds.
        """
        if not self._holders or self._under_way:
            return False
        return not self._is_paid or max(left_s() for left_s in self._holders) > within_s

    def begin(self) -> None:
        """A call is under way."""
        self._under_way += 1

    def end(self) -> None:
        """It is not any more."""
        self._under_way -= 1

    def has_cost(self) -> None:
        """Something was paid for that is lost with the judgement."""
        self._is_paid = True

    def hold(self, left_s: Callable[[], float]) -> None:
        """The clock stands still until all have called ``go_on``, in ``left_s`` at the earliest."""
        self._holders.append(left_s)
        if len(self._holders) == 1 and self._runs():
            self._left_s = self._still_s()
            self._timeout.reschedule(None)

    def go_on(self, left_s: Callable[[], float]) -> None:
        """One who has held it does not any more."""
        self._holders.remove(left_s)
        if not self._holders and self._runs():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left_s)

    def left_s(self) -> float:
        """Seconds of it that are left, while it stands still, too."""
        return self._left_s if self._holders else self._still_s()

    def _still_s(self) -> float:
        when = self._timeout.when()
        return 0.0 if when is None else when - asyncio.get_running_loop().time()

    def _runs(self) -> bool:
        return not self._is_over and not self._timeout.expired()


#: That of the judgement under way: the tasks that it starts inherit it.
_CURRENT: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def is_bounded() -> bool:
    """Whether the time of the current judgement is limited, whatever its calls do."""
    return _CURRENT.get() is not None


def seconds_left() -> float:
    """What is left of the time of the current judgement; infinite where it is not limited."""
    deadline = _CURRENT.get()
    return inf if deadline is None else deadline.left_s()


@contextmanager
def asking(is_paid: Callable[[], bool]) -> Iterator[None]:
    """While inside, a call of the current judgement, if there is one, is under way.

    ``is_paid`` says in the end whether it may have cost something.
    """
    deadline = _CURRENT.get()
    if deadline is None:
        yield
        return
    deadline.begin()
    try:
        yield
    finally:
        deadline.end()
        if is_paid():
            deadline.has_cost()


@contextmanager
def held(left_s: Callable[[], float] = lambda: 0.0) -> Iterator[None]:
    """While inside, the time of the current judgement, if there is one, stands still.

    ``left_s`` gives the seconds until it can go on at the earliest.
    """
    deadline = _CURRENT.get()
    if deadline is None:
        yield
        return
    deadline.hold(left_s)
    try:
        yield
    finally:
        deadline.go_on(left_s)
