"""The demo over many seeds: is the incident seen, told and over in time, and is the truth held?

    python -m tests.benchmarks.demo_seeds [--seeds 20] [--seconds 55] [--at-once 2] [--simulated]

Without ``--simulated`` each seed is a real ``rag-monitor demo`` with its embedded broker, in real
time; with it, the same traffic, judge and books on a clock of their own (seconds a seed). Without
arguments two real seeds run.

Of each seed, in seconds after the traffic's start (the first gauge: after the program's):

- first gauge, baseline learned, first alarm, how many had been judged in the incident by then, and
  when the last alarm of it was over. An alarm may close and open again while the evidence is at
  its threshold: «× n» says how often it opened;
- «early»: an alarm of any metric before the incident;
- visible: the lower bound in the incident lies above the upper bound before it;
- inside: in how many phases the mix's exact expectation lies inside the interval.

Exits with 1 unless at least 95 % of the seeds have no early alarm, and alarm and clear in time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from monitor.demo.options import DemoOptions
from tests.benchmarks.demo_simulated import Simulation

METRIC = "noise_sensitivity_irrelevant"
INCIDENT_AT = 24.0
BAR = 0.95
#: What is expected, in seconds, but ``judged``.
EXPECTED = {
    "first gauge": (0.0, 10.0),
    "baseline": (0.0, 22.0),
    "alarm": (27.0, 33.0),
    "clear": (36.0, 40.0),
}


class Course(NamedTuple):
    """What is looked at of one seed; None: it did not happen."""

    seed: int
    first_gauge_s: float | None
    baseline_s: float | None
    early: int
    opened: int
    alarm_s: float | None
    judged: int | None
    clear_s: float | None
    others: int
    is_visible: bool
    inside: int
    phases: int

    @property
    def is_good(self) -> bool:
        """No early alarm, and the incident's opened and closed within the run."""
        return not self.early and self.alarm_s is not None and self.clear_s is not None

    def line(self) -> str:
        """For reading."""
        return (
            f"seed {self.seed:3}  first gauge {_s(self.first_gauge_s)}  baseline "
            f"{_s(self.baseline_s)}  alarm {_s(self.alarm_s)} ({self.judged or '–'} judged, "
            f"× {self.opened})  clear {_s(self.clear_s)}  early {self.early}  "
            f"other metrics {self.others}  visible {self.is_visible!s:5}  "
            f"inside {self.inside}/{self.phases}"
        )


def real(seed: int, seconds: int) -> dict[str, Any]:
    """The summary of one demo."""
    command = [sys.executable, "-m", "monitor", "demo", "--for", str(seconds), "--seed", str(seed)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    summary: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return summary


def simulated(seed: int, seconds: int) -> dict[str, Any]:
    """The summary of one simulation."""
    return asyncio.run(Simulation(DemoOptions(run_for=seconds, seed=seed)).run())


def course(seed: int, summary: dict[str, Any]) -> Course:
    """What a summary says."""
    alarms, estimate = summary["alarms"], summary["estimate"]
    late = [alarm for alarm in alarms if alarm["opened_s"] >= INCIDENT_AT]
    ours = [alarm for alarm in late if alarm["metric"] == METRIC]
    baseline = summary["baseline"]
    held = [is_inside(summary, phase) for phase in estimate]
    return Course(
        seed,
        summary["first_gauge_s"],
        baseline["at_s"] if baseline else None,
        len(alarms) - len(late),
        len(ours),
        ours[0]["opened_s"] if ours else None,
        ours[0]["judged"] if ours else None,
        ours[-1]["closed_s"] if ours else None,
        len(late) - len(ours),
        estimate["incident"][METRIC]["lower"] > estimate["before"][METRIC]["upper"],
        sum(held),
        len(held),
    )


def is_inside(summary: dict[str, Any], phase: str) -> bool:
    """Whether the truth of a phase lies in its interval."""
    estimate = summary["estimate"][phase][METRIC]
    return bool(estimate["lower"] <= summary["truth"][phase][METRIC] <= estimate["upper"])


def totals(found: list[Course]) -> None:
    """Print how the seeds did together."""
    for name, (low, high) in EXPECTED.items():
        times = sorted(t for one in found if (t := _times(one)[name]) is not None)
        within = sum(low <= t <= high for t in times)
        spread = f"{times[0]:.1f}–{times[-1]:.1f}, median {median(times):.1f}" if times else "–"
        print(f"{name}: {spread} s; {within}/{len(found)} within {low:.0f}–{high:.0f} s")
    judged = sorted(one.judged for one in found if one.judged is not None)
    if judged:
        print(f"judged until the alarm: {judged[0]}–{judged[-1]}, median {median(judged):.0f}")
    print(
        f"visible {sum(one.is_visible for one in found)}/{len(found)}, truth inside "
        f"{sum(one.inside for one in found)}/{sum(one.phases for one in found)} intervals"
    )


def main() -> int:
    """Print one line a seed and the totals; 1 below the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=55)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--simulated", action="store_true")
    chosen = parser.parse_args()
    seeds = range(1, chosen.seeds + 1)
    run: Callable[[int], dict[str, Any]]
    run = partial(simulated if chosen.simulated else real, seconds=chosen.seconds)
    pool = ProcessPoolExecutor if chosen.simulated else ThreadPoolExecutor
    found = []
    with pool(chosen.at_once) as workers:
        for seed, summary in zip(seeds, workers.map(run, seeds), strict=True):
            found.append(course(seed, summary))
            print(found[-1].line(), flush=True)
    print("simulated" if chosen.simulated else "real demos, each with its embedded broker")
    totals(found)
    good = sum(one.is_good for one in found)
    print(f"no early alarm, and alarm and clear within {chosen.seconds} s: {good}/{len(found)}")
    return 0 if good >= BAR * len(found) else 1


def _times(one: Course) -> dict[str, float | None]:
    return {
        "first gauge": one.first_gauge_s,
        "baseline": one.baseline_s,
        "alarm": one.alarm_s,
        "clear": one.clear_s,
    }


def _s(seconds: float | None) -> str:
    return "  none" if seconds is None else f"{seconds:4.1f} s"


if __name__ == "__main__":
    sys.exit(main())
