"""How soon is a change for the worse seen, at how many false alarms?

The detector of ``monitor/stats/drift.py`` beside river's ADWIN, Page-Hinkley and KSWIN (as they
come, and tuned to the same run length), a rule on the mean of the last 100, and textbook CUSUM.

1. Average run length to a false alarm at A = 10,000, over six distributions of scores, none of
   which the detector is told of. Every run goes on until it alarms: nothing is censored. And
   all openings in 3·A slots, those after an alarm's end, too.
2. Known baseline 0.08, claims 1 + Poisson(4) of which those of one answer agree (ICC 1/3): judged
   interactions from the change to the alarm, after 2,000 in control; runs that alarmed before are
   left out (their share is printed). Ours also when it is worse from the first slot on, and with
   answers that are wholly right or wrong.
3. Learned baseline, three segments: worse inside the segments, the same masked by a shift of the
   mix, the shift alone, the recovery, and alarms that end while the change lasts.
4. The same with picks that a screen directs, at correlation 0.6, one of twenty members.
5. Bursts: seconds from a change to ×1.5 until the alarm, with the waits of exporter and scorers,
   where evidence asks for more judgements and where it does not, at a steady pace.

    python tests/benchmarks/drift.py [--full] [--seed 1] [--runs 1000] [--without KSWIN]
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from monitor.config.watching import Burst
from monitor.control.bursts import BurstAllowance
from tests.benchmarks._sizes import parser
from tests.benchmarks.drifting.bursts import Compared, compared
from tests.benchmarks.drifting.directed import DirectedWorld
from tests.benchmarks.drifting.ours import Detectors, agrees
from tests.benchmarks.drifting.rivals import (
    RIVALS,
    Rival,
    first_alarm,
    river_is_missing,
    run_length,
    tuned,
)
from tests.benchmarks.drifting.segmented import MIX, NORMAL, SHIFTED, WORSE_MIX, Phase, World
from tests.benchmarks.drifting.streams import STANDARD, STREAMS, Stream, whole

A: Final = 10_000.0
#: That of one judged a second: three metrics, one false alarm a week.
LARGE_A: Final = 1_814_400.0
BASELINE: Final = 0.08
CONTROL: Final = 2_000
MEANS: Final = (0.12, 0.16, 0.24, 0.40)
#: Judged a minute, and by how much a burst has to shorten the time to the alarm.
PACES: Final = (2, 20)
SHORTER: Final = 0.2
#: Most scores that a river detector may see after the change; it is then counted as this late.
PATIENCE: Final = 5_000
Lengths = NDArray[np.float64]


class Known:
    """Many runs with the known baseline."""

    def __init__(
        self, rng: np.random.Generator, runs: int, stream: Stream, threshold: float = A
    ) -> None:
        self.runs, self._rng, self._stream = runs, rng, stream
        self._detectors = Detectors(runs, threshold)

    def step(self, mean: float) -> Lengths:
        """One score in each run; the evidence."""
        by = self._stream(self._rng, self.runs, mean) - BASELINE
        return self._detectors.step(by, np.full(self.runs, BASELINE))

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """In which runs an alarm is open, shape (runs,)."""
        return self._detectors.is_open

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Go on with these runs only."""
        if which.all():  # nearly always
            return
        self._detectors.keep(which)
        self.runs = int(which.sum())


def until_alarm(world: Any, phase: Any) -> Lengths:
    """Slots until each run's first alarm; goes on until the last one has alarmed."""
    lengths: list[int] = []
    slot = 0
    while world.runs:
        slot += 1
        quiet = world.step(phase) < A
        lengths += [slot] * int((~quiet).sum())
        world.keep(quiet)
    return np.array(lengths, dtype=float)


def survive(world: Any, phase: Any, slots: int, threshold: float = A) -> float:
    """Let slots pass, drop the runs that alarm, and give their share."""
    before = world.runs
    for _ in range(slots):
        world.keep(world.step(phase) < threshold)
    found: float = 1.0 - world.runs / before
    return found


def shown(lengths: Lengths) -> str:
    """Mean ± standard error."""
    return f"{lengths.mean():9,.0f} ± {lengths.std() / np.sqrt(len(lengths)):.0f}"


def run_lengths(seed: int, runs: int) -> None:
    """Part 1."""
    print(f"\nAverage run length to a false alarm, A = {A:,.0f} ({runs} alarms each)")
    for number, (name, stream) in enumerate(STREAMS.items()):
        world = Known(np.random.default_rng([seed, 1, number]), runs, stream)
        lengths = until_alarm(world, BASELINE)
        low = lengths.mean() + 2 * lengths.std() / np.sqrt(runs) >= A
        verdict = "ok" if low and lengths.mean() <= 1.5 * A else "MISSED"
        print(f"  {name:18} {shown(lengths)}  {lengths.mean() / A:5.2f} A  {verdict}")


def openings(seed: int, runs: int) -> None:
    """Part 1, all openings and not only the first ones: in three times A slots of each run."""
    slots = 3 * int(A)
    print(f"\nOpenings in A slots, {runs} runs of {slots:,}; an alarm may come again after its end")
    for number, (name, stream) in enumerate(STREAMS.items()):
        world = Known(np.random.default_rng([seed, 11, number]), runs, stream)
        found, was_open = np.zeros(runs), world.is_open
        for _ in range(slots):
            world.step(BASELINE)
            found, was_open = found + (world.is_open & ~was_open), world.is_open
        mean, se = found.mean() / 3, found.std() / 3 / np.sqrt(runs)
        verdict = "ok" if mean <= 1.0 + 2 * se else "MISSED"
        print(f"  {name:18} {mean:9.2f} ± {se:.2f}   of {found.sum():,.0f} openings  {verdict}")


def delays(seed: int, runs: int, stream: Stream = STANDARD, control: int = CONTROL) -> str:
    """Part 2, ours: one cell for each mean."""
    cells = []
    for number, mean in enumerate(MEANS):
        world = Known(np.random.default_rng([seed, 2, number]), runs, stream)
        survive(world, BASELINE, control)
        cells.append(f"{until_alarm(world, mean).mean():7.0f}")
    return "  ".join(cells)


def rival_delays(rival: Rival, parameter: float, seed: int, runs: int) -> Iterator[str]:
    """Part 2 for one rival: mean delay, and the share of runs that alarmed before the change."""
    for number, mean in enumerate(MEANS):
        rng = np.random.default_rng([seed, 3, number])
        late, early = [], 0
        for _ in range(runs):
            alarm = rival.family(parameter)
            if first_alarm(alarm, STANDARD(rng, CONTROL, BASELINE).tolist()) is not None:
                early += 1
                continue
            late.append(first_alarm(alarm, STANDARD(rng, PATIENCE, mean).tolist()) or PATIENCE)
        shown_mean = f"{np.mean(late):7.0f}" if late else "      –"
        yield shown_mean + (f" ({early / runs:.0%} before)" if early > runs / 2 else "")


def known_baseline(seed: int, runs: int, full: bool, without: list[str]) -> None:
    """Part 2."""
    print(f"\nKnown baseline {BASELINE}: judged interactions to the alarm, mean")
    print(f"  {'':30} {'run length':>12}  " + "  ".join(f"→{mean:.2f}  " for mean in MEANS))
    rng = np.random.default_rng([seed, 4])
    control = STANDARD(rng, 600_000 if full else 100_000, BASELINE)
    ours = until_alarm(Known(rng, runs, STANDARD), BASELINE).mean()
    print(f"  {'mixture e-SR (this package)':30} {ours:12,.0f}  {delays(seed, runs)}")
    print(f"  {'  cold: worse from the start':30} {'':12}  {delays(seed, runs, control=0)}")
    print(f"  {'  whole answers, 0/1':30} {'':12}  {delays(seed, runs, whole)}")
    lasting(seed, runs)
    for rival in RIVALS:
        if rival.name in without:
            continue
        scores = control[: int(len(control) / (1 + rival.cost / 20))]
        repeats = max(5, int((300 if full else 60) / (1 + rival.cost / 20)))
        found = tuned(rival, scores, A, rounds=6 if rival.cost > 10 else 10)
        for kind, parameter in (("default", rival.default), ("tuned", found)):
            if parameter is None:
                continue
            length = run_length(rival.family, parameter, scores)
            cells = "  ".join(rival_delays(rival, parameter, seed, repeats))
            print(f"  {f'{rival.name}, {kind} ({parameter:.3g})':30} {length:12,.0f}  {cells}")


def lasting(seed: int, runs: int) -> None:
    """How often an alarm ends though ×2 lasts, and how soon when it does not, at a known mean."""
    for threshold in (A, LARGE_A):
        world = Known(np.random.default_rng([seed, 12]), runs, STANDARD, threshold)
        survive(world, BASELINE, CONTROL, threshold)
        show_ends(f"A = {threshold:,.0f}", world, 2.0 * BASELINE, BASELINE)


def show_ends(name: str, world: Any, worse: Any, fine: Any) -> None:
    """One line: ends in vain, and the median number of slots to a true one."""
    found, se = false_recoveries(world, worse)
    world.keep(world.is_open)
    median = np.median(ends_of(world, fine))
    verdict = "ok" if found <= MOST_FALSE_RECOVERIES + 2 * se else "MISSED"
    print(
        f"  ended while ×2 lasts, {name}: {found:.3f} ± {se:.3f} per 1,000 judged, at most "
        f"{MOST_FALSE_RECOVERIES}; truly recovered after {median:.0f} (median)  {verdict}"
    )


def learned_baseline(seed: int, runs: int, learn: int) -> None:
    """Part 3."""
    print(f"\nLearned baseline ({learn:,} slots), three segments: judged interactions to the alarm")
    cases = {
        "×2": Phase(MIX, 2.0),
        "×1.5": Phase(MIX, 1.5),
        "×2 masked by the mix": Phase(SHIFTED, 2.0),
    }
    for number, (name, phase) in enumerate(cases.items()):
        world = World(np.random.default_rng([seed, 5, number]), runs, learn, A)
        early = survive(world, NORMAL, CONTROL)
        print(f"  {name:24} {shown(until_alarm(world, phase))}   ({early:.1%} alarmed before)")
    world = World(np.random.default_rng([seed, 6]), runs, learn, A)
    survive(world, NORMAL, CONTROL)
    share = survive(world, Phase(WORSE_MIX), CONTROL)
    print(f"  mix shift alone: alarmed within {CONTROL:,}: {share:.3f} of {runs}")
    cleared = recovery(seed, runs, learn)
    print(
        f"  cleared after the recovery from ×2: {shown(cleared)}, median {np.median(cleared):.0f}, "
        f"longest {cleared.max():.0f}"
    )
    for tolerate, name in ((0.0, "nothing tolerated"), (TOLERATED, "10 % tolerated")):
        world = World(np.random.default_rng([seed, 11]), runs, learn, A, tolerate)
        survive(world, NORMAL, CONTROL)
        show_ends(name, world, Phase(MIX, 2.0), NORMAL)


#: Slots of a change that lasts; and how often it may look as if it were over in 1,000 of them.
LASTING: Final = 3_000
MOST_FALSE_RECOVERIES: Final = 0.1
#: ``drift.tolerate`` as it comes: a share of the mean.
TOLERATED: Final = 0.1


CASES: Final = {
    "×2": (Phase(MIX, 2.0), 65),
    "×1.5": (Phase(MIX, 1.5), 200),
    "×2 masked by the mix": (Phase(SHIFTED, 2.0), 150),
}


def directed_picks(seed: int, runs: int, learn: int, correlation: float = 0.6) -> None:
    """Part 4."""
    print(f"\nThe same, picks directed at correlation {correlation}: judged to the alarm")
    for number, (name, (phase, most)) in enumerate(CASES.items()):
        rng = np.random.default_rng([seed, 8, number])
        world = DirectedWorld(rng, runs, learn, A, correlation)
        early = survive(world, NORMAL, CONTROL)
        found = until_alarm(world, phase)
        low = found.mean() - 2 * found.std() / np.sqrt(len(found)) <= most
        verdict = "ok" if low else "MISSED"
        print(f"  {name:24} {shown(found)}   ({early:.1%} before)  at most {most}  {verdict}")


def bursts(seed: int, runs: int, learn: int) -> None:
    """Part 5; at the larger threshold without a bar."""
    burst = Burst()
    allowed = BurstAllowance(burst.times, burst.per_day_s, UTC)
    for threshold, least in ((A, SHORTER), (LARGE_A, 0.0)):
        print(
            f"\nBursts of up to ×{burst.times} for {burst.per_day} a day, A = {threshold:,.0f}: "
            "seconds until ×1.5 is seen"
        )
        bursts_at(threshold, least, allowed, seed, runs, learn)


def bursts_at(
    threshold: float, least: float, allowed: BurstAllowance, seed: int, runs: int, learn: int
) -> None:
    """Part 5 at one threshold."""
    known = Known(np.random.default_rng([seed, 9]), runs, STANDARD, threshold)
    full = DirectedWorld(np.random.default_rng([seed, 10]), runs, learn, threshold, 0.6)
    for name, world, control, phase in (
        ("known baseline", known, BASELINE, 1.5 * BASELINE),
        ("learned, segments, directed", full, NORMAL, Phase(MIX, 1.5)),
    ):
        survive(world, control, CONTROL, threshold)
        paths = evidence_paths(world, control, phase, threshold)
        for per_minute in PACES:
            found = compared(paths, per_minute, allowed, threshold, seed)
            show_burst(name, found, per_minute, allowed, least)


def evidence_paths(world: Any, control: Any, phase: Any, threshold: float) -> Lengths:
    """The evidence before the change, and after each slot, until all have long alarmed."""
    found = [world.step(control)]
    while (np.max(found, axis=0) < threshold).any():
        found.append(world.step(phase))
    return np.array([*found, *(world.step(phase) for _ in range(len(found)))])


def show_burst(
    name: str, found: Compared, per_minute: int, allowed: BurstAllowance, least: float
) -> None:
    """One line."""
    before, after = (np.array([run.after_s for run in runs]) for runs in found)
    shorter, se = found.shorter
    most_s = max(run.granted_s for run in found.with_bursts)
    extra, bound = found.extra(per_minute), (allowed.times - 1) * allowed.per_day_s / 60
    kept = most_s <= allowed.per_day_s and extra <= bound * per_minute
    verdict = "ok" if shorter + 2 * se >= least and kept else "MISSED"
    print(
        f"  {name:28} {per_minute:2}/min {shown(before)} → {shown(after)}   "
        f"{shorter:.1%} ± {se:.1%} shorter, at least {least:.0%}; granted at most {most_s} s, "
        f"{extra:.0f} more judged of {bound * per_minute:.0f}  {verdict}"
    )


def recovery(seed: int, runs: int, learn: int) -> Lengths:
    """Slots from the recovery to the alarm's end, in the runs where one was open at that moment."""
    world = World(np.random.default_rng([seed, 7]), runs, learn, A)
    survive(world, NORMAL, CONTROL)
    for _ in range(400):
        world.step(Phase(MIX, 2.0))
    world.keep(world.is_open)
    return ends_of(world, NORMAL)


def ends_of(world: Any, fine: Any) -> Lengths:
    """Slots from now to the end of the alarms that are open, in one run each."""
    lengths: list[int] = []
    slot = 0
    while world.runs:
        slot += 1
        world.step(fine)
        open_still = world.is_open
        lengths += [slot] * int((~open_still).sum())
        world.keep(open_still)
    return np.array(lengths, dtype=float)


def false_recoveries(world: Any, worse: Any) -> tuple[float, float]:
    """Ends of an open alarm in 1,000 slots of a change that lasts, with the standard error."""
    ends, slots = np.zeros(world.runs), np.zeros(world.runs)
    for _ in range(LASTING):
        was_open = world.is_open.copy()
        world.step(worse)
        ends += was_open & ~world.is_open
        slots += was_open
    rates = 1_000 * ends / np.maximum(slots, 1)
    return 1_000 * float(ends.sum() / slots.sum()), float(rates.std() / np.sqrt(len(rates)))


def main() -> None:
    """Print all tables."""
    line = parser(__doc__)
    line.add_argument("--seed", type=int, default=1)
    line.add_argument("--runs", type=int, default=None, help="default 300; full: 1,000")
    line.add_argument("--learn", type=int, default=1_000, help="slots of a learned baseline")
    line.add_argument("--without", nargs="*", default=[], help="rivals to leave out")
    chosen = line.parse_args()
    runs = chosen.runs or (1_000 if chosen.full else 300)
    began = time.monotonic()
    if not agrees(chosen.seed):
        raise SystemExit("the recursion over arrays differs from monitor/stats/drift.py")
    run_lengths(chosen.seed, runs)
    openings(chosen.seed, runs)
    learned_baseline(chosen.seed, runs, chosen.learn)
    directed_picks(chosen.seed, runs // 3, chosen.learn)
    bursts(chosen.seed, runs, chosen.learn)
    without = [*chosen.without, *([] if chosen.full else ["KSWIN"])]
    if river_is_missing():
        print("\nriver is not installed (make bench does it): ADWIN, Page-Hinkley, KSWIN left out")
        without += [rival.name for rival in RIVALS if rival.of_river]
    known_baseline(chosen.seed, runs, chosen.full, without)
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
