"""How many instructions does a command take in one checkout, and in another? By valgrind.

Where a machine is shared, seconds differ by a third from run to run; instructions differ by less
than one in a hundred. With two ``--sizes`` each count is what the larger one adds to the smaller,
so that what the start takes is left out. All checkouts use the Python that runs this.

    python -m tests.benchmarks.instructions --sizes 320,960 ../before . \\
        -- -m tests.benchmarks.screening --records SIZE
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")

_COMPILED = ("-m", "compileall", "-q", "monitor", "tests")


def instructions(checkout: Path, arguments: Sequence[str]) -> int:
    """Those of one Python process in a checkout; raises ``SystemExit`` with what it said."""
    place = str(checkout.resolve())
    # What is compiled for the first time would count.
    subprocess.run([sys.executable, *_COMPILED], cwd=place, check=True)
    done = subprocess.run(
        [*_VALGRIND, sys.executable, *arguments],
        cwd=place,
        # Sets in one order: the same work each time.
        env={**os.environ, "PYTHONPATH": place, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    counted = re.search(r"I +refs: +([\d,]+)", done.stderr)
    if done.returncode or counted is None:
        raise SystemExit(f"{place}: exit code {done.returncode}: {done.stderr[-2000:]}")
    return int(counted[1].replace(",", ""))


def added(checkout: Path, arguments: Sequence[str], sizes: Sequence[str]) -> int:
    """What the last size takes, less what the first takes where there are two."""
    counts = [
        instructions(checkout, [size if each == "SIZE" else each for each in arguments])
        for size in sizes
    ]
    return counts[-1] - (counts[0] if len(counts) > 1 else 0)


def main() -> None:
    """Print a line for each checkout: the count, and its ratio to that of the first."""
    line = argparse.ArgumentParser(description=__doc__)
    line.add_argument("--sizes", default="", help="what stands for SIZE, one or two, as 320,960")
    line.add_argument("checkouts", nargs="*", type=Path, default=[Path()])
    # All behind -- is the command: argparse would take it for checkouts.
    middle = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    chosen = line.parse_args(sys.argv[1:middle])
    command = sys.argv[middle + 1 :] or ["-m", "monitor", "--help"]
    if shutil.which("valgrind") is None:
        line.error("no valgrind: apt-get install valgrind")
    first = None
    for checkout in chosen.checkouts:
        found = added(checkout, command, chosen.sizes.split(","))
        first = first or found
        print(f"{found:17,}  ratio {found / first:.3f}  {checkout}", flush=True)


if __name__ == "__main__":
    main()
