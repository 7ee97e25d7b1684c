"""All rows of the promise at a glance, in Markdown: by worlds, by laws, and those not kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from tests.benchmarks.promising.laws import LAWS
from tests.benchmarks.promising.results import delays, openings
from tests.benchmarks.promising.weeks import Change, Found
from tests.benchmarks.promising.worlds import RATES, WORLDS, Cell

#: What was found of a row.
Of = Callable[[Cell], Sequence[Found]]
_NOTHING: Final = "–"


def by_world(of: Of) -> Iterator[str]:
    """Openings a week over all laws, and those of the worst tenth of the installations."""
    yield _line("traffic", *RATES)
    yield _line(*["---"] * (1 + len(RATES)))
    for world in WORLDS:
        yield _line(world, *(_weekly(_counted(of, rate, world, LAWS)) for rate in RATES))
    yield _line("all", *(_weekly(_counted(of, rate, None, LAWS)) for rate in RATES))


def by_law(of: Of, change: Change) -> Iterator[str]:
    """Hours until a change is seen over all worlds: median, and what nine of ten need."""
    yield _line("scores", *RATES)
    yield _line(*["---"] * (1 + len(RATES)))
    for law in LAWS:
        cells = []
        for rate in RATES:
            seen = delays(change, _counted(of, rate, None, [law]))
            cells.append(_NOTHING if seen is None else seen[1])
        yield _line(law, *cells)


def not_kept(of: Of) -> Iterator[str]:
    """The rows in which more alarms opened than were promised, and how many rows there are."""
    yield _line("row", "installations", "openings a week", "worst tenth", "in alarm")
    yield _line(*["---"] * 5)
    rows = 0
    for cell in (Cell(rate, world, law) for rate in RATES for world in WORLDS for law in LAWS):
        found = [one for one in of(cell) if one.weeks]
        rows += bool(found)
        if found and not openings(found).is_kept:
            weekly = openings(found)
            in_alarm = sum(one.in_alarm for one in found) / len(found)
            numbers = f"{weekly.mean:.2f} ± {weekly.se:.2f}", f"{weekly.worst:.1f}"
            yield _line(", ".join(cell), f"{len(found)}", *numbers, f"{in_alarm:.0%}")
    yield f"of {rows} rows"


def _counted(of: Of, rate: str, world: str | None, laws: Iterable[str]) -> list[Found]:
    worlds = WORLDS if world is None else [world]
    cells = (Cell(rate, one, law) for law in laws for one in worlds)
    return [found for cell in cells for found in of(cell) if found.weeks]


def _weekly(found: Sequence[Found]) -> str:
    if not found:
        return _NOTHING
    weekly = openings(found)
    return f"{weekly.mean:.2f} ± {weekly.se:.2f} ({weekly.worst:.1f})"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
