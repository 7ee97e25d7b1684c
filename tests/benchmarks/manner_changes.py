"""How often a model is asked in another manner that breaks some of its first replies at random.

Run ``python -m tests.benchmarks.manner_changes``. ``examples: auto`` is meant for models that break
many: each change is another version of the judge, with another baseline, and a restart begins anew.
The rule before it (5 of the latest 20) stands beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from statistics import median
from typing import Final

from monitor.judge.manner import Manner, MannerChoice

RUNS: Final = 200
REPLIES: Final = 5_000
SHARES: Final = (0.01, 0.03, 0.05, 0.07, 0.10, 0.15, 0.20, 0.30, 0.50, 1.0)


def now(refused: Callable[[], bool]) -> int | None:
    """After how many first replies ``auto`` leaves the fixed example; None: it never does."""
    choice = MannerChoice("auto")
    for number in range(1, REPLIES + 1):
        choice.observe("verify_claims", choice.changes, refused=refused(), several=True)
        if choice.now is not Manner.FIXED:
            return number
    return None


def before(refused: Callable[[], bool]) -> int | None:
    """The same by the rule before it."""
    latest: deque[bool] = deque(maxlen=20)
    for number in range(1, REPLIES + 1):
        latest.append(refused())
        if sum(latest) >= 5:
            return number
    return None


def in_words(rule: Callable[[Callable[[], bool]], int | None], share: float) -> str:
    """In how many runs it changes, and after how many replies in the median of those."""
    found = [rule(_at_random(Random(seed), share)) for seed in range(RUNS)]
    changed = [number for number in found if number is not None]
    return f"{len(changed) / RUNS:>8.3f} {median(changed) if changed else float('nan'):>8.0f}"


def _at_random(rng: Random, share: float) -> Callable[[], bool]:
    return lambda: rng.random() < share


def main() -> None:
    """A line for each share of refused first replies."""
    print(f"{RUNS} runs of {REPLIES} first replies, refused at random")
    print(f"{'refused':>8}  {'changes':>8} {'after':>8}  {'before':>8} {'after':>8}")
    for share in SHARES:
        print(f"{share:>8.0%}  {in_words(now, share)}  {in_words(before, share)}", flush=True)


if __name__ == "__main__":
    main()
