"""What a run says on the way: lines, how far it is, and what it asks before it spends."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Final

from monitor.errors import ConfigurationError
from monitor.evaluate.price import ForeseenCost
from monitor.evaluate.summary import Summary, progress_line

#: Rows that are no interactions are named one by one up to here.
MOST_NAMED: Final = 20
#: Seconds between two looks at how far it is: on a terminal, where one replaces the other, and not.
SHOWN_EVERY_S, LOGGED_EVERY_S = 1.0, 10.0


class Voice:
    """Where people are told: lines, and on a terminal how far it is in the line below them.

    ``ask`` puts a question; None where nobody is there who could answer.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        *,
        is_terminal: bool,
        ask: Callable[[str], bool] | None = None,
    ) -> None:
        self._say, self.is_terminal, self._ask = say, is_terminal, ask
        self._named = 0

    def line(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        self._say(text)

    def rejected(self, text: str) -> None:
        """One of those that are named up to a number."""
        self._named += 1
        if self._named <= MOST_NAMED:
            self.line(text)

    def progress(self, text: str) -> None:
        """How far it is."""
        if not self.is_terminal:
            self._say(text)
            return
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the progress away."""
        if self.is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def agree(self, cost: ForeseenCost, limit_usd: float, *, yes: bool) -> None:
        """Say the price. On a terminal ask where it is beyond ``limit_usd``, unless ``yes``.

        Raises ``ConfigurationError`` where the answer is no, or nobody can give one.
        """
        self.line(cost.in_words())
        if yes or not self.is_terminal or cost.usd is None or cost.usd <= limit_usd:
            return
        if self._ask is None or not self._ask("Go on?"):
            raise ConfigurationError(
                f"nothing was spent: about {cost.usd:.2f} USD is beyond evaluate.confirm_usd "
                f"({limit_usd:g}); give --yes, or a --sample"
            )


async def shown(summary: Summary, of: int | None, voice: Voice) -> None:
    """Say how far it is, for ever; ``of`` so many rows, None where nobody knows."""
    began, every_s = time.monotonic(), SHOWN_EVERY_S if voice.is_terminal else LOGGED_EVERY_S
    while True:
        await asyncio.sleep(every_s)
        rate = (summary.records - summary.resumed) / (time.monotonic() - began)
        done = summary.records + summary.rejected
        voice.progress(progress_line(done, of, rate, summary.usd))
