"""The tables that users need: traffic, what is promised → how soon a change is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tests.benchmarks.promising.results import delays
from tests.benchmarks.promising.weeks import Change, Found, Plan
from tests.benchmarks.promising.worlds import METRICS, RATES, Cell

FACTORS: Final = (1.2, 1.5, 2.0, 3.0)
#: False alarms a week.
PROMISES: Final = (7.0, 1.0, 0.1)
#: Average run lengths to a false alarm: a round one, and those of 50/h and of 1/s.
THRESHOLDS: Final = (10_000, 25_200, 1_814_400)
#: World and law; after this many weeks with a baseline.
USUAL: Final = ("i.i.d.", "claims 0.08")
WEEKS: Final = 1.0

#: Plays the installations of a row.
Play = Callable[[Cell, Plan], Sequence[Found]]


def by_traffic(play: Play) -> Iterator[str]:
    """Traffic × promise → hours and judged until the alarm, in Markdown."""
    yield _line("judged", "change", *(f"{f:g} a week: hours, judged" for f in PROMISES))
    yield _line(*["---"] * (2 + len(PROMISES)))
    plan = Plan(WEEKS, tuple(Change(times, f) for times in FACTORS for f in PROMISES))
    for rate in RATES:
        found = play(Cell(rate, *USUAL), plan)
        for times in FACTORS:
            cells = (_hours_and_judged(Change(times, f), found) for f in PROMISES)
            yield _line(rate, f"×{times:g}", *cells)


def by_threshold(play: Play) -> Iterator[str]:
    """Threshold → judged until the alarm, in Markdown."""
    yield _line("change", *(f"A = {a:,}" for a in THRESHOLDS))
    yield _line(*["---"] * (1 + len(THRESHOLDS)))
    plan = Plan(WEEKS, tuple(_at(times, a) for times in FACTORS for a in THRESHOLDS))
    found = play(Cell("50/h", *USUAL), plan)
    for times in FACTORS:
        cells = (delays(_at(times, a), found) for a in THRESHOLDS)
        yield _line(f"×{times:g}", *("–" if cell is None else cell[0] for cell in cells))


def _at(times: float, threshold: int) -> Change:
    """A change where A is so much, one false alarm a week being promised."""
    return Change(times, 1.0, threshold / len(METRICS))


def _hours_and_judged(change: Change, found: Sequence[Found]) -> str:
    judged, hours = delays(change, found) or ("–", "–")
    return f"{hours}, {judged}"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
