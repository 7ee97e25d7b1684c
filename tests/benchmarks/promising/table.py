"""The tables that users need: traffic, what is promised → how soon a change is seen.

One metric becomes worse, and as many are watched as are shipped. The others do not change: they
only share the threshold, and are not played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from monitor.config import Settings, load
from tests.benchmarks.promising.installation import settings
from tests.benchmarks.promising.results import delays_with_error, judged_with_error
from tests.benchmarks.promising.weeks import Change, Found, Plan
from tests.benchmarks.promising.worlds import RATES, Cell

FACTORS: Final = (1.2, 1.5, 2.0, 3.0)
#: False alarms a week.
PROMISES: Final = (7.0, 1.0, 0.1)
#: Average run lengths to a false alarm: a round one, and those of three metrics at 50/h and 1/s.
THRESHOLDS: Final = (10_000, 25_200, 1_814_400)
#: The metric that changes, and how many are watched.
WATCHED: Final = "noise_sensitivity_irrelevant"
SHARE: Final = len(load({}).drift.metrics)
#: World and law; after this many weeks with a baseline.
USUAL: Final = ("i.i.d.", "claims 0.08")
THRESHOLDS_OF: Final = "50/h"
WEEKS: Final = 1.0

#: Plays the installations of a row.
Play = Callable[[Cell, Plan], Sequence[Found]]


def one_watched() -> Settings:
    """The settings that are shipped, with the metric alone that changes."""
    return settings(**{"drift.metrics": WATCHED})


def plan_of(rate: str) -> Plan:
    """What the installations of a row play."""
    found = [Change(times, f) for times in FACTORS for f in PROMISES]
    if rate == THRESHOLDS_OF:
        found += [_at(times, a) for times in FACTORS for a in THRESHOLDS]
    return Plan(WEEKS, tuple(found), SHARE)


def by_traffic(play: Play) -> Iterator[str]:
    """Traffic × promise → hours and judged until the alarm, in Markdown."""
    yield _line("judged", "change", *(f"{f:g} a week: hours, judged" for f in PROMISES))
    yield _line(*["---"] * (2 + len(PROMISES)))
    for rate in RATES:
        found = play(Cell(rate, *USUAL), plan_of(rate))
        for times in FACTORS:
            cells = (delays_with_error(Change(times, f), found) for f in PROMISES)
            yield _line(rate, f"×{times:g}", *cells)


def by_threshold(play: Play) -> Iterator[str]:
    """Threshold → judged until the alarm, in Markdown."""
    yield _line("change", *(f"A = {a:,}" for a in THRESHOLDS))
    yield _line(*["---"] * (1 + len(THRESHOLDS)))
    found = play(Cell(THRESHOLDS_OF, *USUAL), plan_of(THRESHOLDS_OF))
    for times in FACTORS:
        cells = (judged_with_error(_at(times, a), found) for a in THRESHOLDS)
        yield _line(f"×{times:g}", *cells)


def _at(times: float, threshold: int) -> Change:
    """A change where A is so much, one false alarm a week being promised."""
    return Change(times, 1.0, threshold / SHARE)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
