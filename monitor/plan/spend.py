"""Traffic, what a judgement takes and what may be taken → how much of the traffic is judged."""

from __future__ import annotations

from typing import Final, NamedTuple

from monitor.sampling.pace import JudgementCost, PaceBounds, Spent, affordable

DAY_MINUTES: Final = 1_440


class Judged(NamedTuple):
    """Judged interactions a minute, and what bounds them; US dollars a day."""

    per_minute: float
    bound_by: str
    usd_per_day: float

    @property
    def per_day(self) -> float:
        """Judged interactions a day."""
        return self.per_minute * DAY_MINUTES


def slots_of(rate: float, block: int) -> float:
    """Slots an offset, in blocks of a fixed length: one a block that the hash takes anything of.

    Of one application and kind; more of them have more.

    >>> slots_of(0.5, 1), slots_of(1.0, 32), slots_of(0.5, 2)
    (0.5, 0.03125, 0.375)
    """
    return (1.0 - (1.0 - rate) ** block) / block


def judged(
    per_minute: float,
    rate: float,
    cost: JudgementCost,
    allowed: PaceBounds,
    usd_per_day: float | None,
    block: int = 1,
) -> Judged:
    """How many of ``per_minute`` interactions are judged: what ``rate`` and ``block`` make of them.

    Requests and tokens keep a little headroom, as the scorers do; the money of a day is spent.

    >>> judged(6_000, 1.0, JudgementCost(3, 2_000, 0.01, 0), PaceBounds(8), 14.4)
    Judged(per_minute=1.0, bound_by='usd_per_day', usd_per_day=14.4)
    >>> judged(6, 0.5, JudgementCost(3, 2_000, 0.01, 0), PaceBounds(8), None).bound_by
    'sampling.rate'
    """
    requests = affordable(allowed._replace(tokens_per_minute=None), cost, Spent(0, 0))
    tokens = affordable(allowed._replace(requests_per_minute=None), cost, Spent(0, 0))
    money = None if usd_per_day is None or not cost.usd else usd_per_day / cost.usd / DAY_MINUTES
    bounds = {
        _wanted_by(rate, block): per_minute * slots_of(rate, block),
        "requests_per_minute": requests,
        "tokens_per_minute": tokens,
        "usd_per_day": money,
    }
    known = {name: bound for name, bound in bounds.items() if bound is not None}
    name = min(known, key=lambda each: known[each])
    return Judged(known[name], name, round(known[name] * DAY_MINUTES * cost.usd, 6))


def _wanted_by(rate: float, block: int) -> str:
    if block > 1:
        return "sampling.block"
    return "traffic" if rate == 1.0 else "sampling.rate"
