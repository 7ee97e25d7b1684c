"""The table of docs/operations.md: what money a day buys, by ``rag-monitor plan``."""

from __future__ import annotations

from typing import Final, NamedTuple

from monitor.config import Settings
from monitor.plan.plan import Assumed, Takes, bought, made, typical

BUDGETS: Final = (1, 5, 20, 100)
#: As of gpt-4o-mini: US dollars for a million tokens of prompt and reply.
PRICE: Final = (0.15, 0.60)
#: 200 a second, of which 8 % of the claims are wrong; the signal as usual.
ASSUMED: Final = Assumed(12_000.0, 0.08, 0.38)
HEAD: Final = (
    "| a day | judged a minute | of the traffic | interval in 5m, 1h, 24h "
    "| ×1.2 seen after | ×1.5 | ×2 | ×3 |"
)


class Bought(NamedTuple):
    """The cells of a row that take no simulation."""

    money: str
    judged: str
    share: str


def settings(usd: int) -> Settings:
    """A judge that asks a model, and so much money a day."""
    tree = {"judge": {"kind": "llm", "model": "m"}, "limits": {"usd_per_day": usd}}
    return Settings.model_validate(tree)


def takes(usd: int) -> Takes:
    """What a judgement takes."""
    return typical(settings(usd).judge, PRICE)


def cells(usd: int) -> Bought:
    """How much is judged."""
    found = bought(settings(usd), ASSUMED, takes(usd))
    share = found.per_minute / ASSUMED.per_minute
    return Bought(f"{usd} $", f"{found.per_minute:.1f}", f"{share:.2%}".replace("%", " %"))


def row(usd: int) -> str:
    """A whole row; its delays take a quarter of a minute to simulate."""
    plan = made(settings(usd), ASSUMED, takes(usd))
    widths = ", ".join(f"{width:.2g}" for width in plan["interval_width"].values())
    delays = [minutes(delay_s) for delay_s in plan["delay_s"].values()]
    return f"| {' | '.join([*cells(usd), widths, *delays])} |"


def minutes(seconds: float | None) -> str:
    """A duration for people."""
    if seconds is None:
        return "hardly ever"
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"
