"""The deadline of a judgement, which stands still while one of its calls waits for a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Self


class Deadline:
    """Raises ``TimeoutError`` inside after so many seconds, without those that were held."""

    def __init__(self, seconds: float) -> None:
        self._timeout = asyncio.timeout(seconds)
        self._holders = 0
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
        return self._holders > 0

    def hold(self) -> None:
        """The clock stands still until as many have called ``go_on``."""
        self._holders += 1
        if self._holders == 1 and self._runs():
            when = self._timeout.when()
            self._left_s = 0.0 if when is None else when - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def go_on(self) -> None:
        """One who has held it does not any more."""
        self._holders -= 1
        if self._holders == 0 and self._runs():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left_s)

    def _runs(self) -> bool:
        return not self._is_over and not self._timeout.expired()


#: That of the judgement under way: the tasks that it starts inherit it.
_CURRENT: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def is_bounded() -> bool:
    """Whether the time of the current judgement is limited, whatever its calls do."""
    return _CURRENT.get() is not None


@contextmanager
def held() -> Iterator[None]:
    """While inside, the time of the current judgement, if there is one, stands still."""
    deadline = _CURRENT.get()
    if deadline is None:
        yield
        return
    deadline.hold()
    try:
        yield
    finally:
        deadline.go_on()
