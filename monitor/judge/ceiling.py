"""How much may be asked about one interaction: what would take more is not begun. Pure."""

from __future__ import annotations

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

    def at_least(self, other: Demand) -> Demand:
        """The larger number of each."""
        return Demand(max(self.calls, other.calls), max(self.tokens, other.tokens))


NOTHING = Demand()


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that all calls about one interaction may be; None: unlimited."""

    calls: int | None = None
    tokens: int | None = None

    def third(self, beside: Demand) -> Ceiling:
        """A third of what it leaves beside this, where there is one."""
        calls, tokens = self.calls, self.tokens
        return Ceiling(
            None if calls is None else (calls - beside.calls) // 3,
            None if tokens is None else (tokens - beside.tokens) // 3,
        )

    def allows(self, demand: Demand) -> bool:
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
