"""How long ``--help`` takes, as a ratio to importing typer, in turns within one run.

python -m tests.benchmarks.help_time [--runs 9]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from statistics import median

COMMANDS = ("", "run", "score", "export", "demo", "traffic", "config", "version")


def seconds(arguments: list[str]) -> float:
    """Wall time of one interpreter."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    """Print the median ratio per command; the bar is 2.5."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    for command in COMMANDS:
        arguments = ["-m", "monitor", *command.split(), "--help"]
        pairs = [(seconds(arguments), seconds(["-c", "import typer"])) for _ in range(runs)]
        ratio = median(ours / typer for ours, typer in pairs)
        print(f"{command or '(none)':10} {median(p[0] for p in pairs):6.3f} s  ratio {ratio:4.2f}")


if __name__ == "__main__":
    main()
