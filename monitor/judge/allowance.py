"""What has been asked about one interaction, and may still be.

Planned calls have their place. Whatever comes on top of them (a second try, halves, evidence) is
made while there is room beside the planned ones, so that no interaction is ever asked about more
than its ceiling says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from contextvars import ContextVar

from monitor.judge.ceiling import NOTHING, Ceiling, Demand
from monitor.records import Usage


class Allowance:
    """What has been asked about one interaction, by whatever model, and may still be.

    ``made`` is what others have asked about it before.
    """

    def __init__(self, made: Demand = NOTHING) -> None:
        self.made = made
        self._ceiling, self._planned = Ceiling(), NOTHING
        self._places: AbstractAsyncContextManager[object] = nullcontext()
        self._is_bound = False

    @property
    def asked(self) -> Usage:
        """The same as a record says it."""
        return Usage(calls=self.made.calls, prompt_tokens=self.made.tokens)

    def bind(self, ceiling: Ceiling, at_once: int | None) -> None:
        """Keep to a ceiling and to so many calls at a time; the first one's hold."""
        if self._is_bound:
            return
        self._is_bound, self._ceiling = True, ceiling
        if at_once is not None:
            self._places = asyncio.Semaphore(at_once)

    def plan(self, demand: Demand) -> None:
        """Keep room for this, in place of what was planned before; raises ``TooLarge``."""
        self._ceiling.refuse(self.made + demand)
        self._planned = demand

    def place(self) -> AbstractAsyncContextManager[object]:
        """Wait until a call may begin; hold its place while inside."""
        return self._places

    def begin(self, tokens: int, *, planned: bool) -> bool:
        """Whether a call of so many tokens may be made; then it is counted."""
        if planned and self._planned.calls:
            left = self._planned
            self._planned = Demand(left.calls - 1, max(0, left.tokens - tokens))
        elif not self._ceiling.allows(self.made + self._planned + Demand(1, tokens)):
            return False
        self.made += Demand(1, tokens)
        return True

    @contextmanager
    def asking(self) -> Iterator[None]:
        """While inside, ``may_ask_again`` speaks of this one."""
        before = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(before)


#: That of the call under way: its retries count, too.
_CURRENT: ContextVar[Allowance | None] = ContextVar("allowance", default=None)


def may_ask_again(tokens: int) -> bool:
    """Whether the call under way may be made once more; then it is counted."""
    allowance = _CURRENT.get()
    return allowance is None or allowance.begin(tokens, planned=False)
