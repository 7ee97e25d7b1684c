"""What installations have seen: kept in a file, one line each, and shown as rows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from tests.benchmarks.promising.weeks import Change, Delay, Found, Plan
from tests.benchmarks.promising.worlds import Cell

#: Openings a week, and those of the worst tenth of the installations.
PROMISED, PROMISED_WORST = 1.0, 3.0
_WIDTH: Final = 40


class Results:
    """The lines of a file, or of this run only without one."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._found: dict[tuple[str, str, int, int], Found] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                self._hold(_found(json.loads(line)))

    def _hold(self, found: Found) -> None:
        self._found[found.plan, found.cell, found.seed, found.number] = found

    def has(self, plan: Plan, cell: Cell, seed: int, number: int) -> bool:
        """Whether an installation was played."""
        return (plan.name, cell.name, seed, number) in self._found

    def add(self, found: Found) -> None:
        """One more; whole lines, so that several may write to one file."""
        self._hold(found)
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps(found.line()) + "\n")

    def of(self, plan: Plan, cell: Cell) -> list[Found]:
        """All installations of a row."""
        names = plan.name, cell.name
        return [found for key, found in self._found.items() if key[:2] == names]


def _found(line: dict[str, Any]) -> Found:
    delays = {factor: Delay(*delay) for factor, delay in line.pop("delays").items()}
    return Found(**line, delays=delays)


def heading(plan: Plan) -> str:
    """Of the columns."""
    changes = "  ".join(f"{f'×{one.times:g}: judged':>14} {'hours':>14}" for one in plan.changes)
    return f"{'':{_WIDTH}}  n  openings a week  worst tenth  in alarm  learned  {changes}"


class Weekly(NamedTuple):
    """Openings a week: their mean, its standard error, and the mean of the worst tenth."""

    mean: float
    se: float
    worst: float

    @property
    def is_kept(self) -> bool:
        """Whether that is what was promised."""
        return self.mean <= PROMISED + 2 * self.se and self.worst <= PROMISED_WORST


def openings(found: Sequence[Found]) -> Weekly:
    """Those of installations that have had a baseline; there must be one."""
    weekly = np.array([one.openings / one.weeks for one in found if one.weeks])
    se = math.inf
    if len(weekly) > 1:
        se = weekly.std(ddof=1) / math.sqrt(len(weekly))
    worst = np.sort(weekly)[-math.ceil(len(weekly) / 10) :].mean()
    return Weekly(float(weekly.mean()), float(se), float(worst))


def row(cell: Cell, plan: Plan, found: Sequence[Found]) -> str:
    """What the installations of a row have seen."""
    counted = [one for one in found if one.weeks]
    if not counted:
        return f"{cell.name:{_WIDTH}} {len(found):2}  no baseline"
    weekly = openings(counted)
    in_alarm = np.mean([one.in_alarm for one in counted])
    learned_h = np.median([one.learned_h or 0.0 for one in counted])
    return (
        f"{cell.name:{_WIDTH}} {len(counted):2}  {weekly.mean:8.2f} ± {weekly.se:4.2f}"
        f"  {weekly.worst:11.2f}"
        f"  {in_alarm:8.2%}  {learned_h:5.0f} h  {_delays(plan, counted)}"
        f"  {'ok' if weekly.is_kept else 'MISSED'}"
    )


def _delays(plan: Plan, found: Sequence[Found]) -> str:
    cells = []
    for change in plan.changes:
        judged, hours = delays(change, found) or ("–", "–")
        cells.append(f"{judged:>14} {hours:>14}")
    return "  ".join(cells)


def delays(change: Change, found: Sequence[Found]) -> tuple[str, str] | None:
    """Judged and hours until its alarm: median, and what nine of ten need at most.

    None where there was no such change.
    """
    seen = [one.delays[change.name] for one in found if change.name in one.delays]
    if not seen:
        return None
    judged = quantiles([math.inf if one.judged is None else one.judged for one in seen])
    hours = quantiles([math.inf if one.hours is None else one.hours for one in seen])
    return _pair(judged), _pair(hours)


def delays_with_error(change: Change, found: Sequence[Found]) -> str:
    """Hours and judged until its alarm: medians, that of the judged with its standard error."""
    seen = delays(change, found)
    return "–" if seen is None else f"{seen[1]}, {judged_with_error(change, found)}"


def judged_with_error(change: Change, found: Sequence[Found]) -> str:
    """Judged until its alarm: median with its standard error, and what nine of ten need at most."""
    seen = [one.delays[change.name].judged for one in found if change.name in one.delays]
    if not seen:
        return "–"
    judged = [math.inf if one is None else one for one in seen]
    median, most = map(_shown, quantiles(judged))
    error = median_error(judged)
    # Nothing where the median is too near to never.
    told = "" if math.isinf(error) else f" ± {_shown(error)}"
    return f"{median}{told} ({most})"


def median_error(values: Sequence[float]) -> float:
    """The standard error of the median: half of what lies between the ranks n/2 ± √n/2.

    >>> median_error(range(100)), median_error([1.0, 2.0, 3.0, float("inf")])
    (5.5, inf)
    """
    ordered, n = sorted(values), len(values)
    lower = max(0, math.floor((n - math.sqrt(n)) / 2))
    upper = min(n - 1, math.ceil((n + math.sqrt(n)) / 2))
    return math.inf if math.isinf(ordered[upper]) else (ordered[upper] - ordered[lower]) / 2


def quantiles(values: Sequence[float]) -> tuple[float, float]:
    """The median, and what nine of ten are at most; either may be infinite.

    >>> quantiles([1.0, 2.0, 3.0, 4.0, float("inf")])
    (3.0, inf)
    """
    ordered = sorted(values)
    median, most = (ordered[math.ceil(share * len(ordered)) - 1] for share in (0.5, 0.9))
    return median, most


def _pair(found: tuple[float, float]) -> str:
    median, most = map(_shown, found)
    return f"{median} ({most})"


def _shown(value: float) -> str:
    """Two digits, or all before the point."""
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
