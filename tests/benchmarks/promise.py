"""Does an installation keep its promise, whatever the traffic is, and how soon does it alarm?

Score records → detectors → baselines that are learned → alarms that open, as the exporter does it
with the settings that are shipped (one false alarm a week, three metrics), for weeks. A row is a
rate of judging, a world in which nothing becomes worse, and a law of the scores. Of its
installations:

- openings a week, of all metrics together, from the first baseline on (promised: at most 1; a row
  whose mean is above 1 + 2 standard errors is marked MISSED), and those of the worst tenth
  (promised: at most 3);
- the share of the time in which an alarm is open;
- from a change of the mean to ×1.5, ×2 and ×3, at a random moment after those weeks, to the alarm:
  judged and hours, median (90 % are sooner). "never" is later than 28 days or 20,000 judged.

Looks are five seconds apart, as the exporter's are: what opens and closes between two of them is no
alarm there either.

It goes by arrays (``promising/quiet.py``): an installation takes a tenth of a second up to 50/h,
two seconds at 10/min and eight at 1/s. ``--played`` goes pick by pick through the product's own
path, which sees the same and takes ten to twenty times as long. ``--quick`` is four installations
in each world at 50 an hour and one law, enough to see a promise that is broken by far. ``--full``
is all rows with 20 installations each: hours of computing, so give it ``--out`` (what is in that
file is not played again) and ``--part``, or only some rows.

``--summary`` shows what was played of all rows by worlds and by laws, and names those not kept.

``--print-table`` is the table of docs/statistics.md: one metric becomes worse while as many are
watched as are shipped. It goes by arrays (``promising/arrays.py``), an installation in a second.

    python -m tests.benchmarks.promise [--full] [--out FILE] [--part 1/2] [--only 50/h 0.08]
    python -m tests.benchmarks.promise --summary --out FILE
    python -m tests.benchmarks.promise --print-table [--out FILE] [--installations 20]
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tests.benchmarks._sizes import parser
from tests.benchmarks.promising.arrays import told
from tests.benchmarks.promising.installation import settings
from tests.benchmarks.promising.laws import LAWS
from tests.benchmarks.promising.quiet import quietly
from tests.benchmarks.promising.results import Results, heading, row
from tests.benchmarks.promising.summary import by_law, by_world, not_kept
from tests.benchmarks.promising.table import by_threshold, by_traffic, one_watched
from tests.benchmarks.promising.weeks import Change, Found, Plan, played
from tests.benchmarks.promising.worlds import RATES, WORLDS, Cell

WEEKS: Final = 2.0
CHANGES: Final = (Change(1.5), Change(2.0), Change(3.0))
#: What the quick form plays.
QUICK: Final = tuple(Cell("50/h", world, "claims 0.08") for world in WORLDS)
QUICK_INSTALLATIONS, FULL_INSTALLATIONS = 4, 20


def cells(chosen: argparse.Namespace) -> list[Cell]:
    """The rows that are asked for."""
    if not chosen.full and not chosen.only:
        return [*QUICK]
    every = [Cell(*names) for names in itertools.product(RATES, WORLDS, LAWS)]
    return [cell for cell in every if all(word in cell.name for word in chosen.only)]


def part(of: Sequence[Cell], which: str) -> list[Cell]:
    """The k-th of n parts, for ``k/n``.

    >>> part([Cell(*"abc"), Cell(*"def"), Cell(*"ghi")], "2/2")
    [Cell(rate='d', world='e', law='f')]
    """
    number, parts = map(int, which.split("/"))
    return [*of[number - 1 :: parts]]


def play(results: Results, chosen: argparse.Namespace, cell: Cell, plan: Plan) -> Sequence[Found]:
    """The installations of a row; those that were played are not played again."""
    for number in range(chosen.installations):
        if not results.has(plan, cell, chosen.seed, number):
            if plan.share is not None:
                results.add(told(cell, chosen.seed, number, one_watched(), plan))
            elif chosen.played:
                results.add(played(cell, chosen.seed, number, settings(), plan))
            else:
                results.add(quietly(cell, chosen.seed, number, settings(), plan))
    return results.of(plan, cell)


def rows(results: Results, chosen: argparse.Namespace) -> Iterator[str]:
    """A line for each row, as it is there."""
    plan = Plan(chosen.weeks, CHANGES)
    yield heading(plan)
    for cell in part(cells(chosen), chosen.part):
        yield row(cell, plan, play(results, chosen, cell, plan))


def tables(results: Results, chosen: argparse.Namespace) -> Iterator[str]:
    """The two tables for users, in Markdown."""
    for table in (by_threshold, by_traffic):
        yield from table(lambda cell, plan: play(results, chosen, cell, plan))
        yield ""


def summary(results: Results, chosen: argparse.Namespace) -> Iterator[str]:
    """What was played of all rows, at a glance, in Markdown."""
    plan = Plan(chosen.weeks, CHANGES)
    yield from by_world(partial(results.of, plan))
    for change in CHANGES:
        yield f"\n{change.name}"
        yield from by_law(partial(results.of, plan), change)
    yield ""
    yield from not_kept(partial(results.of, plan))


def arguments() -> argparse.Namespace:
    """The command line."""
    line = parser(__doc__)
    line.add_argument("--seed", type=int, default=1)
    line.add_argument("--installations", type=int, help="of each row; default 4; full: 20")
    line.add_argument("--weeks", type=float, default=WEEKS, help="that are counted (2)")
    line.add_argument("--only", nargs="*", default=[], help="rows whose names have all of these")
    line.add_argument("--played", action="store_true", help="pick by pick, not by arrays")
    line.add_argument("--part", default="1/1", help="k/n: every n-th row, from the k-th on")
    line.add_argument("--out", type=Path, help="lines of results; what is there is not played")
    line.add_argument("--print-table", action="store_true", help="the tables for users instead")
    line.add_argument("--summary", action="store_true", help="of what --out has; plays nothing")
    chosen = line.parse_args()
    chosen.installations = chosen.installations or (
        FULL_INSTALLATIONS if chosen.full else QUICK_INSTALLATIONS
    )
    return chosen


def main() -> None:
    """Play what is asked for, and print a row after a row."""
    chosen = arguments()
    began = time.monotonic()
    shown = summary if chosen.summary else tables if chosen.print_table else rows
    for line in shown(Results(chosen.out), chosen):
        print(line, flush=True)
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
