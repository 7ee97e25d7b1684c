"""How much one interaction may ask of the models: what would take more is not begun.

Planned calls have their place. Whatever comes on top of them (a second try, halves, evidence) is
made while there is room beside the planned ones, so that no interaction ever asks for more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass

from monitor.errors import TooLarge


@dataclass(frozen=True, slots=True)
class Demand:
    """Calls, and the tokens of their prompts by estimate (``material.estimated_tokens``)."""

    calls: int = 0
    tokens: int = 0

    def __add__(self, other: Demand) -> Demand:
        """Both."""
        return Demand(self.calls + other.calls, self.tokens + other.tokens)


NOTHING = Demand()


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that all calls about one interaction may be; None: unlimited."""

    calls: int | None = None
    tokens: int | None = None

    def holds(self, demand: Demand) -> bool:
        """Whether so much may be asked."""
        return not any(self._exceeded(demand))

    def refuse(self, demand: Demand) -> None:
        """Raises ``TooLarge`` where so much may not be asked; it names the setting."""
        by_calls, by_tokens = self._exceeded(demand)
        if by_calls:
            raise TooLarge(f"{demand.calls:,} calls at least, judge.max_calls is {self.calls:,}")
        if by_tokens:
            raise TooLarge(
                f"{demand.tokens:,} tokens of prompts at least, judge.max_input_tokens is "
                f"{self.tokens:,}"
            )

    def _exceeded(self, demand: Demand) -> tuple[bool, bool]:
        return (
            self.calls is not None and demand.calls > self.calls,
            self.tokens is not None and demand.tokens > self.tokens,
        )


class Allowance:
    """What has been asked about one interaction, by whatever model, and may still be.

    ``made`` is what others have asked about it before.
    """

    def __init__(self, made: Demand = NOTHING) -> None:
        self.made = made
        self._ceiling, self._planned = Ceiling(), NOTHING
        self._places: AbstractAsyncContextManager[object] = nullcontext()
        self._is_bound = False

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
        elif not self._ceiling.holds(self.made + self._planned + Demand(1, tokens)):
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
