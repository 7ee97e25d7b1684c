"""What judging a file costs, said before any of it is spent."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple

from monitor.app.judges import build_judges, unpriced, with_dry_run_judges
from monitor.app.policies import build_policies
from monitor.config import Settings
from monitor.errors import MessageRejected, TooLarge
from monitor.evaluate.reading import RowDecoder
from monitor.evaluate.rows import InputRow
from monitor.judge.protocol import CostMeter
from monitor.scorer.judging import judge_input
from monitor.telemetry import ScorerTelemetry, new_registry

#: Rows whose judgements are priced: the mean of more would hardly be another one.
MOST_PRICED: Final = 50


class ForeseenCost(NamedTuple):
    """US dollars for so many rows; None where the price of one of the ``unpriced`` is not known."""

    rows: int
    usd: float | None
    unpriced: tuple[str, ...] = ()

    def in_words(self) -> str:
        """One line for people.

        >>> ForeseenCost(200, 0.4231).in_words()
        'price: about 0.42 USD for 200 rows, less what a cache holds'
        >>> ForeseenCost(1, None, ("openai/mine",)).in_words()
        'price: not known: that of openai/mine is not in the list; set judge.price'
        """
        if self.usd is None:
            names = ", ".join(self.unpriced)
            return f"price: not known: that of {names} is not in the list; set judge.price"
        usd = f"{self.usd:.2f}" if self.usd >= 0.1 else f"{self.usd:.4f}"
        rows = f"{self.rows:,} row{'s' if self.rows != 1 else ''}"
        return f"price: about {usd} USD for {rows}, less what a cache holds"


async def foreseen(
    settings: Settings, decoder: RowDecoder, some: Iterable[InputRow], rows: int
) -> ForeseenCost | None:
    """What ``rows`` rows cost, by ``some`` of them; None where no model is asked.

    Counts what would be sent, and asks nobody. Rows that are no interactions cost nothing.
    """
    judges = build_judges(settings, ScorerTelemetry(new_registry()))
    if not any(each.section.asks_a_model for each in judges):
        return None
    dry = with_dry_run_judges(settings, judges)
    for each in dry:
        await each.judge.prepare()
    if unknown := unpriced(dry):
        return ForeseenCost(rows, None, tuple(unknown))
    policies, spent, seen = build_policies(settings, dry), CostMeter(), 0
    for row in some:
        seen += 1
        with suppress(MessageRejected, TooLarge):  # what is known too late is paid for
            interaction = decoder.read(row).interaction
            await policies.policy(interaction).judge.judge(judge_input(interaction), spent)
    return ForeseenCost(rows, rows * spent.usage.usd / seen if seen else 0.0)
