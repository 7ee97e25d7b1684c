"""What installations have seen: kept in a file, one line each, and shown as rows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.benchmarks.promising.weeks import Delay, Found

#: Openings a week, and those of the worst tenth of the installations.
PROMISED, PROMISED_WORST = 1.0, 3.0
_WIDTH: Final = 40


class Results:
    """The lines of a file, or of this run only without one."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._found: dict[tuple[str, int, int], Found] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                self._hold(_found(json.loads(line)))

    def _hold(self, found: Found) -> None:
        self._found[found.cell, found.seed, found.number] = found

    def has(self, cell: str, seed: int, number: int) -> bool:
        """Whether an installation was played."""
        return (cell, seed, number) in self._found

    def add(self, found: Found) -> None:
        """One more; whole lines, so that several may write to one file."""
        self._hold(found)
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps(found.line()) + "\n")

    def of(self, cell: str) -> list[Found]:
        """All of a row."""
        return [found for (name, _, _), found in sorted(self._found.items()) if name == cell]


def _found(line: dict[str, Any]) -> Found:
    delays = {factor: Delay(*delay) for factor, delay in line.pop("delays").items()}
    return Found(**line, delays=delays)


def heading(factors: Sequence[float]) -> str:
    """Of the columns."""
    changes = "  ".join(f"{f'×{factor:g}: judged':>14} {'hours':>16}" for factor in factors)
    return f"{'':{_WIDTH}}  n  openings a week  worst tenth  in alarm  learned  {changes}"


def row(cell: str, found: Sequence[Found], factors: Sequence[float]) -> str:
    """What the installations of a row have seen."""
    counted = [one for one in found if one.weeks]
    if not counted:
        return f"{cell:{_WIDTH}} {len(found):2}  no baseline"
    weekly = np.array([one.openings / one.weeks for one in counted])
    mean, se = weekly.mean(), weekly.std() / math.sqrt(len(weekly))
    worst = np.sort(weekly)[-math.ceil(len(weekly) / 10) :].mean()
    in_alarm = np.mean([one.in_alarm for one in counted])
    learned_h = np.median([one.learned_h or 0.0 for one in counted])
    changes = "  ".join(_delays([o.delays.get(f"{f:g}") for o in counted]) for f in factors)
    missed = mean > PROMISED + 2 * se or worst > PROMISED_WORST
    return (
        f"{cell:{_WIDTH}} {len(counted):2}  {mean:8.2f} ± {se:4.2f}  {worst:11.2f}  {in_alarm:8.2%}"
        f"  {learned_h:5.0f} h  {changes}  {'MISSED' if missed else 'ok'}"
    )


def _delays(found: Sequence[Delay | None]) -> str:
    """Judged and hours: median, and what nine of ten need at most."""
    delays = [one for one in found if one is not None]
    if not delays:
        return f"{'–':>14} {'–':>16}"
    judged = quantiles([math.inf if one.judged is None else one.judged for one in delays])
    hours = quantiles([math.inf if one.hours is None else one.hours for one in delays])
    whole = " ".join(_shown(value, "{:.0f}") for value in judged)
    return f"{whole:>14} {' '.join(_shown(value, '{:.2g}') for value in hours):>16}"


def quantiles(values: Sequence[float]) -> tuple[float, float]:
    """The median, and what nine of ten are at most; either may be infinite.

    >>> quantiles([1.0, 2.0, 3.0, 4.0, float("inf")])
    (3.0, inf)
    """
    ordered = sorted(values)
    median, most = (ordered[math.ceil(share * len(ordered)) - 1] for share in (0.5, 0.9))
    return median, most


def _shown(value: float, as_text: str) -> str:
    return "never" if math.isinf(value) else as_text.format(value)
