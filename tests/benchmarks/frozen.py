"""Does a baseline that people freeze keep the promise of one that is learned?

An installation learns, and at a moment of its third day somebody freezes what is usual: nothing is
worse than before, then or later (``--at-worst``: when the better half of the day is over, so that
little of the other one is frozen). Counted are the openings of the three metrics until seven whole
days are known, and in the week after them. Beside it stands what an earlier version froze: it
tolerates no more in hours that it has not seen, and no days teach it any.

Traffic, scores, detectors, learner and alarms are those of ``promise.py``, pick by pick.

    python -m tests.benchmarks.frozen [--full] [--rates 110/h] [--worlds "day ±25 %"] [--at-worst]
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev
from typing import Final, NamedTuple

from tests.benchmarks._sizes import parser
from tests.benchmarks.promising.installation import Installation, Look, Pick, picks, settings
from tests.benchmarks.promising.worlds import DAY, Cell, Traffic

#: The day on which it is frozen; then days until seven whole ones are known, and as many after.
FROZEN_DAY: Final = 2
KNOWN_DAYS: Final = 8
COUNTED_DAYS: Final = 7
LAW: Final = "claims 0.08"
WORLDS: Final = ("i.i.d.", "day ±10 %", "day ±25 %", "days ±5 %")
RATES: Final = ("50/h", "10/min")
QUICK, FULL = 2, 20


class Played(NamedTuple):
    """Openings a week until its days are known, and after that; hours that it was frozen from."""

    before: float
    after: float
    hours: float


class _Frozen:
    """One installation."""

    def __init__(self, cell: Cell, seed: int, number: int) -> None:
        self._traffic = Traffic(cell, seed, number)
        self._chosen = settings()
        self._installation = Installation(self._chosen, self._traffic.start)
        self._picks = self._all()
        self._next = next(self._picks)

    def _all(self) -> Iterator[Pick]:
        for day in range(FROZEN_DAY + KNOWN_DAYS + COUNTED_DAYS + 1):
            yield from picks(self._traffic.day(day), day * 10_000_000)

    def until(self, end: float) -> int:
        """Openings until then."""
        looks = list[Look]()
        while self._next.at <= end:
            looks += self._installation.play(self._next)
            self._next = next(self._picks)
        looks += self._installation.until(end)
        return sum(one.state == "open" for look in looks for one in look.records)

    def through(self, *, as_earlier: bool, at_worst: bool) -> Played:
        """All of it."""
        midnight = self._traffic.start + FROZEN_DAY * DAY
        at = midnight + self._traffic.rng(3).random() * DAY
        if at_worst:
            at = self._traffic.past_the_good(FROZEN_DAY)
        self.until(at)
        seen_s = self._installation.freeze(at, as_earlier=as_earlier)
        known = midnight + KNOWN_DAYS * DAY
        before = self.until(known) / ((known - at) / (7 * DAY))
        after = self.until(known + COUNTED_DAYS * DAY) / (COUNTED_DAYS / 7)
        return Played(before, after, seen_s / 3_600)


def played(job: tuple[Cell, int, int, bool, bool]) -> Played:
    """One installation."""
    cell, seed, number, as_earlier, at_worst = job
    gc.disable()
    try:
        return _Frozen(cell, seed, number).through(as_earlier=as_earlier, at_worst=at_worst)
    finally:
        gc.enable()


def summed_up(name: str, found: Sequence[float]) -> str:
    """Mean, its standard error, and the mean of the worst tenth."""
    error = stdev(found) / len(found) ** 0.5 if len(found) > 1 else 0.0
    worst = sorted(found)[-max(1, len(found) // 10) :]
    return f"{name} {fmean(found):.2f} ± {error:.2f}, worst tenth {fmean(worst):.1f}"


def arguments() -> argparse.Namespace:
    """The command line."""
    line = parser(__doc__)
    line.add_argument("--seed", type=int, default=1)
    line.add_argument("--installations", type=int, help="of each row; default 2; full: 20")
    line.add_argument("--rates", nargs="*")
    line.add_argument("--worlds", nargs="*")
    line.add_argument("--law", default=LAW)
    line.add_argument("--at-worst", action="store_true")
    chosen = line.parse_args()
    chosen.installations = chosen.installations or (FULL if chosen.full else QUICK)
    chosen.rates = chosen.rates or (RATES if chosen.full else RATES[1:])
    chosen.worlds = chosen.worlds or (WORLDS if chosen.full else ("day ±25 %",))
    return chosen


def main() -> None:
    """Print a row after a row."""
    chosen = arguments()
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for rate in chosen.rates:
            for world in chosen.worlds:
                cell = Cell(rate, world, chosen.law)
                for as_earlier in (True, False):
                    numbers = range(chosen.installations)
                    jobs = [
                        (cell, chosen.seed, number, as_earlier, chosen.at_worst)
                        for number in numbers
                    ]
                    found = pool.map(played, jobs, 1)
                    who = "as before" if as_earlier else "as it is "
                    print(
                        f"{cell.name} | {who} | of {fmean(one.hours for one in found):.1f} h | "
                        "openings a week: "
                        + summed_up("until days are known", [one.before for one in found])
                        + "; "
                        + summed_up("then", [one.after for one in found]),
                        flush=True,
                    )


if __name__ == "__main__":
    main()
