"""What an alarm says the mean rose to: at once, and once it has settled.

A baseline is learned from 1,000 slots at 0.08 as the exporter learns it, 200 in control follow,
then the mean is ×1.5, ×2 or ×3. At the first alarm: the change that the record says over the true
one (the sums of all alarms), how often its interval holds the true mean, and how wide it is; the
same of ``settled``, from as many slots again. Left out are alarms from before, and those that end
before they settle. Claims as answers have them, and answers that are wholly right or wrong.

Promised of claims: at once 0.9 to 1.15, settled 0.95 to 1.05; all intervals 93 times in 100.

Then what an alarm's end says the mean is back at, beside the true one: after ×2 for 600 judged the
mean is 0.08 again; or ×2 lasts, and the end is in vain. Nothing is promised of the latter: it ends
because it looks as if all were well.

    python -m tests.benchmarks.what_it_rose_to [--full] [--seed 1] [--alarms 250] [--ends 60]
        [--threshold 1300]
"""

from __future__ import annotations

import math
import time
from typing import Final, NamedTuple

import numpy as np

from monitor.exporter.alarms.transitions import transitions
from monitor.exporter.scores.detectors import DriftDetectors, DriftSettings, Normal
from monitor.records.alarm import AlarmRecord, SettledMean
from monitor.stats.baseline import ScoredPick, Tolerance, learned
from tests.benchmarks._sizes import parser
from tests.benchmarks.drifting.streams import STANDARD, Stream, whole
from tests.benchmarks.what_changed import DAY, JUDGE, METRIC, START, candidate, observation

MEAN: Final = 0.08
LEARN, CONTROL, MOST = 1_000, 200, 12_000
#: Of a change before its end; and how long an end in vain is waited for.
WORSE, MOST_LASTING = 600, 60_000
THRESHOLDS: Final = (25_200.0, 1_814_400.0)
STREAMS: Final = {"claims": STANDARD, "whole 0/1": whole}
FACTORS: Final = (1.5, 2.0, 3.0)


class Told(NamedTuple):
    """The record at the alarm, and once it has settled."""

    opened: AlarmRecord
    settled: AlarmRecord


class Watched:
    """One detector whose picks are uniform, one a second."""

    def __init__(self, rng: np.random.Generator, stream: Stream, threshold: float) -> None:
        self._rng, self._stream, self._judged = rng, stream, 0
        settings = DriftSettings((METRIC,), 1.0, threshold, Tolerance(share=0.1), 7 * DAY, 0)
        self._drift = DriftDetectors(settings)
        self._last: dict[str, AlarmRecord] = {}

    def step(self, mean: float) -> ScoredPick:
        """One judged interaction."""
        value = float(self._stream(self._rng, 1, mean)[0])
        slot = observation("", value, failed=False)
        self._drift.apply(candidate(self._judged, slot), slot, +1)
        self._judged += 1
        return ScoredPick("", 1.0, value)

    def learn(self) -> None:
        """The baseline of the first slots."""
        baseline = learned([self.step(MEAN) for _ in range(LEARN)])
        if baseline is None:
            raise SystemExit("nothing was scored while learning")
        self._drift.set_normal("bot", JUDGE.label, Normal({METRIC: baseline}, self._now))

    @property
    def _now(self) -> float:
        return float(START + self._judged - 1)

    def look(self) -> AlarmRecord | None:
        """What is published now."""
        now, drift = self._now, self._drift
        found = transitions(self._last, drift.states(now), drift.history, now, None, drift.later)
        self._last.update({one.key: one for one in found})
        return found[0] if found else None

    def told(self, mean: float) -> Told | None:
        """What is said of a change to this mean; None where an alarm was open before, or ends."""
        self.learn()
        for _ in range(CONTROL):
            self.step(MEAN)
        if self.look() is not None:
            return None
        opened = None
        for _ in range(MOST):
            self.step(mean)
            found = self.look()
            if opened is None:
                opened = found
            elif found is not None:
                return Told(opened, found) if found.settled else None
        return None

    def ended(self, mean: float, *, lasts: bool) -> AlarmRecord | None:
        """The end of the first alarm; None where one was open before, or it is not waited for."""
        self.learn()
        for _ in range(CONTROL):
            self.step(MEAN)
        if self.look() is not None:
            return None
        for number in range(MOST_LASTING):
            self.step(mean if lasts or number < WORSE else MEAN)
            found = self.look()
            if found is not None and found.state == "closed":
                return found if lasts or number >= WORSE else None
        return None


class Row(NamedTuple):
    """The change said over the true one with its error; how many intervals hold, their width."""

    ratio: float
    error: float
    holds: float
    width: float

    def __str__(self) -> str:
        return f"{self.ratio:5.2f} ± {self.error:.2f}  {self.holds:5.1%} of {self.width:.3f}"


def row(said: list[tuple[float, float, float, float]], mean: float) -> Row:
    """From value, lower, upper and before of each alarm."""
    over = np.array([value - before for value, _, _, before in said])
    ratio = over.mean() / (mean - MEAN)
    error = over.std() / math.sqrt(len(over)) / (mean - MEAN)
    holds = np.mean([lower <= mean <= upper for _, lower, upper, _ in said])
    width = np.mean([upper - lower for _, lower, upper, _ in said])
    return Row(float(ratio), float(error), float(holds), float(width))


def rows(told: list[Told], mean: float) -> tuple[Row, Row]:
    """At once, and settled."""
    at_once, settled = [], []
    for opened, later in told:
        change, now = opened.change, later.settled
        if change.value is None or change.lower is None or change.upper is None or now is None:
            raise SystemExit("an alarm says nothing of its mean")
        at_once.append((change.value, change.lower, change.upper, change.before))
        settled.append((now.value, now.lower, now.upper, change.before))
    return row(at_once, mean), row(settled, mean)


def verdict(name: str, at_once: Row, settled: Row) -> str:
    """Whether what was promised of claims holds, to two standard errors."""
    if name != "claims":
        return ""
    near = 0.9 - 2 * at_once.error <= at_once.ratio <= 1.15 + 2 * at_once.error
    right = abs(settled.ratio - 1.0) <= 0.05 + 2 * settled.error
    held = min(at_once.holds, settled.holds) >= 0.93
    return "ok" if near and right and held else "MISSED"


def ends(seed: int, threshold: float, wanted: int, *, lasts: bool) -> str:
    """A line: what so many ends say of the mean, over the true one."""
    mean, found, number = 2.0 * MEAN, list[SettledMean](), 0
    while len(found) < wanted:
        rng = np.random.default_rng([seed, 9, int(threshold), lasts, number])
        record, number = Watched(rng, STANDARD, threshold).ended(mean, lasts=lasts), number + 1
        if record is not None and record.recovered is not None:
            found.append(record.recovered)
    true = mean if lasts else MEAN
    told = np.array([one.value for one in found])
    holds = np.mean([one.lower <= true <= one.upper for one in found])
    what = "×2 lasts, ended in vain" if lasts else "after ×2, truly ended"
    return (
        f"claims, A = {threshold:,.0f}, {what:24} {told.mean() / true:5.2f} ± "
        f"{told.std() / math.sqrt(wanted) / true:.2f}  {holds:5.1%} of {wanted}"
    )


def main() -> None:
    """Print a line for each kind of score, threshold and change; then of ends."""
    line = parser(__doc__)
    line.add_argument("--seed", type=int, default=1)
    line.add_argument("--alarms", type=int, default=None, help="default 40; full: 250")
    line.add_argument("--threshold", type=float, help="default 25,200 and 1.8 million")
    line.add_argument("--ends", type=int, default=None, help="default 10; full: 60")
    chosen = line.parse_args()
    alarms = chosen.alarms or (250 if chosen.full else 40)
    thresholds = THRESHOLDS if chosen.threshold is None else (chosen.threshold,)
    began = time.monotonic()
    print(f"{'':42}{'at once / true, holds, width':>32}{'settled / true, holds, width':>32}")
    for number, (name, stream) in enumerate(STREAMS.items()):
        for threshold in thresholds:
            for factor in FACTORS:
                told: list[Told] = []
                left_out = 0
                while len(told) < alarms:
                    seeds = [chosen.seed, number, int(threshold), int(10 * factor)]
                    rng = np.random.default_rng([*seeds, len(told), left_out])
                    found = Watched(rng, stream, threshold).told(MEAN * factor)
                    if found is None:
                        left_out += 1
                    else:
                        told.append(found)
                at_once, settled = rows(told, MEAN * factor)
                cells = f"{at_once!s:>32}{settled!s:>32}  {verdict(name, at_once, settled)}"
                what = f"{name}, A = {threshold:,.0f}, ×{factor:g} ({left_out} left out)"
                print(f"{what:42}{cells}", flush=True)
    wanted = chosen.ends or (60 if chosen.full else 10)
    print("\nback at / true, and how many intervals hold the true mean")
    for threshold in thresholds:
        for lasts in (False, True):
            print(ends(chosen.seed, threshold, wanted, lasts=lasts), flush=True)
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
