"""The demo over many seeds: is the incident visible, and do the intervals hold the truth?

    python tests/benchmarks/demo_seeds.py [--seeds 20] [--seconds 60] [--at-once 4]

Visible: the lower bound in the incident lies above the upper bound before it. Covered: the mix's
exact expectation lies inside the interval; per seed there are three phases. Without arguments two
seeds run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

METRIC = "noise_sensitivity_irrelevant"


def run(seed: int, seconds: int) -> dict[str, Any]:
    """The summary of one demo."""
    command = [sys.executable, "-m", "monitor", "demo", "--for", str(seconds), "--seed", str(seed)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    summary: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return summary


def is_inside(summary: dict[str, Any], phase: str, metric: str) -> bool:
    """Whether the truth of a phase lies in its interval."""
    estimate = summary["estimate"][phase][metric]
    return bool(estimate["lower"] <= summary["truth"][phase][metric] <= estimate["upper"])


def main() -> None:
    """Print one line a seed and the totals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--at-once", type=int, default=4)
    options = parser.parse_args()
    seeds = range(1, options.seeds + 1)
    with ThreadPoolExecutor(options.at_once) as pool:
        summaries = list(pool.map(lambda seed: run(seed, options.seconds), seeds))
    visible = inside = intervals = 0
    for seed, summary in zip(seeds, summaries, strict=True):
        estimate = summary["estimate"]
        seen = estimate["incident"][METRIC]["lower"] > estimate["before"][METRIC]["upper"]
        held = [is_inside(summary, phase, METRIC) for phase in estimate]
        visible, inside, intervals = visible + seen, inside + sum(held), intervals + len(held)
        print(
            f"seed {seed:3}  visible {seen!s:5}  inside {sum(held)}/{len(held)}  "
            f"first gauge {summary['first_gauge_s']} s  consumed {summary['consumed']}"
        )
    print(f"visible {visible}/{len(summaries)}, truth inside {inside}/{intervals} intervals")


if __name__ == "__main__":
    main()
